"""The cold way, as the published runs did it: write the decorators into the file, run `python -m pytest`, look what it says.

The oracle of the differential tests, and what speed is compared with.
"""

import os
import shutil
import subprocess
import tempfile
import textwrap
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from ensures.candidate import Clauses
from ensures.task import Task
from ensures.verdict import Outcome
from evaluation.python import definition
from evaluation.workspace import Workspace, module_text, with_implementation


@dataclass(frozen=True)
class Cold:
    outcome: Outcome
    said: str
    seconds: float
    cpu: float


def decorated(task: Task, implementation: str, clauses: Clauses | None) -> str:
    """The implementation with the candidate between its own decorators and its def."""
    if clauses is None:
        return implementation
    lines = implementation.split("\n")
    at = next(i for i, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def ")))
    margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    imports = [margin + line for line in ("import icontract", *clauses.preamble)]
    added = textwrap.indent(clauses.text, margin).split("\n")
    return "\n".join([*imports, *lines[:at], *added, *lines[at:]])


def run(task: Task, workspace: Workspace, implementation: str, clauses: Clauses | None, seconds: float = 60) -> Cold:
    """One verdict from a fresh interpreter on a copy of the tree."""
    assert definition.first_line(task)
    with tempfile.TemporaryDirectory(prefix="ensures-cold-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(workspace.root, tree, symlinks=True)
        text = with_implementation(module_text(workspace, task), task, decorated(task, implementation, clauses))
        (tree / task.file).write_text(text, encoding="utf-8")
        return execute(task, workspace, tree, Path(folder), seconds)


def execute(task: Task, workspace: Workspace, tree: Path, scratch: Path, seconds: float) -> Cold:
    relative = [path.relative_to(workspace.root) for path in workspace.paths]
    before = os.times()
    started = time.perf_counter()
    report = scratch / "report.xml"
    command = [str(workspace.interpreter), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    command += ["--rootdir", str(tree), f"--junitxml={report}", *workspace.pytest_args, *task.tests]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(str(tree / path) for path in relative),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(scratch),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }
    try:
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, env=environment, timeout=seconds)
        said = done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        return Cold(Outcome.ERROR, "timeout", time.perf_counter() - started, 0.0)
    after = os.times()
    cpu = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    if "ViolationError" in said or "Failed to recompute the values" in said:
        outcome = Outcome.VIOLATED
    elif report.exists() and _all_passed(report):
        outcome = Outcome.HOLDS
    else:
        outcome = Outcome.ERROR
    return Cold(outcome, said, time.perf_counter() - started, cpu)


def _all_passed(report: Path) -> bool:
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    ran = sum(int(suite.get("tests", 0)) for suite in suites)
    return ran > 0 and all(suite.get("failures") == "0" and suite.get("errors") == "0" for suite in suites)
