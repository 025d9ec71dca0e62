"""Containers by the Docker API: what docker and podman have in common.

One container is one warm process: it is its init, speaks over its standard streams, and ends with its input. It has a label
that names the process which started it: containers that have outlived theirs are swept when the next process starts here, and
by `python -m jobs.clean`.
"""

import contextlib
import os
import socket
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tenacity

from containers.attached import Attached
from containers.images.definitions import tag
from containers.owner import alive, this_process
from containers.sandbox import SandboxSpec, hand_over, ordinary, outermost
from ensures.errors import SandboxUnavailable

LABEL, RUN = "ensures.owner", "ensures.run"
API_SECONDS = 60
RESTART_SECONDS = 30  # an engine that is being started again is waited for


@dataclass
class ContainerConfig:
    """`host`: the engine's socket, as unix:///path (empty: where it usually is). `image`, `java_image`: instead of our own.
    Limits of one container: `memory_mb` of all its processes together, `cpus` (0: none), `processes`."""

    kind: str = ""
    host: str = ""
    image: str = ""
    java_image: str = ""
    memory_mb: int = 8192
    cpus: float = 0.0
    processes: int = 1024


class Containers(ABC):
    """A sandbox whose every process is a container. What is connected does not travel to other machines."""

    kind = ""
    isolating = True
    security: tuple[str, ...] = ("no-new-privileges",)
    covered: tuple[str, ...] = ()  # folders that the engine makes writable in a read-only container

    def __init__(self, config: ContainerConfig) -> None:
        self.config = config
        self.run = ""  # the run's name, for the label
        self._client: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"config": self.config, "run": self.run, "_client": None}

    # What engines differ in

    @abstractmethod
    def address(self) -> str:
        """The engine's socket. Raises SandboxUnavailable."""

    def options(self) -> dict[str, Any]:
        """Of a container, beside the common ones."""
        return {}

    # The engine

    def client(self) -> Any:
        """Connected once a process; what processes that have ended left behind is swept then. Raises SandboxUnavailable."""
        if self._client is None:
            import docker

            address = self.address()
            try:
                client = docker.DockerClient(base_url=address, timeout=API_SECONDS)
                client.ping()
            except Exception as error:
                raise SandboxUnavailable(f"sandbox={self.kind}: nothing answers at {address}: {said(error)}") from error
            self._client = client
            with contextlib.suppress(Exception):
                self.sweep()
        return self._client

    def check(self) -> None:
        import docker

        image = self.image("python")
        try:
            self.client().images.get(image)
        except docker.errors.NotFound:
            raise self.without(image) from None
        except SandboxUnavailable:
            raise
        except Exception as error:  # the SDK's, and those of its transport
            raise SandboxUnavailable(f"sandbox={self.kind}: {said(error)}") from error
        process = self.start(SandboxSpec(argv=("/bin/true",), cwd=Path("/")))
        try:
            _, err = process.communicate(timeout=API_SECONDS)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise SandboxUnavailable(f"sandbox={self.kind}: a container did not start in {API_SECONDS} s") from error
        if process.returncode != 0:
            why = " ".join(err.decode(errors="replace").split()) or f"exit status {process.returncode}"
            raise SandboxUnavailable(f"sandbox={self.kind} does not start on this machine: {why}")

    def without(self, image: str) -> SandboxUnavailable:
        how = f"make it with python -m jobs.images --engine {self.kind}"
        return SandboxUnavailable(f"sandbox={self.kind}: the image {image} is not there; {how}")

    def image(self, name: str) -> str:
        given = self.config.java_image if name == "java" else self.config.image
        return given or tag(name)

    def sweep(self, everything: bool = False) -> list[str]:
        """Removes containers of ours whose process has ended, or all of this machine's. Their names."""
        removed = []
        for container in self.client().containers.list(all=True, filters={"label": LABEL}):
            if everything or not alive(container.labels.get(LABEL, "")):
                with contextlib.suppress(Exception):
                    container.remove(force=True)
                    removed.append(container.name)
        return removed

    def start(self, spec: SandboxSpec) -> Attached:
        if os.geteuid() == 0:
            for folder in spec.writable:
                hand_over(folder, ordinary())
        return Attached(_Container(self, spec), said)

    def created(self, spec: SandboxSpec) -> Any:
        """A container that has not been started."""
        from docker.types import Mount

        user = ordinary()
        environment = [f"{name}={value}" for name, value in spec.environment.items()]
        mounts = [Mount(str(path), str(path), type="bind", read_only=True) for path in outermost(spec.readable)]
        mounts += [Mount(str(path), str(path), type="bind") for path in spec.writable]
        scratch = {"/tmp": f"rw,exec,nosuid,nodev,size={spec.scratch_mb}m,mode=1777"}
        scratch |= dict.fromkeys(self.covered, "ro,size=4k")
        limits: dict[str, Any] = {"mem_limit": f"{self.config.memory_mb}m", "memswap_limit": f"{self.config.memory_mb}m"}
        limits |= {"pids_limit": self.config.processes}
        if self.config.cpus:
            limits["nano_cpus"] = int(self.config.cpus * 1e9)
        return self.client().containers.create(
            self.image(spec.image),
            # images and engines add variables of their own
            ["/usr/bin/env", "-i", *environment, *spec.argv],
            entrypoint=[],
            working_dir=str(spec.cwd),
            user=f"{user}:{user}",
            mounts=mounts,
            tmpfs=scratch,
            read_only=True,
            network_mode="bridge" if spec.network else "none",
            cap_drop=["ALL"],
            security_opt=list(self.security),
            ipc_mode="private",
            stdin_open=True,
            labels={LABEL: this_process(), RUN: self.run},
            **limits,
            **self.options(),
        )


