"""What a task's tests do here without any candidate: found once, kept with the run, and what verdicts are measured against.

The covering tests run on the plain original under several hash seeds; those that do not pass under each are left out and
named. Each mutant's tests run once without candidates: an execution that candidates share must leave the same outcomes.
What no longer qualifies (a mutant that no remaining test fails on, one that differs from the original in nothing that a
postcondition could see) is left out of Comp, with the reason.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ensures.keys import content_key
from ensures.subject import Kind, Subject, mutants
from ensures.task import Task
from ensures.verdict import Ending

HASH_SEEDS = (0, 1, 2)  # originals run under each; the first is the one that verdicts are given under


@dataclass(frozen=True, slots=True)
class Mark:
    """One test's part of a trace. `output` and `randomness` are digests, None where not taken or not the same each time."""

    outcome: str  # p, f or s
    calls: int | None
    output: int | None = None
    randomness: int | None = None

    def allows(self, other: "Mark") -> bool:
        """Is `other` what this one says? What is None here says nothing."""
        return self.outcome == other.outcome and all(
            mine is None or mine == theirs
            for mine, theirs in (
                (self.calls, other.calls),
                (self.output, other.output),
                (self.randomness, other.randomness),
            )
        )

    def common(self, other: "Mark") -> "Mark":
        """What both say."""
        return Mark(
            self.outcome,
            self.calls if self.calls == other.calls else None,
            self.output if self.output == other.output else None,
            self.randomness if self.randomness == other.randomness else None,
        )


@dataclass(frozen=True, slots=True)
class Plain:
    """A subject's tests without any candidate: what they said, and whether an exception ever left the method's body."""

    ending: Ending
    failed: tuple[str, ...]
    calls: int
    body_raised: int
    seconds: float
    trace: tuple[Mark, ...] = ()  # in the order of the tests
    iterators: bool = False  # did a call take or give an iterator?

    @property
    def outcomes(self) -> str:
        return "".join(mark.outcome for mark in self.trace)


@dataclass(frozen=True, slots=True)
class Baseline:
    """`tests` are those that verdicts are about. `mutants`: subject -> a letter a test, "" where it did not end normally."""

    tests: tuple[str, ...]
    excluded: tuple[str, ...]
    original: Plain
    mutants: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)  # subject -> why it does not count here

    @property
    def key(self) -> str:
        """The tests and subjects actually used: part of every verdict's key."""
        return content_key(self.tests, sorted(set(self.mutants) - set(self.left_out)))

    def applied(self, task: Task) -> Task:
        """The task with the mutants that do not count here marked so."""
        marked = (replace(mutant, excluded=mutant.excluded or self.left_out.get(mutant.id)) for mutant in task.mutants)
        return replace(task, mutants=tuple(marked))

    def counted(self, task: Task) -> list[Subject]:
        """The mutants that count here, in the task's order."""
        return list(mutants(self.applied(task)))

    def expects(self, subject: Subject) -> str | None:
        """The subject's plain outcomes, a letter a test; None where they are not known."""
        return self.original.outcomes if subject.kind is Kind.ORIGINAL else self.mutants.get(subject.id)

    def record(self) -> dict[str, Any]:
        return asdict(self)


def from_record(record: dict[str, Any]) -> Baseline:
    plain = dict(record["original"])
    plain["ending"] = Ending(plain["ending"])
    plain["failed"] = tuple(plain["failed"])
    plain["trace"] = tuple(Mark(**mark) for mark in plain["trace"])
    return Baseline(tuple(record["tests"]), tuple(record["excluded"]), Plain(**plain), record["mutants"], record["left_out"])


Calls = dict[str, list[tuple[str | None, str | None]]]  # test -> for each call what it began with and what came of it


def fingerprints(events: Iterable[dict[str, Any]]) -> Calls:
    """Out of the events of an execution that took them."""
    found: Calls = {}
    for event in events:
        for test, before, after in event["calls"] if event["e"] == "fingerprints" else ():
            found.setdefault(test, []).append((before, after))
    return found


def indistinguishable(expected: Calls, found: Calls | None, failed: set[str]) -> bool:
    """Did every call begin and end as the original's? A test that fails may have ended before the original's last call."""
    if found is None or not found or not found.keys() <= expected.keys():
        return False
    for test, theirs in expected.items():
        mine = found.get(test, [])
        if mine != theirs[: len(mine)] or any(None in call for call in mine):
            return False
        if len(mine) < len(theirs) and test not in failed:
            return False
    return True
