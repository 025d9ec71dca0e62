"""Which tests reach which lines: one run of a project's tests under coverage, in the sandbox."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from containers.sandbox import Sandbox, SandboxSpec
from ensures.errors import PreparationFailed
from evaluation.workspace import Workspace

PROBE = Path(__file__).parent / "probe"
REQUIRES = ("coverage==7.6.10",)


@dataclass(frozen=True, slots=True)
class Coverage:
    """`files`: path in the tree -> executable lines, and for each line the tests that reach it."""

    outcomes: dict[str, str]
    seconds: dict[str, float]
    files: dict[str, dict[str, Any]]

    def of_lines(self, file: str, first: int, last: int) -> tuple[float, tuple[str, ...]]:
        """Line coverage of the executable lines first to last, and the passing tests that reach any of them."""
        known = self.files.get(file)
        if known is None:
            return 0.0, ()
        lines = [line for line in known["statements"] if first <= line <= last]
        tests: set[str] = set()
        covered = 0
        for line in lines:
            passing = [test for test in known["tests"].get(str(line), ()) if self.outcomes.get(test) == "passed"]
            covered += bool(passing)
            tests.update(passing)
        return (covered / len(lines) if lines else 0.0), tuple(sorted(tests))


def measure(sandbox: Sandbox, workspace: Workspace, seconds: float = 900) -> Coverage:
    spec = SandboxSpec(
        argv=(str(workspace.interpreter), "-m", "ensures_cover", str(workspace.root), *workspace.pytest_args),
        cwd=workspace.root,
        readable=(*workspace.readable, workspace.root, PROBE),
        environment={
            "PATH": f"{workspace.interpreter.parent}:/usr/bin:/bin",
            "PYTHONPATH": ":".join([str(PROBE), *map(str, workspace.paths)]),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": "/tmp",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        },
    )
    process = sandbox.start(spec)
    said, errors = process.communicate(timeout=seconds)
    try:
        report = json.loads(said)
    except ValueError as error:
        last = errors.decode(errors="replace").strip().splitlines()[-1:]
        raise PreparationFailed(f"{workspace.root.name}: its tests can't be run under coverage: {last}") from error
    return Coverage(report["outcomes"], report["seconds"], report["files"])
