"""A station: keeps the sessions of the last tasks open, and does what is asked of it. One for each worker."""

import contextlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ensures.errors import WorkerLost
from ensures.task import Language, Task
from evaluation.baseline import Baseline
from evaluation.checker import Checker, Session
from evaluation.core import Core


@dataclass(frozen=True)
class Work:
    """One unit for a station: `operation` is a function of (session, task, payload), defined at the top of a module."""

    task: Task
    operation: Callable[[Any, Task, Any], Any]
    payload: Any
    cost: float  # expected seconds
    baseline: Baseline | None = None  # where it is known already


class Station:
    """`checkers` gives the checker of a task, `workspaces` makes its workspace ready. Not for several threads.

    `sessions`: how many tasks are kept open. One is enough where a task is done with before the next; strategies that wait
    for a model between two questions come back.
    """

    def __init__(self, checkers: Callable[[Task], Checker], workspaces: Callable[[Task], Any], sessions: int = 1) -> None:
        self.checkers, self.workspaces, self.sessions = checkers, workspaces, sessions
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._core = Core()

    def run(self, work: Work) -> Any:
        """The operation's result. Raises PreparationFailed (the task's) and WorkerLost (try again)."""
        key = _key(work.task)
        # a JVM compiles beside what it runs: on one core it would wait for itself
        place = contextlib.nullcontext() if work.task.language is Language.JAVA else self._core.kept()
        with place:
            session = self._session(key, work.task, work.baseline)
            try:
                return work.operation(session, work.task, work.payload)
            except WorkerLost:
                self._end(key)
                raise

    def _session(self, key: str, task: Task, baseline: Baseline | None) -> Session:
        if key in self._open:
            self._open.move_to_end(key)
            if baseline is not None:
                self._open[key].baseline = baseline
        else:
            while len(self._open) >= self.sessions:
                self._end(next(iter(self._open)))
            self._open[key] = self.checkers(task).prepare(task, self.workspaces(task), baseline)
        return self._open[key]

    def _end(self, key: str) -> None:
        session = self._open.pop(key)
        with contextlib.suppress(Exception):
            session.close()

    def close(self) -> None:
        for key in list(self._open):
            self._end(key)
        self._core.close()


def _key(task: Task) -> str:
    """Mutants do not matter to a session: a task before and after their making shares one."""
    return f"{task.id}\0{task.implementation}\0{task.tests}"
