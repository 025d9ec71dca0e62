"""A cold verdict, as the published runs gave it: decorators written into the file, a fresh `python -m pytest`, its words read.

The audit's second opinion and the tests' oracle. It sees what was printed, so it can be compared with the published rule's
status alone, and a candidate in the same interpreter can make it say anything.
"""

import os
import shutil
import subprocess
import tempfile
import textwrap
import time
from pathlib import Path

from containers.sandbox import Limits, Sandbox, SandboxSpec
from ensures.candidate import Clauses
from ensures.task import Task
from ensures.verdict import Outcome
from evaluation.checker import Cold
from evaluation.python.harness.ensures_harness.subject import text_with
from evaluation.workspace import Workspace, module_text

# `python -m pytest` under the limits of an execution
_PYTEST = """
import resource, runpy, sys
memory, size, files, processes = map(int, sys.argv.pop(1).split(","))
for what, value in (("AS", memory << 20), ("FSIZE", size << 20), ("NOFILE", files), ("NPROC", processes), ("CORE", 0)):
    kind = getattr(resource, "RLIMIT_" + what)
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))
runpy.run_module("pytest", run_name="__main__", alter_sys=True)
"""


def decorated(implementation: str, clauses: Clauses | None) -> str:
    """The implementation with the candidate between its own decorators and its def."""
    if clauses is None:
        return implementation
    lines = implementation.split("\n")
    at = next(i for i, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def ")))
    margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    imports = [margin + line for line in ("import icontract", *clauses.preamble)]
    added = textwrap.indent(clauses.text, margin).split("\n")
    return "\n".join([*imports, *lines[:at], *added, *lines[at:]])


def run(
    sandbox: Sandbox,
    task: Task,
    workspace: Workspace,
    implementation: str,
    clauses: Clauses | None,
    tests: tuple[str, ...],
    seconds: float,
    limits: Limits | None = None,
) -> Cold:
    """One verdict from a fresh interpreter on a copy of the tree."""
    with tempfile.TemporaryDirectory(prefix="ensures-cold-") as folder:
        Path(folder).chmod(0o755)
        tree = Path(folder) / "tree"
        shutil.copytree(workspace.root, tree, symlinks=True)
        span = (task.start_line, task.end_line)
        text = text_with(module_text(workspace, task), span, decorated(implementation, clauses))
        (tree / task.file).write_text(text, encoding="utf-8")
        return execute(sandbox, workspace, tree, tests, seconds, limits or Limits())


def execute(
    sandbox: Sandbox, workspace: Workspace, tree: Path, tests: tuple[str, ...], seconds: float, limits: Limits
) -> Cold:
    """`tree` is a copy of the workspace's."""
    relative = [path.relative_to(workspace.root) for path in workspace.paths]
    bounds = f"{limits.memory_mb},{limits.file_mb},{limits.open_files},{limits.processes}"
    spec = SandboxSpec(
        argv=(str(workspace.interpreter), "-c", _PYTEST, bounds, "-q", "-p", "no:cacheprovider", "-o", "addopts=")
        + ("--rootdir", str(tree), *workspace.pytest_args, *tests),
        cwd=tree,
        readable=(*workspace.readable, tree),
        environment={
            "PATH": f"{workspace.interpreter.parent}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join(str(tree / path) for path in relative),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": "/tmp",
            "TMPDIR": "/tmp",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        },
    )
    before, started = os.times(), time.perf_counter()
    process = sandbox.start(spec)
    try:
        out, err = process.communicate(timeout=seconds)
        said = (out + err).decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Cold(Outcome.ERROR, "timeout", time.perf_counter() - started, 0.0)
    after = os.times()
    cpu = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    if "ViolationError" in said or "Failed to recompute the values" in said:
        outcome = Outcome.VIOLATED
    else:
        outcome = Outcome.HOLDS if process.returncode == 0 else Outcome.ERROR
    return Cold(outcome, said, time.perf_counter() - started, cpu)
