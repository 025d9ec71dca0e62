"""The grid and what is computed on it, against plain counting over the same rows."""

import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from analysis import ablations, comparison, failures, paper
from analysis.grid import Grid, pack
from analysis.reading import causes, from_verdicts, joined
from analysis.sheets import DASH, Cell, Sheet
from ensures.task import Mutant, Task
from tests.analysis import synthetic


@pytest.fixture(scope="module")
def made() -> tuple[list[Task], Grid, dict[str, dict[str, int]]]:
    tasks = synthetic.tasks(12, (0, 80), seed=3)
    table = synthetic.table(tasks)
    plain: dict[str, dict[str, int]] = defaultdict(dict)
    for row in table.to_pylist():
        plain[row["candidate_id"]][row["subject"]] = row["outcome"]
    return tasks, from_verdicts(tasks, table), plain


def names(grid: Grid) -> list[str]:
    return [
        f"{grid.tasks[t].id}/{grid.models[m][-1]}/{grid.settings[s]}/{n}"
        for t, m, s, n in zip(grid.task, grid.model, grid.setting, grid.sample, strict=True)
    ]


def complete(task: Task, found: dict[str, int], keep: object) -> bool:
    return found["original"] == 1 and all(found[m.id] == 0 for m in task.mutants if keep(m))  # type: ignore[operator]


SUBSETS = {
    "all": (lambda grid: grid.full, lambda m: True),
    "no llm": (lambda grid: ablations.without_family(grid, "llm"), lambda m: m.families != ("llm",)),
    "no rule": (lambda grid: ablations.without_family(grid, "rule"), lambda m: m.families != ("rule",)),
    "of rule": (lambda grid: ablations.of_family(grid, "rule"), lambda m: "rule" in m.families),
    "no math": (
        lambda grid: ablations.without_operators(grid, {"java": ("math",)}, {}),
        lambda m: m.operator != "math" or "llm" in m.families,
    ),
}


@pytest.mark.parametrize("which", SUBSETS)
def test_complete_over_a_subset(made: tuple[list[Task], Grid, dict[str, dict[str, int]]], which: str) -> None:
    tasks, grid, plain = made
    subset, keep = SUBSETS[which]
    by_id = {task.id: task for task in tasks}
    expected = [complete(by_id[name.partition("/")[0]], plain[name], keep) for name in names(grid)]
    assert grid.complete(subset(grid)).tolist() == expected
    assert 0 < sum(expected) < len(expected)


def test_at_least_one_of_k_against_every_draw(made: tuple[list[Task], Grid, dict[str, dict[str, int]]]) -> None:
    _, grid, _ = made
    found = grid.complete()
    for k in (1, 2, 3):
        values = grid.at_k(found, k)
        for group in range(len(grid.sizes)):
            hits = found[grid.group == group]
            draws = list(itertools.combinations(hits, k))
            assert values[group] == pytest.approx(sum(map(any, draws)) / len(draws))
    with pytest.raises(ValueError, match="k=4"):
        grid.at_k(found, 4)


def test_false_discovery_by_counting(made: tuple[list[Task], Grid, dict[str, dict[str, int]]]) -> None:
    tasks, grid, plain = made
    by_id = {task.id: task for task in tasks}
    passed = failed = 0
    for name in names(grid):
        task = by_id[name.partition("/")[0]]
        if not all(any(family in m.families for m in task.mutants) for family in ("rule", "llm")):
            continue
        if complete(task, plain[name], lambda m: "rule" in m.families):
            passed += 1
            failed += not complete(task, plain[name], lambda m: "llm" in m.families)
    found, complete_over_one = ablations.false_discoveries(grid, "rule")
    assert (found.sum(), complete_over_one.sum()) == (failed, passed)


def test_a_budget_keeps_its_share_and_never_nothing(made: tuple[list[Task], Grid, dict[str, dict[str, int]]]) -> None:
    tasks, grid, _ = made
    for share in (0.1, 0.5, 1.0):
        masks = ablations.budget(grid, share)(np.random.default_rng(0))
        assert len(masks) == len(grid.settings)
        assert share == 1.0 or not np.array_equal(masks[0], masks[1])
        mask = masks[0]
        for row, task in enumerate(tasks):
            kept = sum(int(word).bit_count() for word in mask[row])
            assert kept == (max(1, round(share * len(task.mutants))) if task.mutants else 0)
            assert not (mask[row] & ~grid.full[row]).any()


