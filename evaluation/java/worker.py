"""The client of one sandboxed JVM: how its supervisor is started."""

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from containers.sandbox import Limits, Sandbox, SandboxSpec
from evaluation.java.workspace import JavaWorkspace, jdk_folders
from evaluation.python import worker as python_worker
from evaluation.worker import Worker

HARNESS = Path(__file__).parent / "harness"
SUPERVISOR = Path(__file__).parent / "supervisor"
MOST_EXECUTIONS = 400  # of one JVM


@cache
def harness_version() -> str:
    """Content hash of what runs in the sandbox: part of every verdict's key."""
    digest = hashlib.sha256()
    for path in [*sorted(HARNESS.glob("*.java")), *sorted(SUPERVISOR.glob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def java_command(workspace: JavaWorkspace, heap_mb: int, scratch: str) -> list[str]:
    """A JVM for many short lives: one thread collects, code is compiled quickly, and memory ends it at once."""
    return [
        str(workspace.java / "bin" / "java"),
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:+DisplayVMOutputToStderr",  # standard output is the channel
        "-Xlog:disable",
        "-Xlog:all=warning:stderr",
        "-XX:-UsePerfData",
        "-Xshare:auto",
        "-XX:MaxMetaspaceSize=192m",
        "-XX:ReservedCodeCacheSize=96m",
        f"-Xmx{heap_mb}m",
        "-Xss2m",
        "-ea",
        "-Dfile.encoding=UTF-8",
        "-Duser.timezone=UTC",
        "-Duser.language=en",
        "-Duser.country=US",
        "-Djava.awt.headless=true",
        f"-Djava.io.tmpdir={scratch}/x",
        f"-Duser.home={scratch}/x",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
        "--add-opens=java.base/java.util=ALL-UNNAMED",
        "-cp",
        os.pathsep.join(map(str, workspace.harness)),
        "ensures.harness.Main",
    ]


def start(sandbox: Sandbox, workspace: JavaWorkspace, limits: Limits, heap_mb: int) -> Worker:
    """A supervisor, without a JVM yet."""
    # the interpreter that runs this project, without its environment: the supervisor needs the standard library alone
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    spec = SandboxSpec(
        argv=(str(python), "-m", "ensures_jvm"),
        cwd=workspace.folder,
        readable=readable(workspace, python),
        environment=environment(workspace),
        scratch_mb=256,
        image="java",
    )

    def config(scratch: str) -> dict[str, object]:
        return {
            "root": str(workspace.folder),
            "java": java_command(workspace, heap_mb, scratch),
            "classes": [str(path) for path in workspace.classes],
            "jars": [str(path) for path in workspace.jars],
            "arguments": list(workspace.arguments),
            "most": MOST_EXECUTIONS,
            "most_bytes": 64 << 20,
            "most_message": 16 << 20,
        }

    return Worker(sandbox, spec, config, limits)


def readable(workspace: JavaWorkspace, python: Path) -> tuple[Path, ...]:
    own = (
        workspace.root,
        *jdk_folders(workspace.java),
        *workspace.harness,
        *workspace.classes,
        *workspace.jars,
        *workspace.readable,
    )
    return (*own, SUPERVISOR, python_worker.HARNESS, Path(sys.base_prefix), python.parent.parent)


def environment(workspace: JavaWorkspace) -> dict[str, str]:
    return {
        "PATH": f"{workspace.java / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join((str(SUPERVISOR), str(python_worker.HARNESS))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "JAVA_HOME": str(workspace.java),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }
