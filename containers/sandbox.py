"""The sandbox protocol: start a process that can reach nothing but what it was given.

What every isolating backend promises: no network (but for a project's own build, which may ask for it), an ordinary user that
is never the host's root, a PID namespace whose init is the started process itself, read-only mounts, a fresh and size-limited
/tmp, an environment with nothing in it but what the specification names. Limits on memory, processes, open files and file
size are set by the started harness itself, from the same specification, before it runs anything else. `isolating` is False
where a backend can't promise this.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

NOBODY = 65534


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
    `image`: of the images for container engines, the one with what the process needs of a system: python or java.
    """

    argv: tuple[str, ...]
    cwd: Path
    readable: tuple[Path, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    scratch_mb: int = 256
    writable: tuple[Path, ...] = ()
    network: bool = False
    image: str = "python"


class Process(Protocol):
    """What was started: of `subprocess.Popen[bytes]`, as much as is used. `pid` is the host's."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    @property
    def stdin(self) -> IO[bytes] | None: ...

    @property
    def stdout(self) -> IO[bytes] | None: ...

    @property
    def stderr(self) -> IO[bytes] | None: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def communicate(self, input: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]: ...

    def kill(self) -> None: ...


class Sandbox(Protocol):
    """Travels to workers on other machines: what belongs to one machine is found when it is first needed there."""

    kind: str
    isolating: bool

    def check(self) -> None:
        """Raises SandboxUnavailable where this machine can't run it: why, and what to install."""
        ...

    def start(self, spec: SandboxSpec) -> Process:
        """Starts the process with pipes on standard input, output and error. Raises SandboxUnavailable."""
        ...


def outermost(paths: Iterable[Path], inside: Iterable[Path] = ()) -> Iterator[Path]:
    """Without what lies in another of them, or in what is there anyway; the shortest first."""
    bound = list(inside)
    for path in sorted(set(paths), key=lambda path: (len(path.parts), path)):
        if not any(path.is_relative_to(outer) for outer in bound):
            bound.append(path)
            yield path


def hand_over(folder: Path, user: int) -> None:
    """Makes the ordinary user that the sandbox's processes are the owner of a folder and all in it."""
    for place, _, files in os.walk(folder):
        for path in (place, *(os.path.join(place, name) for name in files)):
            os.chown(path, user, user, follow_symlinks=False)


def ordinary() -> int:
    """The user that processes in a container are: the caller, or nobody where that is root."""
    return os.geteuid() or NOBODY
