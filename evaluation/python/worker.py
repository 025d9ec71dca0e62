"""The client of one sandboxed worker: starts the supervisor in its sandbox, asks, and waits. Runs no foreign code."""

import contextlib
import hashlib
import selectors
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from containers.sandbox import Limits, Sandbox, SandboxSpec
from ensures.errors import WorkerLost
from evaluation.python.harness.ensures_harness import wire
from evaluation.workspace import Workspace

HARNESS = Path(__file__).parent / "harness"


@cache
def harness_version() -> str:
    """Content hash of what runs in the sandbox: part of every verdict's key."""
    digest = hashlib.sha256()
    for path in sorted(HARNESS.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Worker:
    """One supervisor. `request` raises WorkerLost if it does not answer in time or has ended."""

    def __init__(
        self,
        sandbox: Sandbox,
        workspace: Workspace,
        subject: dict[str, Any],
        limits: Limits,
        hash_seed: int = 0,
    ) -> None:
        """`subject` is what the harness has to know of what it runs (`warm`, `programs`)."""
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        scratch = "/tmp"
        if not sandbox.isolating:
            self._scratch = tempfile.TemporaryDirectory(prefix="ensures-scratch-")
            scratch = self._scratch.name
        spec = SandboxSpec(
            argv=(str(workspace.interpreter), "-m", "ensures_harness"),
            cwd=workspace.root,
            readable=(*workspace.readable, workspace.root, HARNESS),
            environment={
                "PATH": f"{workspace.interpreter.parent}:/usr/local/bin:/usr/bin:/bin",
                "PYTHONPATH": str(HARNESS),
                "PYTHONHASHSEED": str(hash_seed),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONNOUSERSITE": "1",
                "HOME": scratch,
                "TMPDIR": scratch,
                "LANG": "C.UTF-8",
                "TZ": "UTC",
            },
        )
        self._process: subprocess.Popen[bytes] = sandbox.start(spec)
        self._selector = selectors.DefaultSelector()
        assert self._process.stdout is not None
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._send(
            {
                "root": str(workspace.root),
                "paths": [str(path) for path in workspace.paths],
                "pytest_args": list(workspace.pytest_args),
                **subject,
                "scratch": scratch,
                "collect_seconds": 120,
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
