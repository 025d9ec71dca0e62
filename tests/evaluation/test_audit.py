"""The audit's sample is drawn as it says, and a session that errs is found out and its task judged in isolation."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from ensures.candidate import Candidate, Clauses
from ensures.subject import Subject, mutants, original
from ensures.task import Mutant, Setting, Task
from ensures.verdict import Ending, Outcome, Reason, Verdict
from evaluation import audit
from evaluation.baseline import Baseline, Plain
from evaluation.checker import Limit, Submission
from evaluation.judge import Judge
from evaluation.pool import LocalSlot, Pool
from evaluation.rows import AUDITS, BASELINES, DIAGNOSES, VERDICTS, Shards
from evaluation.station import Station
from evaluation.surveyor import Surveyor
from tests.ensures.test_keys import a_task

HOLDS = Verdict(Outcome.HOLDS, Reason.PASSED, ending=Ending.PASSED, shared=True)
KILLS = Verdict(Outcome.VIOLATED, Reason.POSTCONDITION_VIOLATED, 0, "ViolationError:", True, Ending.FAILED, shared=True)


def task(count: int = 40) -> Task:
    return a_task(mutants=tuple(Mutant(f"def f(): return {n}", ("rule",)) for n in range(count)))


def clauses(name: str) -> Clauses:
    return Clauses(name, (), (), (name,))


class Scripted:
    """Says `holds` of everything in company; by itself the candidate `wrong` is violated."""

    def __init__(self, wrong: str = "") -> None:
        self.baseline = Baseline(("t",), (), Plain(Ending.PASSED, (), 1, 0, 0.0))
        self.wrong = wrong

    def check(self, subject: Subject, submissions: Sequence[Submission]) -> list[tuple[Verdict, ...]]:
        return [(HOLDS,) for _ in submissions]

    def alone(self, subject: Subject, submission: Submission) -> tuple[Verdict, ...]:
        verdict = KILLS if submission.clauses.text == self.wrong and subject.id != "original" else HOLDS
        return (replace(verdict, shared=False),)

    def cold(self, subject: Subject, submission: Submission) -> tuple[Outcome, float]:
        return self.alone(subject, submission)[0].outcome, 0.0

    def survey(self, task: Task) -> Baseline:
        return self.baseline

    def diagnose(self, submissions: Sequence[Submission]) -> list[Any]:
        return [None for _ in submissions]

    def close(self) -> None: ...


class ScriptedChecker:
    name = version = "scripted"

    def __init__(self, wrong: str) -> None:
        self.wrong = wrong

    def prepare(self, task: Task, workspace: Any, baseline: Baseline | None = None) -> Scripted:
        return Scripted(self.wrong)


async def judged(folder: Path, wrong: str, fraction: float, names: Sequence[str]) -> tuple[Judge, list[dict[str, Any]]]:
    station = Station(lambda task: ScriptedChecker(wrong), lambda _: None)  # type: ignore[arg-type, return-value]
    pool = Pool([LocalSlot(station)])
    shards = Shards(folder / "verdicts", VERDICTS)
    judge = Judge(
        lambda: pool,
        Surveyor(lambda: pool, Shards(folder / "baselines", BASELINES), lambda language: "scripted"),
        shards,
        Shards(folder / "audits", AUDITS),
        Shards(folder / "diagnoses", DIAGNOSES),
        Limit.PAPER,
        fraction,
    )
    try:
        made = [Candidate(name, task().id, "m", Setting.F2P, i, name, clauses(name)) for i, name in enumerate(names)]
        await judge.judge(task(), made)
    finally:
        await pool.close()
    return judge, [row for row in shards.rows() if judge.current(row)]


def test_a_disagreement_sends_the_whole_task_into_isolation(tmp_path: Path) -> None:
    judge, rows = asyncio.run(judged(tmp_path, "bad", 1.0, ["bad"]))
    assert judge.isolated == {task().id}
    assert len(rows) == 41
    assert all(row["isolated"] and not row["shared"] for row in rows)
    assert Counter(row["outcome"] for row in rows) == {1: 1, 0: 40}
    (found, *_) = audit.agreement(judge.audits.rows())
    assert found.disagreements
    # the folder remembers: the next invocation has nothing to do, and takes the same rows
    again, same = asyncio.run(judged(tmp_path, "bad", 1.0, ["bad"]))
    assert again.added == 0
    assert [row["key"] for row in same] == [row["key"] for row in rows]


def test_where_all_agree_nothing_is_done_again(tmp_path: Path) -> None:
    judge, rows = asyncio.run(judged(tmp_path, "", 1.0, ["good", "fine"]))
    assert not judge.isolated
    assert len(rows) == 2 * 41
    audited = list(judge.audits.rows())
    assert 1 <= sum(row["how"] == "alone" for row in audited) <= 3, "5 % of 41 executions"
    assert all(row["agrees"] for row in audited)


def given_verdicts(count: int, kills: int, salt: str) -> list[audit.Given]:
    subjects = [original(task()), *mutants(task())]
    submission = Submission(clauses("c"))
    return [
        audit.Given(f"{salt}{n}", "c", subjects[n % 41], submission, 0, KILLS if n < kills else HOLDS, ("passed",))
        for n in range(count)
    ]


@given(count=st.integers(1, 400), kills=st.integers(0, 50), executions=st.integers(1, 200), salt=st.text("abc", max_size=3))
def test_the_sample_is_bounded_and_the_same_each_time(count: int, kills: int, executions: int, salt: str) -> None:
    pool = given_verdicts(count, kills, salt)
    drawn = audit.draw(pool, executions, 0.02)
    assert drawn == audit.draw(list(reversed(pool)), executions, 0.02)
    assert len(drawn) <= min(0.02 * count, 0.05 * executions) + 1
    if len(drawn) >= 4:
        assert len({(item.subject.kind, item.verdict.outcome) for item in drawn}) >= 2 or kills == 0


def test_its_size_is_right_on_average() -> None:
    sizes = [len(audit.draw(given_verdicts(100, 20, f"s{n}-"), 26, 0.02)) for n in range(400)]
    assert sum(sizes) / len(sizes) == pytest.approx(1.3, abs=0.1)


@given(n=st.integers(1, 300), share=st.floats(0, 1))
def test_the_bound_is_the_one_that_leaves_five_per_cent(n: int, share: float) -> None:
    wrong = int(share * (n - 1))
    assert binom.cdf(wrong, n, audit.upper_bound(wrong, n)) == pytest.approx(0.05)
    assert audit.upper_bound(0, 100) == pytest.approx(1 - 0.05 ** (1 / 100))
