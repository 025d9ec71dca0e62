"""Fixtures: the checker in the strongest sandbox of this machine, and sessions on small projects."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from containers.choose import AutoConfig, choose
from ensures.task import Task
from evaluation.python.session import IcontractChecker, IcontractSession
from tests import projects
from tests.containers import engines


@pytest.fixture(scope="session")
def checker() -> IcontractChecker:
    sandbox, _ = choose(AutoConfig(), hostile=False)
    return IcontractChecker(sandbox, seconds=10.0)


@pytest.fixture
def prepare(checker: IcontractChecker) -> Iterator[Callable[[Path, Task], IcontractSession]]:
    """Opens sessions and closes them after the test."""
    opened: list[IcontractSession] = []

    def open_one(folder: Path, task: Task) -> IcontractSession:
        opened.append(checker.prepare(task, projects.workspace(folder)))
        return opened[-1]

    yield open_one
    for session in opened:
        session.close()


@pytest.fixture
def shared_data() -> Path:
    if not projects.DATA.is_dir():
        pytest.skip(f"published data is not at {projects.DATA.name} beside the checkout")
    return projects.DATA


def pytest_sessionfinish() -> None:
    engines.end()
