#!/usr/bin/env bash
# The main job. Sets up what is missing, then runs `python -m jobs.run` with the Hydra overrides given:
#   bash slurm/run.sh                         the sample benchmark with the invariant miner: no GPU, model or account
#   bash slurm/run.sh model=reference k=1     any key of conf/; --help lists them
set -u -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/slurm/setup.sh"
# a model that vLLM serves needs it installed; ENSURES_EXTRAS asks for more (gpu and cpu exclude each other)
extras=(${ENSURES_EXTRAS:-})
for argument in "$@"; do
  case $argument in
    dataset=*sample-java* | dataset.language=java | checker=jml) java=1 ;;
    # several of a --multirun; a sweep's are in its file
    model=*) models="${models:-} ${argument#model=}" ;;
    sweep=*) models="${models:-} $(sed -n 's/^model: *//p' "$root/conf/sweep/${argument#sweep=}.yaml" 2>/dev/null)" ;;
  esac
done
for model in $(tr ',' ' ' <<< "${models:-}"); do
  grep -qs vllm_schema "$root/conf/model/$model.yaml" && extras+=(vllm) && break
done
set_up "$root" "${extras[@]+"${extras[@]}"}"
[ -n "${java:-}" ] && set_up_java
# Inside an allocation (SLURM_JOB_ID) a Ray cluster over its nodes will be brought up here; until then the job uses
# the node that the script runs on.
cd "$root" || exit 1
exec "$VENV/bin/python" -m jobs.run "$@"
