"""Conversations in figures: worked out by hand, and closed forms against every draw."""

import itertools

import pytest

from analysis import turns
from analysis.sheets import Cell
from analysis.turns import Conversation, Step
from evaluation.metrics import at_least_one


def submit(score: float, caught: int = 0, correct: bool = True) -> Step:
    return Step("submit", correct, score, caught, (100, 50, 10, 4), 0.01)


PROBE = Step("probe", True, 0.0, 0, (40, 0, 10, 0), 0.0)
ONE = Conversation("m", "one", "r", 0.9, 12, (PROBE, submit(0.5, 2), PROBE, submit(0.9, 4)))
TWO = Conversation("m", "two", "s", 0.9, 12, (submit(0.0, correct=False), submit(0.7, 3)))


def values(row: tuple[object, ...]) -> list[object]:
    return [round(cell.value, 6) if isinstance(cell, Cell) and cell.value is not None else cell for cell in row]


def test_attempts() -> None:
    sheet = turns.attempts([ONE, TWO])
    assert values(sheet.rows[0]) == ["m", 2, "3.0 (2 - 4)", "2.0 (2 - 2)", 1.0, 0.8, 0.4]
    by_name = {str(row[0]): values(row)[2:] for row in sheet.rows}
    assert by_name["m, cut off at τ=0.5 μ=4"] == ["2.0 (2 - 2)", "1.5 (1 - 2)", 1.0, 0.6, (0.5 + 0.35) / 2]
    assert "m, cut off at τ=0.9 μ=12" not in by_name
    assert len(by_name) == 1 + 3 * 3 - 1


def test_tokens() -> None:
    (row,) = turns.tokens([ONE, TWO]).rows
    assert values(row) == ["m", 2, 240, 100, 30, 8, 3.5, round(540 / 7, 6), 2.0, round(4 / 7, 6)]


def test_bugs_by_number_of_turns() -> None:
    """Table 3: correct, and told apart from the bug, within mu turns; other tasks are no bugs."""
    late = Conversation("m", "p1", "p", 0.9, 5, (PROBE, submit(0.0, 0), submit(0.0, 0, False), submit(1.0, 1)), True)
    never = Conversation("m", "p2", "q", 0.9, 5, (submit(0.0, 0, False),) * 5, True)
    sheet = turns.bugs([ONE, late, never])
    assert [values(row) for row in sheet.rows] == [["m", 3, 2, 0.5, 0.0], ["m", 5, 2, 0.5, 0.5]]
    assert turns.bugs([ONE, TWO]).rows == ()


def test_the_best_so_far() -> None:
    drawn = turns.by_submission([ONE, TWO])
    assert [values(row) for row in drawn.data.rows] == [["m", 1, 0.25], ["m", 2, 0.8]]


def test_nothing_correct() -> None:
    none = Conversation("m", "t", "r", -1, 2, (PROBE, submit(0.0, correct=False)))
    assert none.best is None and none.score == 0
    assert values(turns.attempts([none]).rows[0])[4:] == [0.0, 0.0, 0.0]
    assert values(turns.tokens([none]).rows[0])[7] == Cell(None)


@pytest.mark.parametrize("mu", [1, 2, 3, 5])
def test_the_expected_best_of_mu_against_every_draw(mu: int) -> None:
    scores = [0.0, 0.2, 0.2, 0.7, 1.0]
    draws = [max(draw) for draw in itertools.combinations(scores, mu)]
    assert turns.expected_best(scores, mu) == pytest.approx(sum(draws) / len(draws))
    right = [score > 0.5 for score in scores]
    any_right = [any(draw) for draw in itertools.combinations(right, mu)]
    assert at_least_one(5, 2, mu) == pytest.approx(sum(any_right) / len(any_right))


def test_random_sampling_cut_off_is_what_fewer_draws_give() -> None:
    """Over every order of the draws: the mean best of the first mu is the expected best of mu without replacement."""
    scores = [0.0, 0.3, 0.6, 0.8]
    orders = [Conversation("m", "t", "r", 2.0, 4, tuple(map(submit, order))) for order in itertools.permutations(scores)]
    for mu in (1, 2, 3, 4):
        found = [one.cut(2.0, mu).score for one in orders]
        assert sum(found) / len(found) == pytest.approx(turns.expected_best(scores, mu))


@pytest.mark.parametrize("tau", [-1.0, 0.25, 0.5, 0.7, 2.0])
@pytest.mark.parametrize("mu", [1, 2, 4])
def test_stopping_at_tau_against_every_order(mu: int, tau: float) -> None:
    scores = [0.0, 0.2, 0.5, 0.6, 0.8]
    kept, taken = [], []
    for order in itertools.permutations(scores):
        cut = Conversation("m", "t", "r", 2.0, 5, tuple(map(submit, order))).cut(tau, mu)
        kept.append(cut.score)
        taken.append(len(cut.steps))
    assert sum(kept) / len(kept) == pytest.approx(turns.expected_stopped(scores, mu, tau))
    assert sum(taken) / len(taken) == pytest.approx(turns.expected_draws(scores, mu, tau))


def test_draws() -> None:
    whole = Conversation("m", "t", "r", 2.0, 3, (submit(0.0, correct=False), submit(0.6), submit(0.9)))
    sheet = turns.draws([whole, ONE])
    assert [values(row)[:4] for row in sheet.rows] == [
        ["m", 1, round(2 / 3, 6), 0.5],
        ["m", 2, 1.0, 0.8],
        ["m", 3, 1.0, 0.9],
    ]
    assert values(sheet.rows[0])[5] == 1.0 and turns.draws([ONE]).rows == ()
