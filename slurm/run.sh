#!/usr/bin/env bash
# The main job. Sets up what is missing, then runs `python -m jobs.run` with the Hydra overrides given:
#   bash slurm/run.sh                         the sample benchmark with the invariant miner: no GPU, model or account
#   bash slurm/run.sh model=reference k=1     any key of conf/; --help lists them
set -u -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/slurm/setup.sh"
set_up "$root" "${ENSURES_EXTRAS:-}"
# Inside an allocation (SLURM_JOB_ID) a Ray cluster over its nodes will be brought up here; until then the job uses
# the node that the script runs on.
cd "$root" || exit 1
exec "$VENV/bin/python" -m jobs.run "$@"
