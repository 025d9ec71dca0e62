"""docker: containers of a Docker daemon, also a rootless one, by its SDK. The daemon's own seccomp profile applies."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from containers.docker_api import ContainerConfig, Containers
from ensures.errors import SandboxUnavailable


@dataclass
class DockerConfig(ContainerConfig):
    kind: str = "docker"


class Docker(Containers):
    kind = "docker"

    def address(self) -> str:
        given = self.config.host or os.environ.get("DOCKER_HOST", "")
        if given:
            return given
        places = (Path(os.environ.get("XDG_RUNTIME_DIR", "/nowhere")) / "docker.sock", Path("/var/run/docker.sock"))
        for place in places:  # a rootless daemon first
            try:
                if stat.S_ISSOCK(place.stat().st_mode):
                    return f"unix://{place}"
            except OSError:
                continue
        raise SandboxUnavailable(
            f"sandbox=docker: no daemon has its socket at {' or '.join(map(str, places[1:]))}; install Docker and start it, "
            "or name its socket in sandbox.host or DOCKER_HOST"
        )
