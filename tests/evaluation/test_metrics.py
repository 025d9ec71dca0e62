"""Corr@k and Comp@k against figures worked out by hand, and the estimator against brute force."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics import Expected, at_least_one, interval, score, summarize


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_the_estimator_is_the_share_of_draws_that_hold_one(numbers: tuple[int, int, int]) -> None:
    n, c, k = numbers
    draws = list(itertools.combinations(range(n), k))
    brute = sum(any(index < c for index in draw) for draw in draws) / len(draws)
    assert at_least_one(n, c, k) == pytest.approx(brute)


@pytest.mark.parametrize(("n", "c", "k"), [(2, 0, 3), (2, 3, 1), (2, 1, 0)])
def test_impossible_numbers(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="n="):
        at_least_one(n, c, k)


def row(task: str, sample: int, subject: str, outcome: int, status: str | None = None, **more: Any) -> dict[str, Any]:
    names = {1: "passed", 0: "icontract_fail", -1: "failed"}
    return {
        "task_id": task,
        "model": "m",
        "setting": "f2p",
        "view": "all",
        "candidate_id": f"{task}-{sample}",
        "subject": subject,
        "outcome": outcome,
        "status": status or names[outcome],
        **more,
    }


def expected(task: str, repository: str = "r", candidates: int = 2) -> Expected:
    return Expected(task, repository, "python", "m", "f2p", candidates, frozenset({"a", "b"}))


def candidate(task: str, sample: int, original: int, a: int | None = None, b: int | None = None) -> list[dict[str, Any]]:
    rows = [row(task, sample, "original", original)]
    rows += [row(task, sample, name, value) for name, value in (("a", a), ("b", b)) if value is not None]
    return rows


def test_by_hand() -> None:
    """Task s: one complete, one wrong. Task t: both correct, one kills half, one nothing (an error kills nothing)."""
    rows = [*candidate("s", 0, 1, 0, 0), *candidate("s", 1, 0), *candidate("t", 0, 1, 0, 1), *candidate("t", 1, 1, -1, 1)]
    scored, unresolved = score(rows, [expected("s", "r1"), expected("t", "r2")])
    assert not unresolved
    table = {(r["rule"], r["k"]): r for r in summarize(scored, unresolved, [1, 2], seed=0)}
    first = table["strict", 1]
    assert first["corr"] == pytest.approx((0.5 + 1) / 2)
    assert first["comp"] == pytest.approx((0.5 + 0) / 2)
    assert first["comp_fraction"] == pytest.approx(((1 + 0) / 2 + (0.5 + 0) / 2) / 2)
    assert first["delta"] == pytest.approx(0.5)
    assert first["rho"] == pytest.approx(1 / 3)
    assert (first["tasks"], first["clusters"], first["n"], first["unresolved"]) == (2, 2, 2, 0)
    second = table["strict", 2]
    assert (second["corr"], second["comp"]) == (1.0, 0.5)
    assert first["corr_ci"][0] <= first["corr"] <= first["corr_ci"][1]


def test_the_rules_differ_on_a_swallowed_violation() -> None:
    rows = [row("s", 0, "original", 0, "passed"), row("s", 0, "a", 0), row("s", 0, "b", 0, "failed")]
    scored, _ = score(rows, [expected("s", candidates=1)])
    by_rule = {s.rule: s for s in scored}
    assert (by_rule["strict"].correct, by_rule["strict"].complete) == (0, 0)
    assert (by_rule["paper"].correct, by_rule["paper"].complete, by_rule["paper"].fraction) == (1, 0, 0.5)


def test_what_is_missing_is_unresolved_and_in_no_mean() -> None:
    whole = [*candidate("s", 0, 1, 0, 0), *candidate("s", 1, 0)]
    for rows in ([*candidate("t", 0, 1, 0, 0)], [*candidate("t", 0, 1, 0), *candidate("t", 1, 0)], []):
        scored, unresolved = score([*whole, *rows], [expected("s"), expected("t")])
        assert [u.task for u in unresolved] == ["t"]
        (first,) = [r for r in summarize(scored, unresolved, [1], 0) if r["rule"] == "strict"]
        assert (first["tasks"], first["unresolved"], first["corr"]) == (1, 1, 0.5)


def test_models_are_compared_on_what_is_resolved_for_all() -> None:
    rows = [*candidate("s", 0, 1, 0, 0), *candidate("s", 1, 0), *candidate("t", 0, 0), *candidate("t", 1, 0)]
    other = [{**r, "model": "o", "candidate_id": "o" + r["candidate_id"]} for r in rows if r["task_id"] == "s"]
    wanted = [expected("s"), expected("t")]
    theirs = [Expected(e.task, e.repository, e.language, "o", e.setting, 2, e.mutants) for e in wanted]
    scored, unresolved = score([*rows, *other], [*wanted, *theirs])
    table = {r["model"]: r for r in summarize(scored, unresolved, [1], 0) if r["rule"] == "strict"}
    assert table["m"]["tasks"] == table["o"]["tasks"] == 1
    assert table["m"]["corr"] == table["o"]["corr"] == 0.5


def test_aggregates_are_named_all() -> None:
    rows = [*candidate("s", 0, 1, 0, 0), *candidate("s", 1, 0)]
    n2p = [{**r, "setting": "n2p", "candidate_id": "n" + r["candidate_id"]} for r in rows]
    wanted = [expected("s"), Expected("s", "r", "python", "m", "n2p", 2, frozenset({"a", "b"}))]
    scored, unresolved = score([*rows, *n2p], wanted)
    assert {r["setting"] for r in summarize(scored, unresolved, [1], 0)} == {"f2p", "n2p", "all"}


def test_nothing_is_a_row_of_dashes() -> None:
    (strict, paper) = summarize([], [expected("s")], [1], 0)
    assert strict["corr"] is None
    assert strict["unresolved"] == paper["unresolved"] == 1


def test_intervals_follow_the_clusters() -> None:
    values = np.array([[0.0], [0.0], [1.0], [1.0]])
    ((low, high),) = interval(values, np.array([0, 0, 1, 1]), seed=1)
    assert (low, high) == (0.0, 1.0)
    ((low, high),) = interval(np.ones((5, 1)), np.arange(5), seed=1)
    assert (low, high) == (1.0, 1.0)
    assert interval(values, np.arange(4), seed=3) == interval(values, np.arange(4), seed=3)
