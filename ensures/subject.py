"""A subject: what a candidate is judged against, and what is expected of it."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from ensures.task import Task


class Kind(enum.StrEnum):
    ORIGINAL = "original"
    MUTANT = "mutant"


class Expect(enum.StrEnum):
    HOLDS = "holds"
    VIOLATED = "violated"


@dataclass(frozen=True, slots=True)
class Subject:
    id: str
    kind: Kind
    expect: Expect
    payload: str  # the implementation's text


def original(task: Task) -> Subject:
    return Subject("original", Kind.ORIGINAL, Expect.HOLDS, task.implementation)


def mutants(task: Task) -> Iterator[Subject]:
    """The mutants that count, in the task's order."""
    for mutant in task.counted:
        yield Subject(mutant.id, Kind.MUTANT, Expect.VIOLATED, mutant.implementation)
