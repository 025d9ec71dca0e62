"""The sandboxes of this machine, each started if it can be: what a test needs of an engine it gets here, or is skipped."""

import os
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest

from construction.environment import cache_root, once
from containers.backends.bubblewrap import Bubblewrap
from containers.backends.docker import Docker, DockerConfig
from containers.backends.podman import Podman, PodmanConfig
from containers.images.definitions import tag
from containers.sandbox import Sandbox
from ensures.errors import SandboxUnavailable
from jobs import images

ISOLATING = ("bubblewrap", "docker", "podman")
BASE = "ensures-test-base:bookworm"
SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"
_started: list[subprocess.Popen[bytes]] = []
_daemon_command: list[str] = []
_environment: dict[str, dict[str, str]] = {}  # of an engine's client


@cache
def _sandbox(kind: str) -> Sandbox | str:
    """The sandbox, or why there is none. The JDK is this machine's, mounted: the image for Python tasks does for both."""
    try:
        if kind == "docker":
            found: Sandbox = Docker(DockerConfig(host=_daemon(), java_image=tag("python")))
        elif kind == "podman":
            found = Podman(PodmanConfig(host=_service(), java_image=tag("python")))
        else:
            found = Bubblewrap()
        if kind in ("docker", "podman"):
            _image(kind)
        found.check()
    except (SandboxUnavailable, LookupError) as error:
        return str(error)
    return found


def sandbox(kind: str) -> Sandbox:
    """Skips the test where it can't be had."""
    found = _sandbox(kind)
    if isinstance(found, str):
        pytest.skip(found)
    return found


def _daemon() -> str:
    """The socket of a Docker daemon: this machine's, or one that is started for the tests."""
    program = shutil.which("dockerd", path=SYSTEM_PATH)
    if program is None or os.geteuid() != 0:
        return Docker(DockerConfig()).address()
    own = Path(tempfile.mkdtemp(prefix="ensures-dockerd-"))
    _environment["docker"] = {"DOCKER_HOST": f"unix://{own / 'sock'}"}
    command = [
        program,
        f"--data-root={cache_root() / 'test-docker'}",
        f"--exec-root={own / 'exec'}",
        f"--pidfile={own / 'pid'}",
    ]
    _daemon_command[:] = [*command, f"--host=unix://{own / 'sock'}"]
    start_daemon()
    return f"unix://{own / 'sock'}"


def restartable() -> bool:
    """Is the Docker daemon the tests' own?"""
    return bool(_daemon_command)


def start_daemon() -> None:
    """Raises LookupError where it does not start."""
    place = Path(_daemon_command[-1].partition("unix://")[2])
    place.unlink(missing_ok=True)
    with (place.parent / "log").open("ab") as log:
        process = subprocess.Popen(_daemon_command, stdout=log, stderr=log, env={**os.environ, "PATH": SYSTEM_PATH})
    _started.append(process)
    for _ in range(300):
        if place.exists():
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise LookupError(f"dockerd does not start here: {(place.parent / 'log').read_text(errors='replace')[-300:]}")


def stop_daemon() -> None:
    process = next(one for one in _started if one.args == _daemon_command and one.poll() is None)
    process.terminate()
    process.wait(timeout=30)


def _service() -> str:
    """The socket of a Podman with images of its own, so that the rest of the tests does not find any."""
    program = shutil.which("podman", path=SYSTEM_PATH)
    if program is None:
        raise LookupError("podman is not installed")
    if os.geteuid() != 0:
        raise LookupError("podman is tried as root alone")
    own = Path(tempfile.mkdtemp(prefix="ensures-podman-"))
    storage = own / "storage.conf"
    kept = cache_root() / "test-podman"
    storage.write_text(f'[storage]\ndriver = "overlay"\ngraphroot = "{kept}"\nrunroot = "{own / "run"}"\n')
    _environment["podman"] = {"CONTAINERS_STORAGE_CONF": str(storage)}
    command = [program, "system", "service", "--time=0", f"unix://{own / 'sock'}"]
    with (own / "log").open("wb") as log:
        environment = {**os.environ, **_environment["podman"]}
        _started.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=own))
    for _ in range(100):
        if (own / "sock").exists():
            return f"unix://{own / 'sock'}"
        time.sleep(0.1)
    raise LookupError(f"podman's service does not start here: {(own / 'log').read_text(errors='replace')[-300:]}")


def end() -> None:
    """What was started here."""
    for process in _started:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=30)


def _image(kind: str) -> None:
    """Makes the image for Python tasks, on a base that needs no registry. Raises LookupError where it can't be made."""
    program = shutil.which(kind, path=SYSTEM_PATH)
    if program is None:
        raise LookupError(f"the program {kind} is not installed")
    own = {"PATH": f"{SYSTEM_PATH}:{os.environ['PATH']}", **_environment.get(kind, {})}
    if (
        subprocess.run([program, "image", "inspect", tag("python")], capture_output=True, env={**os.environ, **own}).returncode
        == 0
    ):
        return
    imported = subprocess.Popen(
        [program, "import", "-", BASE], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, **own}
    )
    subprocess.run(["tar", "-C", str(_tree()), "-c", "."], stdout=imported.stdin, check=True)
    assert imported.stdin is not None
    imported.stdin.close()
    base = BASE if kind == "docker" else f"localhost/{BASE}"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in own.items():
            patch.setenv(name, value)
        if imported.wait() != 0 or images.main(["--engine", kind, "--image", "python", "--base", base, "--without-downloads"]):
            raise LookupError(f"the image {tag('python')} can't be built by {kind} here")


def _tree() -> Path:
    """A small Debian, as this machine's packages are fetched."""
    program = shutil.which("debootstrap", path=SYSTEM_PATH)
    if program is None or os.geteuid() != 0:
        raise LookupError(
            "debootstrap is not installed, or may not be run by this user: no image can be made without a registry"
        )
    with once(cache_root() / "test-images" / "bookworm") as fresh:
        if fresh is not None:
            command = [program, "--variant=minbase", "--include=python3-minimal", "bookworm", str(fresh)]
            if subprocess.run(command, capture_output=True, env={**os.environ, "PATH": SYSTEM_PATH}).returncode != 0:
                raise LookupError("debootstrap can't fetch a Debian here")
            for path in (*Path("/etc/apt/sources.list.d").glob("*.sources"), *Path("/etc/apt/apt.conf.d").glob("99*")):
                shutil.copy(path, fresh / path.relative_to("/"))
    return cache_root() / "test-images" / "bookworm"
