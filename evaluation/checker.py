"""The seam between what decides and what executes: a checker prepares a session for a task, a session gives verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ensures.candidate import Clauses
from ensures.subject import Subject
from ensures.task import Task
from ensures.verdict import Ending, Verdict
from ensures.view import ALL, View
from evaluation.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Submission:
    """Clauses to be judged, and the views in which they are."""

    clauses: Clauses
    views: tuple[View, ...] = (ALL,)


@dataclass(frozen=True, slots=True)
class Plain:
    """A subject's tests without any candidate: what they said, and whether an exception ever left the method's body."""

    ending: Ending
    failed: tuple[str, ...]
    calls: int
    body_raised: int
    seconds: float
    outcomes: dict[str, str]


class Session(Protocol):
    """Owns the warm process for one task."""

    excluded: tuple[str, ...]  # covering tests that do not pass on the original here

    def check(self, subject: Subject, submissions: Sequence[Submission]) -> list[tuple[Verdict, ...]]:
        """For each submission a verdict a view, in order. Raises WorkerLost for faults that are not the candidates'."""
        ...

    baseline: Plain  # the tests on the plain original

    def plain(self, subject: Subject, seconds: float | None = None) -> Plain:
        """The subject's tests without candidates, under the checker's limit or a shorter one."""
        ...

    def close(self) -> None: ...


class Checker(Protocol):
    """One dialect's way to verdicts. `version` is part of every verdict's key."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def prepare(self, task: Task, workspace: Workspace) -> Session:
        """Raises PreparationFailed where the task's tests can't be run here."""
        ...
