"""What a correct candidate leaves unsaid: found, shown, and no part of any score.

`tautological`: it kills no mutant, and on no call of the original would it have noticed another result in place of the real
one. `unused`: clauses that are implications whose left side never held on any call, so that they never said anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ensures.task import Task
from evaluation.checker import Session, Submission


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`insensitive`: held on every call, whatever stood in the result's place. `unused`: positions of clauses."""

    insensitive: bool
    unused: tuple[int, ...]


def diagnose(session: Session, task: Task, submissions: Sequence[Submission]) -> list[Diagnosis | None]:
    """At a station. None for candidates that can't be looked at together with others."""
    return session.diagnose(submissions)
