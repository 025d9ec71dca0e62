"""A station: keeps the session of one task open, and does what is asked of it. One for each worker."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ensures.errors import WorkerLost
from ensures.task import Task
from evaluation.baseline import Baseline
from evaluation.checker import Checker, Session


@dataclass(frozen=True)
class Work:
    """One unit for a station: `operation` is a function of (session, task, payload), defined at the top of a module."""

    task: Task
    operation: Callable[[Any, Task, Any], Any]
    payload: Any
    cost: float  # expected seconds
    baseline: Baseline | None = None  # where it is known already


class Station:
    """`checkers` gives the checker of a task, `workspaces` makes its workspace ready. Not for several threads."""

    def __init__(self, checkers: Callable[[Task], Checker], workspaces: Callable[[Task], Any]) -> None:
        self.checkers, self.workspaces = checkers, workspaces
        self._key: str | None = None
        self._session: Session | None = None

    def run(self, work: Work) -> Any:
        """The operation's result. Raises PreparationFailed (the task's) and WorkerLost (try again)."""
        session = self._open(work.task, work.baseline)
        try:
            return work.operation(session, work.task, work.payload)
        except WorkerLost:
            self.close()
            raise

    def _open(self, task: Task, baseline: Baseline | None) -> Session:
        # mutants do not matter to a session: a task before and after their making shares one
        key = f"{task.id}\0{task.implementation}\0{task.tests}"
        if self._session is None or self._key != key:
            self.close()
            self._session = self.checkers(task).prepare(task, self.workspaces(task), baseline)
            self._key = key
        elif baseline is not None:
            self._session.baseline = baseline
        return self._session

    def close(self) -> None:
        session, self._session, self._key = self._session, None, None
        if session is not None:
            with contextlib.suppress(Exception):
                session.close()
