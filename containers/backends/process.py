"""process: no isolation but a process of its own with limits. For code that one trusts; never chosen for a model's text."""

import subprocess
import sys
from dataclasses import dataclass

from containers.sandbox import SandboxSpec
from ensures.errors import SandboxUnavailable


@dataclass
class ProcessConfig:
    kind: str = "process"


class PlainProcess:
    kind = "process"
    isolating = False

    def __init__(self, config: ProcessConfig | None = None) -> None:
        self.config = config or ProcessConfig()

    def check(self) -> None: ...

    def start(self, spec: SandboxSpec) -> subprocess.Popen[bytes]:
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", **spec.environment}
        try:
            return subprocess.Popen(
                list(spec.argv),
                cwd=spec.cwd,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxUnavailable(f"sandbox=process does not start {sys.executable}: {error}") from error
