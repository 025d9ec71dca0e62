"""The seam between what decides and what executes: a checker prepares a session for a task, a session gives verdicts."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ensures.candidate import Clauses
from ensures.subject import Subject
from ensures.task import Task
from ensures.verdict import Outcome, Verdict
from ensures.view import ALL, View
from evaluation.baseline import Baseline, Plain


@dataclass(frozen=True, slots=True)
class Submission:
    """Clauses to be judged, and the views in which they are."""

    clauses: Clauses
    views: tuple[View, ...] = (ALL,)


class Limit(enum.StrEnum):
    """How long one execution may take: what the published runs gave it, or a multiple of what the original needs here."""

    PAPER = "paper"
    MEASURED = "measured"


LEAST_SECONDS, SLOWER = 2.0, 10  # limit=measured


def measured(seconds: float, baseline: Baseline) -> float:
    """A multiple of what the plain original took, but not less than it takes to be sure, and never more than `seconds`."""
    return min(seconds, max(LEAST_SECONDS, SLOWER * baseline.original.seconds))


@dataclass(frozen=True, slots=True)
class Cold:
    """What a fresh process's words amount to. `cpu` in seconds, of the sandbox as well."""

    outcome: Outcome
    said: str
    seconds: float
    cpu: float


class Session(Protocol):
    """Owns the warm process for one task."""

    baseline: Baseline

    def check(self, subject: Subject, submissions: Sequence[Submission]) -> list[tuple[Verdict, ...]]:
        """For each submission a verdict a view, in order. Raises WorkerLost for faults that are not the candidates'."""
        ...

    def alone(self, subject: Subject, submission: Submission) -> tuple[Verdict, ...]:
        """As `check`, each view in an execution of its own."""
        ...

    def diagnose(self, submissions: Sequence[Submission]) -> list[Any]:
        """For candidates that hold on the original: a `Diagnosis`, or None where none can be made."""
        ...

    def survey(self, task: Task) -> Baseline:
        """The baseline, with the facts of the task's mutants."""
        ...

    def close(self) -> None: ...


class Tested(Session, Protocol):
    """Of a task that has tests of its own."""

    def cold(self, subject: Subject, submission: Submission) -> tuple[Outcome, float]:
        """What a fresh process's words amount to under the published rule, all calls counted; and its seconds."""
        ...

    def expect(self, implementations: Sequence[str]) -> None:
        """These will be asked for: what can be made of them together is."""
        ...

    def broken(self, implementation: str) -> str:
        """Why it does not compile; empty if it does."""
        ...

    def plain(self, subject: Subject, seconds: float | None = None) -> Plain:
        """The subject's tests without candidates, under the checker's limit or a shorter one."""
        ...


class Checker(Protocol):
    """One dialect's way to verdicts. `version` is part of every verdict's key."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def prepare(self, task: Task, workspace: Any, baseline: Baseline | None = None) -> Session:
        """In a workspace of its language. Finds the baseline where none is given.

        Raises PreparationFailed where the task's tests can't be run here.
        """
        ...
