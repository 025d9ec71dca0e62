# Sourced by slurm/run.sh and tests/run.sh: makes .venv from the pinned versions and looks for the sandbox.
# Idempotent, works as root and as an ordinary user. EXTRAS names the extras wanted (empty, dev, cpu, gpu).

say() { printf '%s\n' "setup: $*" >&2; }
stop() { printf 'error: %s\n' "$*" >&2; exit 2; }

find_python() {
  for name in "${ENSURES_PYTHON:-}" python3.13 python3.12 python3.11 python3; do
    [ -n "$name" ] || continue
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      "$name" -c 'import sys; print(sys.executable)'
      return 0
    fi
  done
  return 1
}

set_up() {
  local root=$1 extras=${2:-} python wanted mark
  VENV=${ENSURES_VENV:-$root/.venv}
  wanted=$(sha256sum < "$root/pyproject.toml" | cut -c1-16)
  mark="$VENV/.ensures-$wanted-$extras"
  # whoever needs no extras is served by any installation of these versions
  if [ ! -e "$mark" ] && ! { [ -z "$extras" ] && compgen -G "$VENV/.ensures-$wanted-*" >/dev/null; }; then
    python=$(find_python) || stop "Python 3.11 or newer was not found; install it or name one in ENSURES_PYTHON"
    if [ ! -x "$VENV/bin/python" ]; then
      say "making $VENV with $python"
      "$python" -m venv "$VENV" 2>/dev/null || { rm -rf "$VENV"; install_venv "$python"; "$python" -m venv "$VENV"; } \
        || stop "$python can't make a virtual environment; install its venv package (python3-venv)"
    fi
    say "installing the pinned packages (a minute or two)"
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=24.0' 2>&1 | quiet
    "$VENV/bin/python" - "$root/pyproject.toml" "$extras" > "$VENV/requirements.txt" <<'PYTHON'
import sys, tomllib
project = tomllib.load(open(sys.argv[1], "rb"))["project"]
wanted = list(project["dependencies"])
for extra in filter(None, sys.argv[2].split(",")):
    wanted += project["optional-dependencies"][extra]
print("\n".join(wanted))
PYTHON
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -r "$VENV/requirements.txt" 2>&1 | quiet
    [ "${PIPESTATUS[0]}" = 0 ] || stop "the packages could not be installed; see the lines above"
    touch "$mark"
    say "done"
  fi
  if ! command -v bwrap >/dev/null 2>&1; then
    install_bubblewrap
  fi
}

quiet() { grep -v -e '^WARNING: Location' -e '^$' >&2 || true; }

may_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; }

install_bubblewrap() {
  if may_install; then
    say "installing bubblewrap (the sandbox)"
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq bubblewrap) >/dev/null 2>&1
  fi
  command -v bwrap >/dev/null 2>&1 \
    || say "bubblewrap is missing and can't be installed from here: a model's text will not be run without it (ask for the package bubblewrap)"
}

install_venv() {
  if may_install; then
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv) >/dev/null 2>&1
  fi
}
