"""A cold verdict: the candidate's checks written into the method, compiled by `javac`, run by a fresh `java`, its words read.

The audit's second opinion and the tests' oracle. It sees what was printed, so it can be compared with the published rule's
status alone, and a candidate in the same JVM can make it say anything.
"""

import os
import shlex
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from containers.sandbox import SandboxSpec
from ensures.subject import Subject
from ensures.verdict import Outcome, Verdict
from evaluation.checker import Cold, Submission
from evaluation.java import worker
from evaluation.java.candidates import translated
from evaluation.java.weave import method, plainly

if TYPE_CHECKING:
    from evaluation.java.session import JmlSession

MARK = "JmlAssertionError"
COMPILING = 30.0  # seconds beside the limit of an execution
_NOT_COMPILED = 2


def run(session: "JmlSession", subject: Subject, submission: Submission) -> Cold:
    """One verdict from a fresh compiler and a fresh JVM."""
    made = translated(submission.clauses.text, bool(session.method.result))
    if isinstance(made, Verdict):
        return Cold(made.outcome, made.message, 0.0, 0.0)
    task, workspace = session.task, session.workspace
    before, started = os.times(), time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="ensures-cold-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        source = place / task.file.rpartition("/")[2]
        text = plainly(session.text, task.start_line, task.end_line, session.method, method(subject.payload), made)
        source.write_text(text, encoding="utf-8")
        # in /tmp of its own; where nothing isolates, in the folder made for it
        classes = Path("/tmp/classes") if session.checker.sandbox.isolating else place / "classes"
        joined = os.pathsep.join(map(str, [classes, *workspace.classes, *workspace.jars, *workspace.harness]))
        javac = [str(workspace.java / "bin" / "javac"), "-proc:none", "-nowarn", *workspace.arguments]
        compiler = [*javac, "-d", str(classes), "-cp", joined, str(source)]
        java = [str(workspace.java / "bin" / "java"), f"-Xmx{session.checker.heap_mb}m", "-ea", "-cp", joined]
        tests = [*java, "ensures.harness.ColdMain", *session.tests]
        script = f"mkdir -p {classes} && {shlex.join(compiler)} || exit {_NOT_COMPILED}; exec {shlex.join(tests)}"
        spec = SandboxSpec(
            argv=("/bin/sh", "-c", script),
            cwd=workspace.folder,
            readable=(*worker.readable(workspace, Path("/usr/bin/java")), place),
            environment={**worker.environment(workspace), "HOME": "/tmp", "TMPDIR": "/tmp"},
            image="java",
        )
        process = session.checker.sandbox.start(spec)
        try:
            out, err = process.communicate(timeout=session.checker.seconds + COMPILING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return Cold(Outcome.ERROR, "timeout", time.perf_counter() - started, 0.0)
    said = (out + err).decode(errors="replace")
    failed = Outcome.VIOLATED if MARK in said and process.returncode != _NOT_COMPILED else Outcome.ERROR
    outcome = Outcome.HOLDS if process.returncode == 0 else failed
    return Cold(outcome, said, time.perf_counter() - started, _cpu(before))


def _cpu(before: os.times_result) -> float:
    after = os.times()
    return (after.children_user - before.children_user) + (after.children_system - before.children_system)
