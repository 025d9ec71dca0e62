"""The client of one sandboxed worker: starts its supervisor in the sandbox, asks, and waits. Runs no foreign code."""

import contextlib
import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from containers.sandbox import Limits, Process, Sandbox, SandboxSpec
from ensures.errors import WorkerLost
from evaluation.python.harness.ensures_harness import wire


class Worker:
    """One supervisor. `request` raises WorkerLost if it does not answer in time or has ended."""

    def __init__(self, sandbox: Sandbox, spec: SandboxSpec, config: Callable[[str], dict[str, Any]], limits: Limits) -> None:
        """`config` gives what the supervisor has to know first, for the folder that is its scratch."""
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        scratch = "/tmp"
        if not sandbox.isolating:
            self._scratch = tempfile.TemporaryDirectory(prefix="ensures-scratch-")
            scratch = self._scratch.name
        spec = replace(spec, environment={**spec.environment, "HOME": scratch, "TMPDIR": scratch})
        self._process: Process = sandbox.start(spec)
        self._selector = selectors.DefaultSelector()
        assert self._process.stdout is not None
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._send(
            {
                **config(scratch),
                "scratch": scratch,
                "memory_mb": limits.memory_mb,
                "file_mb": limits.file_mb,
                "open_files": limits.open_files,
                "processes": limits.processes,
            }
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def request(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """One request and its answer, which must come within `seconds`."""
        self._send(message)
        assert self._process.stdout is not None
        if not self._selector.select(timeout=seconds):
            self.close()
            raise WorkerLost(f"a worker did not answer within {seconds:.0f} s")
        try:
            answer = wire.receive(self._process.stdout.fileno())
        except (OSError, ValueError) as error:
            raise WorkerLost(f"a worker answered nonsense: {error}") from error
        if answer is None:
            raise WorkerLost(f"a worker ended: {self._last_words()}")
        if not answer.get("ok"):
            raise WorkerLost(str(answer.get("message")))
        return answer

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            wire.send(self._process.stdin.fileno(), message)
        except OSError as error:
            raise WorkerLost(f"a worker ended: {self._last_words() or error}") from error

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        said = b""
        if self._process.poll() is not None and self._process.stderr is not None:
            said = self._process.stderr.read() or b""
        return said.decode(errors="replace").strip()[-500:] or f"exit status {self._process.poll()}"

    def close(self) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                assert self._process.stdin is not None
                self._process.stdin.close()
            deadline = time.monotonic() + 2
            while self._process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None
