"""How the worker of a Python task is started."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from containers.sandbox import Limits, Sandbox, SandboxSpec
from evaluation.worker import Worker
from evaluation.workspace import Workspace

HARNESS = Path(__file__).parent / "harness"


@cache
def harness_version() -> str:
    """Content hash of what runs in the sandbox: part of every verdict's key."""
    digest = hashlib.sha256()
    for path in sorted(HARNESS.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def start(sandbox: Sandbox, workspace: Workspace, subject: dict[str, Any], limits: Limits, hash_seed: int = 0) -> Worker:
    """`subject` is what the harness has to know of what it runs (`warm`, `programs`)."""
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
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        },
    )
    facts = {
        "root": str(workspace.root),
        "paths": [str(path) for path in workspace.paths],
        "pytest_args": list(workspace.pytest_args),
        **subject,
        "collect_seconds": 120,
    }
    return Worker(sandbox, spec, lambda scratch: facts, limits)
