"""Tables worked out by hand: one small run whose every figure can be counted on paper."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from analysis import ablations, clauses, comparison, failures, paper, study, subsumption, uncertainty, variety
from analysis.clauses import Parts
from analysis.grid import Grid
from analysis.reading import from_verdicts
from analysis.sheets import Cell, Sheet
from analysis.variety import Said
from ensures.candidate import CLAUSE
from ensures.task import Language, Mutant, Repository, Task
from tests.analysis import synthetic

A, B, C = (Mutant(name, ("rule",), "math") for name in "abc")


def task(name: str, language: str, repository: str, date: str = "") -> Task:
    made = synthetic.tasks(1, (1, 1))[0]
    source = Repository(repository, "0" * 40, date=date)
    return replace(made, id=name, language=Language(language), source=source, mutants=(A, B, C), implementation=name)


TASKS = [task("one", "python", "r", "2024-01"), task("two", "python", "s", "2025-01"), task("three", "java", "s")]

# (task, model, sample) -> the mutants that it kills, None: not correct
RUN = {
    ("one", "m", 0): "abc",
    ("one", "m", 1): "a",
    ("two", "m", 0): None,
    ("two", "m", 1): "ab",
    ("three", "m", 0): "abc",
    ("three", "m", 1): "abc",
    ("one", "n", 0): None,
    ("one", "n", 1): None,
    ("two", "n", 0): "ab",
    ("two", "n", 1): "abc",
}


def rows() -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for (name, model, sample), kills in RUN.items():
        head = {"task_id": name, "model": model, "setting": "f2p", "sample": sample, "candidate_id": f"{name}{model}{sample}"}
        head |= {"view": "all", "status": ""}
        wrong = {"outcome": -1, "reason": "compile_error"}
        right = {"outcome": 1, "reason": "passed"}
        found.append({**head, "subject": "original", **(wrong if kills is None else right)})
        for letter, mutant in zip("abc", (A, B, C), strict=True):
            if kills is not None:
                killed = {"outcome": 0, "reason": "postcondition_violated"}
                found.append({**head, "subject": mutant.id, **(killed if letter in kills else right)})
    return found


@pytest.fixture
def grid() -> Grid:
    asked = [(task.id, "f2p") for task in TASKS]
    return from_verdicts(TASKS, pa.Table.from_pylist(rows())).resolved(2, asked)


def figures(sheet: Sheet, row: int = 0) -> list[float | None]:
    return [cell.value if isinstance(cell, Cell) else float(cell) for cell in sheet.rows[row] if not isinstance(cell, str)]


def test_what_was_asked_and_is_not_there_is_unresolved_and_bounds_the_mean(grid: Grid) -> None:
    assert grid.unresolved == ((2, 1, 0),)  # three was not judged for n
    sheet = uncertainty.intervals(grid)
    assert figures(sheet, 0) == pytest.approx([5 / 6, 5 / 6, 5 / 6, 2, 3, 0, 5 / 6, 5 / 6])
    assert figures(sheet, 2) == pytest.approx([0.5, 0.5, 0.5, 2, 2, 1, 1 / 3, 2 / 3])
    fair = grid.fair()
    assert sorted(set(fair.task.tolist())) == [0, 1]
    assert figures(paper.overall(fair, [1]), 0)[:3] == pytest.approx([1, 0.75, 0.25])
    assert figures(paper.overall(fair, [1]), 1)[:3] == pytest.approx([1, 0.5, 0.25])


def test_a_verdict_that_is_missing_makes_its_group_unresolved() -> None:
    left = [row for row in rows() if not (row["candidate_id"] == "onem0" and row["subject"] == B.id)]
    grid = from_verdicts(TASKS, pa.Table.from_pylist(left)).resolved(2, [])
    assert (0, 0, 0) in grid.unresolved
    assert "onem0" not in grid.key.tolist() and "onem1" not in grid.key.tolist()
    few = from_verdicts(TASKS, pa.Table.from_pylist(rows())).resolved(3, [])
    assert len(few) == 0 and len(few.unresolved) == 6


def test_methods_that_stand_alone(grid: Grid) -> None:
    short, long = paper.dependence(grid.only(grid.model == 0), {"one": (), "two": ("self.x",), "three": ()})
    python = next(row for row in short.rows if row[0] == "Python")
    assert [cell.value if isinstance(cell, Cell) else cell for cell in python[1:]] == [0.5, 1.0, 0.0, 0.5, 1, 1]
    java = next(row for row in short.rows if row[0] == "Java")
    assert [cell.value if isinstance(cell, Cell) else cell for cell in java[1:]] == [None, 1.0, None, 1.0, 0, 1]
    assert len(long.rows) == 4  # two languages, two models; the second model has no candidate here
    only_one = paper.dependence(grid, {"one": ()})[0].rows
    assert [row[-1] for row in only_one] == [0, 1]  # of the others nothing is known


def test_dominators(grid: Grid) -> None:
    kills = np.array([[1, 1, 1], [1, 0, 0], [1, 1, 0]], dtype=bool)
    assert subsumption.dominators(kills).tolist() == [False, False, True]
    assert subsumption.dominators(np.array([[1, 0], [0, 1]], dtype=bool)).tolist() == [True, True]
    assert subsumption.dominators(np.array([[1, 1], [1, 1]], dtype=bool)).tolist() == [True, False]  # equals: one
    assert subsumption.dominators(np.array([[0, 0], [0, 0]], dtype=bool)).tolist() == [False, False]
    # one: c of abc, a; two: c of ab, ab, abc; three: all equal
    hard = subsumption.difficulty(grid)
    assert figures(subsumption.scores(grid, hard), 0) == pytest.approx([(2 / 3 + 1 / 3 + 1) / 3, (0.5 + 0 + 1) / 3])
    python = next(row for row in subsumption.mutants(grid, hard).rows if row[:2] == ("Python", "rule"))
    assert [cell.value if isinstance(cell, Cell) else cell for cell in python[2:]] == pytest.approx(
        [6, 0, (1 + 0.5 + 0.5 + 1 + 1 + 1 / 3) / 6, 2]
    )


def test_variety(grid: Grid) -> None:
    said = {str(key): Said("same" if str(key).startswith("one") else str(key), str(key) == "onem1", True) for key in grid.key}
    one = variety.variety(grid, said)
    assert figures(one, 0) == pytest.approx([2, (1 + 2 + 2) / 3, (2 + 2 + 1) / 3, 0, 0, 1 / 5])
    assert figures(variety.variety(grid, {}), 0)[1] is None
    nothing = from_verdicts(
        TASKS[:1], pa.Table.from_pylist([{**row, "outcome": 1} for row in rows() if row["task_id"] == "one"])
    )
    assert figures(variety.variety(nothing, {key: Said("", False, True) for key in nothing.key.tolist()}), 0)[3:5] == [1, 1]


def test_a_text_that_says_the_code_again() -> None:
    body = "total = 0\nfor x in items:\n    total += x * weight\nreturn total / len(items)"
    assert variety.restates(f"ensure(lambda items, result: ({body}))", body)
    assert not variety.restates("ensure(lambda items, result: result >= 0 and result < 10)", body)
    assert not variety.restates("return x", "return x")  # too short to be said otherwise


def test_before_and_after_the_cutoff(grid: Grid) -> None:
    sheet = variety.by_date(grid, {"m": "2024-06"})
    found = {(row[0], row[1], row[2]): row[4:] for row in sheet.rows}
    before, after = found["m", "Python", "before"], found["m", "Python", "after"]
    assert [cell.value if isinstance(cell, Cell) else cell for cell in before] == [1.0, 0.5, 1]
    assert [cell.value if isinstance(cell, Cell) else cell for cell in after] == [0.5, 0.0, 1]
    assert found["n", "Python", "after"][2] == 0  # its cutoff is not known
    assert found["m", "Java", "after"][2] == 0  # its date is not known


def test_clauses(grid: Grid) -> None:
    known = {
        "onem0": Parts((True, True, True), (0b011, 0b110, 0b010)),  # the third is redundant; two are needed
        "twom0": Parts((False, True), (0, 0b111)),  # dropping the first makes it correct and complete
        "twom1": Parts((True, False), (0b011, 0)),
    }
    assert known["onem0"].smallest == (0, 1)
    assert [known["onem0"].redundant(n) for n in range(3)] == [False, False, True]
    own = grid.only(np.isin(grid.key.astype(str), list(known)) & (grid.model == 0))
    row = figures(clauses.clauses(own, known))
    assert row[:6] == pytest.approx([3, 7 / 3, 2 / 7, 1, 1 / 5, 1.5])
    assert row[6:] == pytest.approx([0.75, 1, 0.5, 0.75])


def test_the_smallest_subset_against_every_subset() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        kills = tuple(int(x) for x in rng.integers(0, 64, size=6))
        part = Parts((True,) * 6, kills)
        sizes = [
            bin(chosen).count("1")
            for chosen in range(64)
            if Parts((True,) * 6, tuple(k if chosen >> n & 1 else 0 for n, k in enumerate(kills))).together == part.together
        ]
        assert len(part.smallest) == min(sizes)


def test_parts_come_from_rows_of_single_clauses() -> None:
    given = [{**row, "candidate_id": f"{row['candidate_id']}{CLAUSE}0"} for row in rows()]
    found = clauses.parts(from_verdicts(TASKS, pa.Table.from_pylist(given)))
    assert found["onem0"] == Parts((True,), (0b111,))
    assert found["onem1"] == Parts((True,), (0b001,))
    assert found["twom0"] == Parts((False,), (0,))


def test_pairs_of_models(grid: Grid) -> None:
    (row,) = comparison.models(grid).rows
    assert row[:3] == ("m", "n", 4)
    correct, odds, p = (cell.value for cell in row[3:6] if isinstance(cell, Cell))
    assert (correct, odds, p) == (pytest.approx(0.25), 2.0, 1.0)  # two against one
    assert comparison.settings(grid).rows == ()


def test_sizes_need_a_difference(grid: Grid) -> None:
    (row,) = uncertainty.sizes(grid).rows
    assert row[3] == Cell(pytest.approx(0.0))  # both are complete on one of four
    assert row[4] == row[5] == Cell(None, digits=0)


def test_categories() -> None:
    assert failures.category("syntax_error", "line 3") == failures.MISUSE
    assert failures.category("compile_error", "NameError: OLD is not defined") == failures.PRE_STATE
    assert failures.category("condition_raised", "AttributeError: 'NoneType'") == failures.RAISED
    assert failures.category("postcondition_violated", "OLD.x was 3") == failures.SEMANTIC
    assert failures.category("timeout", "") == failures.OTHER


RETURNS = {
    ("python", "f", "def f(x) -> int:"): "a scalar",
    ("python", "f", "def f(x) -> Optional[str]:"): "a scalar",
    ("python", "f", "def f(x) -> list[int]:"): "a collection",
    ("python", "f", "def f(x) -> None:"): "nothing",
    ("python", "A.__init__", "def __init__(self, x):"): "nothing",
    ("python", "f", "def f(x):"): "what is not said",
    ("python", "f", "def f(x) -> 'Node | None':"): "another type",
    ("java", "floor", "public static double floor(double number)"): "a scalar",
    ("java", "f", "static <T> List<T> f(T a)"): "a collection",
    ("java", "f", "int[] f()"): "a collection",
    ("java", "C.C", "public C(int a)"): "nothing",
    ("java", "f", "public Node<String, Integer> f(Object o)"): "another type",
    ("java", "f", "void f()"): "nothing",
}


@pytest.mark.parametrize("given", RETURNS)
def test_what_a_method_returns(given: tuple[str, str, str]) -> None:
    language, name, signature = given
    made = replace(TASKS[0], language=Language(language), qualname=name, signature=signature)
    assert failures.returned(made) == RETURNS[given]


@pytest.mark.parametrize("part", ["nothing", "one task", "one sample", "one model wrong", "no setting"])
def test_small_studies_have_dashes_and_no_crash(part: str, grid: Grid, tmp_path: object) -> None:
    chosen = {
        "nothing": np.zeros(len(grid), dtype=bool),
        "one task": grid.task == 0,
        "one sample": grid.sample == 0,
        "one model wrong": ~grid.correct,
        "no setting": grid.setting == 0,
    }[part]
    small = grid.only(chosen)
    found = study.Study(small, small)
    sheets = study.tables(found, trials=2)
    study.write(sheets, study.drawn(found, sheets), tmp_path)  # type: ignore[arg-type]
    assert "nan" not in "".join(sheet.markdown() for sheet in sheets)


def test_rules_can_be_switched(grid: Grid) -> None:
    own = grid.only(grid.model == 0)
    nothing = np.zeros_like(own.full)
    assert own.complete(nothing).tolist() == own.correct.tolist()
    never = replace(own, vacuous=False)
    assert not never.complete(nothing).any()
    assert never.complete().tolist() == own.complete().tolist()
    assert ablations.trials(never, lambda rng: [nothing], 0, 2)["m"].mean == 0
    assert ablations.trials(own, lambda rng: [nothing], 0, 2)["m"].mean == pytest.approx(5 / 6)
    short = study.Study(own, lines={"one": 3})
    assert study.lines_of(short) == {"one": 3, "two": TASKS[1].lines, "three": TASKS[2].lines}
