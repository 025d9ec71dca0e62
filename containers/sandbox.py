"""The sandbox protocol: start a process that can reach nothing but what it was given.

What every isolating backend promises: no network (but for a project's own build, which may ask for it), an ordinary user that
is never the host's root, a PID namespace whose init is the started process itself, read-only mounts, a fresh and size-limited
/tmp, an environment with nothing in it but what the specification names. Limits on memory, processes, open files and file
size are set by the started harness itself, from the same specification, before it runs anything else. `isolating` is False
where a backend can't promise this.
"""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Limits:
    """For each process: address space in MiB, largest file in MiB, open files; for the user: processes."""

    memory_mb: int = 4096
    file_mb: int = 64
    open_files: int = 512
    processes: int = 256


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What to start. `readable` paths appear read-only at their own place; `scratch_mb` is the size of /tmp.

    `writable` folders and `network` are for a project's own build and for nothing else: no candidate and no mutant has them.
    """

    argv: tuple[str, ...]
    cwd: Path
    readable: tuple[Path, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    scratch_mb: int = 256
    writable: tuple[Path, ...] = ()
    network: bool = False


class Sandbox(Protocol):
    kind: str
    isolating: bool

    def start(self, spec: SandboxSpec) -> subprocess.Popen[bytes]:
        """Starts the process with pipes on standard input, output and error. Raises SandboxUnavailable."""
        ...