def test_a_whole_budget_is_the_baseline(made: tuple[list[Task], Grid, dict[str, dict[str, int]]]) -> None:
    _, grid, _ = made
    whole = ablations.trials(grid, ablations.budget(grid, 1.0), seed=1, count=3)
    for position, model in enumerate(grid.models):
        own = grid.only(grid.model == position)
        assert whole[model].mean == pytest.approx(own.at_k(own.complete(), 1).mean())
        assert whole[model].deviation == pytest.approx(0)
        assert whole[model].published_deviation == pytest.approx(0)
        assert whole[model].sizes.sum() == pytest.approx(len(own.first))
    less = ablations.trials(grid, ablations.budget(grid, 0.1), seed=1, count=20)
    assert all(less[model].mean >= whole[model].mean for model in grid.models)
    assert any(less[model].deviation > 0 for model in grid.models)


def test_five_operators_are_out_in_all_settings_alike() -> None:
    tasks = synthetic.tasks(6, (30, 40), seed=5)
    grid = from_verdicts(tasks, synthetic.table(tasks, models=1))
    grid = replace(grid, tasks=tuple(_with_operators(task) for task in grid.tasks))
    masks = ablations.five_operators_out(grid, {})(np.random.default_rng(0))
    for row, task in enumerate(grid.tasks):
        kept = {m.operator for c, m in enumerate(task.mutants) if int(masks[0][row][0]) >> c & 1 and m.families == ("rule",)}
        assert len(kept) <= 7 - ablations.OPERATORS_OUT
    assert all(mask is masks[0] for mask in masks)


def _with_operators(task: Task) -> Task:
    """Seven operators, in turn."""
    made = (replace(m, operator=f"operator {n % 7}" if "rule" in m.families else None) for n, m in enumerate(task.mutants))
    return replace(task, mutants=tuple(made))


def test_bits() -> None:
    chosen = np.zeros((2, 130), dtype=bool)
    chosen[0, [0, 63, 64, 129]] = True
    bits = pack(chosen)
    assert bits.shape == (2, 3)
    assert [[int(word) for word in row] for row in bits] == [[1 | 1 << 63, 1, 2], [0, 0, 0]]


def test_runs_are_joined_by_what_a_task_is(made: tuple[list[Task], Grid, dict[str, dict[str, int]]]) -> None:
    tasks, grid, _ = made
    few = from_verdicts(tasks[:3], synthetic.table(tasks[:3], models=1, seed=9))
    both = joined([few, grid])
    assert len(both) == len(few) + len(grid)
    assert len(both.tasks) == len(tasks)
    assert both.complete().sum() == few.complete().sum() + grid.complete().sum()


