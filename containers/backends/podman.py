"""podman: the Docker SDK on Podman's own socket. Where no service listens there, one is started, which ends when it is idle.

What differs from docker: the caller stays the same user inside (as an ordinary user); limits of the caller's cgroup may not be
for it to set; labels of SELinux would hide the mounts.
"""

import os
import resource
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from containers.docker_api import ContainerConfig, Containers
from ensures.errors import SandboxUnavailable

IDLE_SECONDS = 600  # after which a service that was started here ends
START_SECONDS = 20
MOST = 1 << 14  # open files and processes, of a container; the harness sets less


@dataclass
class PodmanConfig(ContainerConfig):
    kind: str = "podman"


class Podman(Containers):
    kind = "podman"
    covered = ("/run", "/var/tmp")
    security = ("no-new-privileges", "label=disable")

    def address(self) -> str:
        if self.config.host:
            return self.config.host
        runtime = os.environ.get("XDG_RUNTIME_DIR")
        for place in (Path(runtime or "/run/user/nobody") / "podman/podman.sock", Path("/run/podman/podman.sock")):
            if os.access(place, os.W_OK):
                return f"unix://{place}"
        return f"unix://{_service()}"

    def check(self) -> None:
        """No service is started for an image that is not there."""
        program = shutil.which("podman")
        if program and not self.config.host:
            image = self.image("python")
            asked = subprocess.run([program, "image", "exists", image], stdin=subprocess.DEVNULL, capture_output=True)
            if asked.returncode == 1:
                raise self.without(image)
        super().check()

    def options(self) -> dict[str, Any]:
        from docker.types import Ulimit

        # its own defaults may be more than the machine allows, and no container would start
        names = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}
        most = {name: min(resource.getrlimit(number)[1], MOST) for name, number in names.items()}
        limits = [Ulimit(name=name, soft=value, hard=value) for name, value in most.items() if value > 0]
        return {"ulimits": limits} | ({} if os.geteuid() == 0 else {"userns_mode": "keep-id"})


def _service() -> Path:
    """The socket of this user's own service, which is started if it is not there. Raises SandboxUnavailable."""
    program = shutil.which("podman")
    if program is None:
        raise SandboxUnavailable("sandbox=podman: the program podman is not installed; install the package podman")
    folder = Path(tempfile.gettempdir()) / f"ensures-podman-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise SandboxUnavailable(f"sandbox=podman: {folder} belongs to another user; remove it, or set sandbox.host")
    place = folder / "podman.sock"
    with FileLock(str(folder / "lock")):
        if _answers(place):
            return place
        place.unlink(missing_ok=True)
        command = [program, "system", "service", f"--time={IDLE_SECONDS}", f"unix://{place}"]
        with (folder / "log").open("wb") as log:
            # in its own folder: containers that run out of memory leave a file there
            own: dict[str, Any] = {"stdin": subprocess.DEVNULL, "cwd": folder, "start_new_session": True}
            started = subprocess.Popen(command, stdout=log, stderr=log, **own)
        deadline = time.monotonic() + START_SECONDS
        while not _answers(place):
            if started.poll() is not None or time.monotonic() > deadline:
                words = " ".join((folder / "log").read_text(errors="replace").split())[-300:]
                raise SandboxUnavailable(f"sandbox=podman: its service does not start: {words or 'no answer'}")
            time.sleep(0.05)
    return place


def _answers(place: Path) -> bool:
    import socket

    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.connect(str(place))
        except OSError:
            return False
    return True
