#!/usr/bin/env bash
#SBATCH --job-name=ensures
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=64G
#SBATCH --gpus-per-node=1
#SBATCH --time=08:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --no-kill
#SBATCH --open-mode=append
# The main job. Sets up what is missing, then runs `python -m jobs.run` with the Hydra overrides given:
#   bash slurm/run.sh                         the sample benchmark with the invariant miner: no GPU, model or account
#   bash slurm/run.sh model=reference k=1     any key of conf/; --help lists them
#   sbatch slurm/run.sh model=qwen3-32b       in an allocation: Ray over its nodes for as long as the job (docs/cluster.md)
#   sbatch --nodes=4 --gpus-per-node=8 slurm/run.sh model=llama-4-maverick
# --dry-run says what would be started where; --set-up-only only installs.
set -u -o pipefail
# asked to end while it sets up: nothing has begun
[ -n "${SLURM_JOB_ID:-}" ] && trap 'exit 75' USR1 TERM
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -n "${SLURM_JOB_ID:-}" ] && [ ! -e "$here/slurm/setup.sh" ]; then
  # Slurm runs a copy of this script: the project is where that was submitted from, or where the script lies
  submitted=$(scontrol -o show job "$SLURM_JOB_ID" 2>/dev/null | sed -n 's/.* Command=\([^ ]*\).*/\1/p')
  here=$(cd "$(dirname "${submitted:-/nowhere}")/.." 2>/dev/null && pwd)
  [ -e "$here/slurm/setup.sh" ] || here=${SLURM_SUBMIT_DIR:-}
  [ -e "$here/slurm/setup.sh" ] || { echo "error: the project is not found from $PWD; submit slurm/run.sh from its folder" >&2; exit 2; }
fi
root=$here
. "$root/slurm/setup.sh"
# a model that vLLM serves needs it installed; ENSURES_EXTRAS asks for more (gpu and cpu exclude each other)
extras=(${ENSURES_EXTRAS:-})
for argument in "$@"; do
  case $argument in
    dataset=*sample-java* | dataset.language=java | checker=jml) java=1 ;;
    --set-up-only) set_up_only=1 ;;
    --dry-run) dry_run=1 ;;
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
[ -n "${set_up_only:-}" ] && exit 0
cd "$root" || exit 1
if [ -z "${SLURM_JOB_ID:-}${dry_run:-}" ] || [ -n "${SLURM_STEP_ID:-}" ]; then
  exec "$VENV/bin/python" -m jobs.run "$@"
fi
if [ "${SLURM_JOB_NUM_NODES:-1}" -gt 1 ] && [ -z "${dry_run:-}" ]; then
  # a no-op where the environment lies on a shared file system
  srun --overlap --ntasks-per-node=1 --mem=0 bash "$root/slurm/run.sh" --set-up-only "$@" </dev/null || stop "a node could not be set up"
fi
trap '' USR1 # until the job listens
exec "$VENV/bin/python" -m slurm.allocation "$@"