def test_every_cell_of_a_run_made_by_hand() -> None:
    """One method, two mutants (one of each family), two candidates: A kills both, B only the rule one."""
    task = synthetic.tasks(1, (2, 2))[0]
    one, two = Mutant("one", ("rule",), "math"), Mutant("two", ("llm",))
    task = replace(task, mutants=(one, two), id="t")
    head = {"task_id": "t", "model": "m", "setting": "f2p", "view": "all", "reason": "passed", "status": "passed"}
    given = [
        {**head, "sample": 0, "candidate_id": "A", "subject": "original", "outcome": 1},
        {**head, "sample": 0, "candidate_id": "A", "subject": one.id, "outcome": 0},
        {**head, "sample": 0, "candidate_id": "A", "subject": two.id, "outcome": 0},
        {**head, "sample": 1, "candidate_id": "B", "subject": "original", "outcome": 1},
        {**head, "sample": 1, "candidate_id": "B", "subject": one.id, "outcome": 0},
        {**head, "sample": 1, "candidate_id": "B", "subject": two.id, "outcome": -1},
    ]
    grid = from_verdicts([task], pa.Table.from_pylist(given))
    (row,) = paper.overall(grid, [1]).rows
    assert [cell.value for cell in row[2:6] if isinstance(cell, Cell)] == [1.0, 0.5, 0.5, 0.5]
    assert [row[1].value for row in paper.families(grid).rows if isinstance(row[1], Cell)] == [0.5, 1.0, 0.5]
    (rates,) = paper.discovery(grid).rows
    assert [cell.value for cell in rates[3:] if isinstance(cell, Cell)] == [0.5, 0.0]
    figures = {row[1]: (row[2], row[3]) for row in paper.each_operator(grid, {}).rows}
    assert figures["none"][0] == Cell(0.5, 0.5, 0.5, digits=4)
    assert figures["math"] == (Cell(0.5, 0.5, 0.5, digits=4), 1)
    language = paper.LANGUAGES[task.language.value]
    assert {row[0]: row[2] for row in failures.survivors(grid, {}).rows} == {
        f"{language}: math": Cell(0.0, 0.0, 0.0),
        f"{language}: llm": Cell(0.5, 0.5, 0.5),
        f"{language}: returns {failures.returned(task)}": Cell(0.25, 0.25, 0.25),
    }
    assert comparison.killed(grid).tolist() == [1.0, 0.5]
    given[-1] = {**given[-1], "reason": "condition_raised"}
    lenient = from_verdicts([task], pa.Table.from_pylist(given), also=["condition_raised"])
    counted = causes([task], pa.Table.from_pylist(given))
    row = failures.causes(grid, lenient, counted).rows[0]
    assert [cell.value for cell in row[1:4] if isinstance(cell, Cell)] == [0.5, 1.0, 0.5]
    assert row[4] == 4
    assert [cell.value for cell in row[5:] if isinstance(cell, Cell)] == [0.0, 0.75, 0.25, 0.0, 0.0, 0.0]
    assert paper.overall(grid, [3]).rows[0][2] == Cell(None)  # fewer samples than k: a dash, not a zero


def test_what_is_missing_is_a_dash() -> None:
    tasks = synthetic.tasks(2, (3, 3))
    table = synthetic.table(tasks, models=1)
    none_right = table.set_column(table.column_names.index("outcome"), "outcome", [[-1] * table.num_rows])
    grid = from_verdicts(tasks, none_right)
    (row,) = paper.overall(grid, [1]).rows
    assert row[2].written().startswith("0.000")  # type: ignore[union-attr]
    assert row[5] == Cell(None)
    empty = from_verdicts(tasks, table.slice(0, 0))
    assert len(empty) == 0
    assert DASH in paper.overall(empty, [1]).markdown()


def test_forms() -> None:
    sheet = Sheet("s", "A & B", ("Model", "x_y", "n"), (("a_b", Cell(0.5, 0.25, 0.75), 1200), ("c", Cell(None), 3)))
    assert "| a_b | 0.500 [0.25, 0.75] | 1,200 |" in sheet.markdown()
    assert r"a\_b & 0.500 [0.25, 0.75] & 1,200 \\" in sheet.latex()
    assert r"A \& B" in sheet.latex()
    assert sheet.comma_separated().splitlines() == ["Model,x_y,x_y low,x_y high,n", "a_b,0.5,0.25,0.75,1200", "c,,,,3"]


def test_guidance_is_compared_on_the_same_samples(made: tuple[list[Task], Grid, dict[str, dict[str, int]]]) -> None:
    _, grid, _ = made
    with_it = replace(grid, models=("model-0", "model-0" + comparison.GUIDED))
    corr, comp = comparison.guidance(with_it).rows
    first, second = grid.only(grid.model == 0), grid.only(grid.model == 1)
    assert corr[:3] == ("model-0", "Corr@1", len(first))
    assert [cell.value for cell in corr[3:5] if isinstance(cell, Cell)] == [first.correct.mean(), second.correct.mean()]
    assert [c.value for c in comp[3:5] if isinstance(c, Cell)] == [first.complete().mean(), second.complete().mean()]
    assert comparison.guidance(grid).rows == ()


def test_tests_of_pairs() -> None:
    one, other = np.array([True] * 9 + [False]), np.array([False] * 9 + [True])
    assert comparison.paired(one, other) == pytest.approx(2 * (1 + 10) / 2**10)
    assert comparison.paired(one, one) == 1.0
    assert comparison.odds(one, other) == 9
    assert comparison.odds(np.array([True]), np.array([False])) is None
    assert comparison.rank_biserial(np.array([0.1, 0.2, -0.3, 0.0])) == pytest.approx(0)
    assert comparison.rank_biserial(np.array([0.1, 0.2])) == 1
    assert comparison.rank_biserial(np.zeros(3)) == 0