class _Container:
    """`containers.attached.Container`, of the SDK."""

    def __init__(self, sandbox: Containers, spec: SandboxSpec) -> None:
        self._sandbox, self._spec = sandbox, spec
        self._container: Any = None
        self._stream: Any = None

    def start(self) -> None:
        again = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_being_restarted),
            stop=tenacity.stop_after_delay(RESTART_SECONDS),
            wait=tenacity.wait_random_exponential(multiplier=0.2, max=3),
            reraise=True,
        )
        again(self._start)

    def _start(self) -> None:
        if self._container is not None:
            self.remove()
        self._container = self._sandbox.created(self._spec)
        self._stream = self._container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        self._container.start()

    def _socket(self) -> socket.socket:
        return getattr(self._stream, "_sock", self._stream)  # type: ignore[no-any-return]

    def write(self, content: bytes) -> None:
        self._socket().sendall(content)

    def end_of_input(self) -> None:
        self._socket().shutdown(socket.SHUT_WR)

    def frames(self) -> Iterator[tuple[int, bytes]]:
        from docker.utils.socket import frames_iter_no_tty

        self._socket().settimeout(None)  # a worker may have nothing to say for long
        with contextlib.suppress(ConnectionResetError):  # podman's way to end
            yield from frames_iter_no_tty(self._stream)

    def exit_status(self) -> int:
        return int(self._container.wait(timeout=API_SECONDS)["StatusCode"])

    def pid(self) -> int:
        self._container.reload()
        return int(self._container.attrs["State"]["Pid"])

    def kill(self) -> None:
        self._container.kill()

    def remove(self) -> None:
        container, self._container = self._container, None
        stream, self._stream = self._stream, None
        if container is not None:
            with contextlib.suppress(Exception):
                container.remove(force=True)
        if stream is not None:
            stream.close()


def _being_restarted(error: BaseException) -> bool:
    """The engine can't be reached, or says that it is shutting down."""
    import requests

    if isinstance(error, (requests.exceptions.ConnectionError, ConnectionError, SandboxUnavailable)):
        return True
    return "shutting down" in str(error)


def said(error: Exception) -> str:
    """An engine's error in one line, its own explanation where it gave one."""
    text = getattr(error, "explanation", None) or str(error)
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    return " ".join(str(text).split())[:400] or type(error).__name__
