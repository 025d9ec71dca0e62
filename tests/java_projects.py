"""Small Java projects for tests: a tree of sources, its workspace, a task for one of its methods, candidates as text."""

import textwrap
from pathlib import Path

import pytest

from construction.java import build, parse
from containers.choose import AutoConfig, choose
from ensures.candidate import Clauses
from ensures.errors import PreparationFailed
from ensures.task import Language, Repository, Task
from evaluation.checker import Submission
from evaluation.java.session import JmlChecker
from evaluation.java.workspace import JavaWorkspace
from inference.dialects import jml
from tests.projects import DATA, with_mutants, write

__all__ = ["DATA", "checker", "clauses", "submission", "task", "with_mutants", "workspace", "write"]


def task(folder: Path, file: str, qualname: str, tests: tuple[str, ...], which: int = 0, name: str = "demo/demo") -> Task:
    """The task of one method; `which`: of several of that name."""
    text = (folder / file).read_text(encoding="utf-8")
    method = [method for method in parse.methods(text) if method.qualname == qualname][which]
    return Task(
        id=f"demo--{qualname}",
        language=Language.JAVA,
        source=Repository(name, "0" * 40),
        file=file,
        qualname=qualname,
        start_line=method.start_line,
        end_line=method.end_line,
        signature=method.signature,
        comment=method.comment,
        implementation=method.implementation,
        tests=tests,
    )


def workspace(folder: Path, given: Task) -> JavaWorkspace:
    try:
        return build.repository_workspace(folder, given.file, str(folder.stat().st_mtime_ns))
    except PreparationFailed as error:
        pytest.skip(str(error)) if "need a JDK" in str(error) else None
        raise


def checker(seconds: float = 20.0) -> JmlChecker:
    return JmlChecker(choose(AutoConfig(), hostile=False)[0], seconds=seconds)


def clauses(text: str) -> Clauses:
    parsed = jml.parse(textwrap.dedent(text).strip("\n"))
    assert isinstance(parsed, Clauses), parsed
    return parsed


def submission(text: str) -> Submission:
    return Submission(clauses(text))
