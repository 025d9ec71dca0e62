"""From a configuration to a sandbox. Isolation is weakened by the user's word only, never as a fallback."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from containers.backends.apptainer import Apptainer, ApptainerConfig
from containers.backends.bubblewrap import Bubblewrap, BubblewrapConfig
from containers.backends.docker import Docker, DockerConfig
from containers.backends.podman import Podman, PodmanConfig
from containers.backends.process import PlainProcess, ProcessConfig
from containers.sandbox import Sandbox
from ensures.errors import SandboxUnavailable


@dataclass
class AutoConfig:
    kind: str = "auto"


Config = AutoConfig | ApptainerConfig | BubblewrapConfig | DockerConfig | PodmanConfig | ProcessConfig
MAKERS: dict[str, Callable[[Any], Sandbox]] = {
    "apptainer": Apptainer,
    "bubblewrap": Bubblewrap,
    "docker": Docker,
    "podman": Podman,
    "process": PlainProcess,
}
# Containers have limits for all their processes together and a seccomp profile beside what bubblewrap has.
STRONGEST: tuple[Callable[[], Sandbox], ...] = (
    lambda: Docker(DockerConfig()),
    lambda: Podman(PodmanConfig()),
    lambda: Bubblewrap(BubblewrapConfig()),
    lambda: Apptainer(ApptainerConfig()),
)


def choose(config: Config, *, hostile: bool) -> tuple[Sandbox, list[str]]:
    """The configured sandbox, which works on this machine, and warnings. `hostile`: text from a model will run in it.

    `auto` takes the strongest that works; without any, what no model wrote (the miner's and the reference's clauses) runs in a
    plain process with a warning, and a model's text is refused. Raises SandboxUnavailable.
    """
    if not isinstance(config, AutoConfig):
        sandbox = MAKERS[config.kind](config)
        sandbox.check()
        plain = ["sandbox=process: tests and candidates run without isolation on this machine"]
        return sandbox, [] if sandbox.isolating else plain
    why: list[str] = []
    for make in STRONGEST:
        sandbox = make()
        try:
            sandbox.check()
        except SandboxUnavailable as error:
            why.append(str(error))
        else:
            return sandbox, []
    wanted = next(line for line in why if "bubblewrap" in line)
    if hostile:
        raise SandboxUnavailable(
            f"{wanted}; a model's text runs only in a sandbox (sandbox=process runs it without one, at your own risk)"
        )
    return PlainProcess(), [f"NO ISOLATION: {wanted}; the tests of the benchmark's packages run in a plain process"]
