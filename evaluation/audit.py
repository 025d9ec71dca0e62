"""The audit: of the verdicts that shared executions gave, a small share is repeated in isolation, a smaller one cold.

The sample is drawn by hash, stratum by stratum in turn (original or mutant, by outcome), so that rare verdicts are looked
at as well; it costs at most 5 % of a task's executions. Where two ways disagree, the whole task is judged again in
isolation. A cold run reads what was printed, so it is compared with the published rule's status; where those words can't
tell (a condition that raised, halves of the calls that got different verdicts) nothing is asked of it.
"""

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.special import betaincinv

from ensures.subject import Subject
from ensures.task import Task
from ensures.verdict import Outcome, Reason, Verdict, published_outcome
from evaluation.checker import Submission, Tested

MOST = 0.05  # of a task's executions
COLD = 0.1  # of the audited verdicts are repeated cold, too


@dataclass(frozen=True, slots=True)
class Given:
    """One verdict of a shared execution: what the audit may draw. `key` is its row's."""

    key: str
    candidate: str
    subject: Subject
    submission: Submission
    view: int
    verdict: Verdict
    statuses: tuple[str, ...]  # of all views, under the published rule


def draw(given: Iterable[Given], executions: int, fraction: float) -> list[Given]:
    """The sample of one task. What is left over of a whole number is drawn for by hash, so that its expectation is kept."""
    strata: dict[tuple[str, Outcome], list[Given]] = defaultdict(list)
    for item in given:
        strata[item.subject.kind, item.verdict.outcome].append(item)
    ordered = [sorted(items, key=lambda item: _uniform(item.key)) for _, items in sorted(strata.items())]
    turns = [item for row in itertools.zip_longest(*ordered) for item in row if item is not None]
    if not turns:
        return []
    wanted = min(fraction * len(turns), MOST * executions)
    return turns[: int(wanted) + (_uniform(turns[0].key + "size") < wanted % 1)]


def repeated_cold(item: Given) -> bool:
    told = item.verdict.reason is not Reason.CONDITION_RAISED and len(set(item.statuses)) == 1
    return told and _uniform(item.key + "cold") < COLD


def _uniform(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) / 16**12


@dataclass(frozen=True, slots=True)
class Repeated:
    """One verdict given twice. `how`: `alone` or `cold`."""

    item: Given
    how: str
    expected: str
    found: str
    seconds: float

    @property
    def agrees(self) -> bool:
        return self.expected == self.found


def repeat(session: Tested, task: Task, sample: Sequence[tuple[Given, bool]]) -> list[Repeated]:
    """At a station. With each item: is it repeated cold, too?"""
    done = []
    for item, cold in sample:
        verdict = session.alone(item.subject, item.submission)[item.view]
        done.append(Repeated(item, "alone", _said(item.verdict), _said(verdict), verdict.seconds))
        if cold:
            outcome, seconds = session.cold(item.subject, item.submission)
            expected = published_outcome(item.statuses[item.view])
            done.append(Repeated(item, "cold", expected.name.lower(), outcome.name.lower(), seconds))
    return done


def _said(verdict: Verdict) -> str:
    """What must be the same under either rule."""
    return f"{verdict.outcome.name.lower()} ({verdict.reason}; {verdict.status})"


@dataclass(frozen=True, slots=True)
class Agreement:
    """`bound`: the share of disagreements is below this with 95 % confidence (Clopper and Pearson, one-sided)."""

    how: str
    sample: int
    disagreements: int
    bound: float


def agreement(rows: Iterable[Mapping[str, Any]]) -> list[Agreement]:
    counts: dict[str, list[int]] = {}
    for row in rows:
        tally = counts.setdefault(row["how"], [0, 0])
        tally[0] += 1
        tally[1] += not row["agrees"]
    return [Agreement(how, n, wrong, upper_bound(wrong, n)) for how, (n, wrong) in sorted(counts.items())]


def upper_bound(wrong: int, n: int) -> float:
    """Of a binomial share, with 95 % confidence."""
    return 1.0 if wrong >= n else float(betaincinv(wrong + 1, n - wrong, 0.95))
