"""A candidate: one generated artifact, its raw text, and what was parsed out of it."""

from dataclasses import dataclass

from ensures.task import Setting
from ensures.verdict import Reason
from ensures.view import ALL, View

LENGTH = "length"  # the finish reason of a completion that was cut off
CLAUSE = "#"  # between a candidate's key and the position of one of its clauses, where that is judged alone
CONTEXT = "context"  # of one that was never drawn: its method alone exceeds the model's context


@dataclass(frozen=True, slots=True)
class Clauses:
    """A postcondition set, ready to stand above the method.

    `preamble` holds the import lines that came before it; `snapshots` and `ensures` one decorator each, in `text`'s order.
    """

    text: str
    preamble: tuple[str, ...]
    snapshots: tuple[str, ...]
    ensures: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Malformed:
    """Nothing that could be checked: never correct, always with a reason and one line for a person."""

    reason: Reason
    message: str


Artifact = Clauses | Malformed


@dataclass(frozen=True, slots=True)
class Candidate:
    """`key` is the completion's: the hash of task, prompt, model, sampling and sample. `view` says which calls score it."""

    key: str
    task: str
    model: str
    setting: Setting
    sample: int
    text: str
    artifact: Artifact
    views: tuple[View, ...] = (ALL,)
