"""A container's process as a `Process`: its standard streams, which an engine sends through one socket, as pipes.

Two threads carry bytes between the pipes and the socket. The container is created and started in one of them, so that who
asked for it goes on meanwhile: what is written to its standard input waits in the pipe. A container that can't be started is a
process that has ended, and says why on its standard error.
"""

import atexit
import contextlib
import os
import selectors
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import IO, Protocol

NOT_STARTED = 125  # as the engines' own clients have it
KILLED = -9
KILL_SECONDS = 5.0


class Container(Protocol):
    """One container, by its engine. Every call may raise the engine's errors; `pid` is the host's."""

    def start(self) -> None:
        """Creates, attaches and starts it."""
        ...

    def write(self, content: bytes) -> None: ...

    def end_of_input(self) -> None: ...

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """(1: standard output, 2: standard error; bytes), until it ends."""
        ...

    def exit_status(self) -> int: ...

    def pid(self) -> int: ...

    def kill(self) -> None: ...

    def remove(self) -> None: ...


class Attached:
    """`said`: from an engine's error to one line."""

    def __init__(self, container: Container, said: Callable[[Exception], str]) -> None:
        self._container, self._error = container, said
        self._input, to_input = os.pipe()
        out, self._out = os.pipe()
        err, self._err = os.pipe()
        self.stdin: IO[bytes] | None = os.fdopen(to_input, "wb", buffering=0)
        self.stdout: IO[bytes] | None = os.fdopen(out, "rb", buffering=0)
        self.stderr: IO[bytes] | None = os.fdopen(err, "rb", buffering=0)
        self.returncode: int | None = None
        self._started, self._ended = threading.Event(), threading.Event()
        self._killed = False
        self._removed = threading.Event()
        _OURS.add(self)
        threading.Thread(target=self._run, daemon=True, name="container").start()

    # What the threads do

    def _run(self) -> None:
        status = NOT_STARTED
        try:
            self._container.start()
            self._started.set()
            threading.Thread(target=self._feed, daemon=True, name="container's input").start()
            for stream, content in self._container.frames():
                self._pass_on(self._out if stream == 1 else self._err, content)
            status = KILLED if self._killed else self._container.exit_status()
        except Exception as error:  # an engine's errors have no common ancestor
            self._pass_on(self._err, self._error(error).encode())
            status = KILLED if self._killed else NOT_STARTED
        finally:
            self.returncode = status if self.returncode is None else self.returncode
            for number in (self._out, self._err):
                os.close(number)
            self._ended.set()
            self._started.set()
            with contextlib.suppress(Exception):
                self._container.remove()
            self._removed.set()

    def _feed(self) -> None:
        try:
            while content := os.read(self._input, 1 << 20):
                self._container.write(content)
            self._container.end_of_input()
        except Exception:  # it has ended, and says so on the other streams
            pass
        finally:
            os.close(self._input)

    @staticmethod
    def _pass_on(number: int, content: bytes) -> None:
        with contextlib.suppress(OSError):  # nobody reads any more
            while content:
                content = content[os.write(number, content) :]

    # As subprocess.Popen has it

    @property
    def pid(self) -> int:
        self._started.wait()
        return self._container.pid()

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired("a container", timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        """Also where the engine does not answer: then the container ends with its input, and is swept later."""
        self._killed = True

        def kill() -> None:
            self._started.wait()
            with contextlib.suppress(Exception):
                self._container.kill()

        killing = threading.Thread(target=kill, daemon=True)
        killing.start()
        killing.join(KILL_SECONDS)
        if not self._ended.wait(KILL_SECONDS):
            self.returncode = KILLED
            self._ended.set()

    def communicate(self, input: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:
        assert self.stdin is not None and self.stdout is not None and self.stderr is not None
        deadline = time.monotonic() + timeout if timeout is not None else None
        giving = threading.Thread(target=self._give, args=(input or b"",), daemon=True)
        giving.start()
        found: dict[int, bytearray] = {self.stdout.fileno(): bytearray(), self.stderr.fileno(): bytearray()}
        with selectors.DefaultSelector() as selector:
            for number in found:
                selector.register(number, selectors.EVENT_READ)
            while selector.get_map():
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise subprocess.TimeoutExpired("a container", timeout or 0)
                ready = selector.select(0.2 if left is None else min(left, 0.2))
                if not ready and self._ended.is_set():  # killed, and the engine does not answer
                    break
                for key, _ in ready:
                    content = os.read(key.fd, 1 << 20)
                    found[key.fd] += content
                    if not content:
                        selector.unregister(key.fd)
        self.wait(None if deadline is None else max(0.1, deadline - time.monotonic()))
        out, err = found.values()
        return bytes(out), bytes(err)

    def _give(self, content: bytes) -> None:
        assert self.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            while content:
                content = content[os.write(self.stdin.fileno(), content) :]
        with contextlib.suppress(OSError):
            self.stdin.close()


_OURS: weakref.WeakSet[Attached] = weakref.WeakSet()


@atexit.register
def _end() -> None:
    """No container outlives this process: those that run are ended, those that have just ended are removed."""
    for one in list(_OURS):
        if one.poll() is None:
            one.kill()
    deadline = time.monotonic() + 5
    for one in list(_OURS):
        one._removed.wait(max(0.0, deadline - time.monotonic()))
