#!/usr/bin/env bash
# Sets up what is missing, then checks style and types and runs every test. Arguments go to pytest.
set -u -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/slurm/setup.sh"
set_up "$root" dev vllm
set_up_java
set_up_engines
cd "$root" || exit 1
if [ $# = 0 ]; then
  "$VENV/bin/python" -m ruff check . && "$VENV/bin/python" -m ruff format --check . && "$VENV/bin/python" -m mypy || exit 1
  set -- --durations=25
fi
exec "$VENV/bin/python" -m pytest "$@"
