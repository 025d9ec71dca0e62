"""The images for container engines, from one list of packages (`packages.toml`): Dockerfiles and Apptainer definitions.

An image holds a system and no task: interpreters' libraries, interpreters, JDKs. What a task needs (its source tree, its
environment, both keyed by content) is mounted read-only at run time, so there are two images and not hundreds.
"""

import hashlib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NAMES = ("python", "java")


@cache
def packages() -> dict[str, Any]:
    return tomllib.loads((HERE / "packages.toml").read_text(encoding="utf-8"))


def system_packages(name: str) -> list[str]:
    """Of an image: those of all, and its own."""
    listed = packages()
    return [*listed["all"]["packages"], *listed[name]["packages"]]


def _steps(name: str) -> list[str]:
    """Shell commands, as root, that make the image of its base."""
    wanted = " ".join(system_packages(name))
    steps = [f"apt-get update && apt-get install -y --no-install-recommends {wanted} && rm -rf /var/lib/apt/lists/*"]
    own = packages()[name]
    if interpreters := own.get("interpreters"):
        fetch = f"/opt/get/bin/uv python install --install-dir /opt/python {' '.join(interpreters)}"
        steps.append(_fetched(own["uv"], fetch))
    for release in own.get("jdks", ()):
        steps.append(
            _fetched(own["jdk"], f"/opt/get/bin/python -c \"import jdk; jdk.install('{release}', path='/opt/java')\"")
        )
    # paths below /root and /home are mounted at their own place, for an ordinary user to read
    steps.append("chmod 0755 /root && mkdir -p /home && useradd --uid 1000 --create-home ensures")
    return steps


def _fetched(tool: str, command: str) -> str:
    """What Debian does not have is fetched by a tool of the package index, unless the image is built without."""
    made = f"python3 -m venv /opt/get && /opt/get/bin/pip install --no-cache-dir {tool} && {command} && rm -rf /opt/get"
    return f'if [ -z "$WITHOUT_DOWNLOADS" ]; then {made}; fi'


def dockerfile(name: str) -> str:
    lines = ["# Made from packages.toml by python -m jobs.images --write", f"ARG BASE={packages()['base']}", "FROM $BASE"]
    lines += ["ARG WITHOUT_DOWNLOADS", "ENV DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8"]
    lines += [f"RUN {step}" for step in _steps(name)]
    return "\n".join([*lines, "USER ensures", "WORKDIR /tmp", 'CMD ["/bin/true"]', ""])


def definition(name: str) -> str:
    """For Apptainer."""
    lines = [
        "# Made from packages.toml by python -m jobs.images --write",
        "Bootstrap: docker",
        f"From: {packages()['base']}",
    ]
    lines += ["", "%post", "    export DEBIAN_FRONTEND=noninteractive"]
    lines += [f"    {step}" for step in _steps(name)]
    return "\n".join([*lines, "", "%environment", "    export LANG=C.UTF-8", ""])


FILES = {
    **{f"{name}.Dockerfile": (dockerfile, name) for name in NAMES},
    **{f"{name}.def": (definition, name) for name in NAMES},
}


def tag(name: str) -> str:
    """Named after what is in it: a changed list is another image."""
    return f"ensures-{name}:{hashlib.sha256(dockerfile(name).encode()).hexdigest()[:12]}"
