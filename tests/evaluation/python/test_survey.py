"""The baseline: what is left out of it and why, and what shared executions are compared with."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ensures.errors import PreparationFailed
from ensures.subject import mutants, original
from ensures.task import Task
from ensures.verdict import Outcome, Reason
from evaluation.baseline import from_record
from evaluation.checker import Limit
from evaluation.python import survey
from evaluation.python.session import IcontractChecker, IcontractSession
from tests import projects
from tests.projects import submission

Prepare = Callable[[Path, Task], IcontractSession]

MODULE = """
    import logging
    import random
    import time

    len = len


    def total(values):
        found = 0
        for value in values:
            found += value
        return found


    def size(tree):
        if not tree:
            return 0
        return 1 + size(tree[0]) + size(tree[1])


    def noisy(n):
        print(time.perf_counter())
        return n


    def branches(n):
        if n > 5:
            a = n
            b = a + 1
            c = b + 1
            return c
        return n
"""
TESTS = """
    import pytest
    import demo


    def test_total(capsys):
        assert demo.total([1, 2, 3]) == 6
        assert demo.total([]) == 0
        assert not capsys.readouterr().out


    def test_size():
        assert demo.size(((), ((), ()))) == 2


    def test_noisy():
        assert demo.noisy(3) == 3


    def test_small():
        assert demo.branches(1) == 1


    def test_big():
        assert demo.branches(9) == 11
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return projects.write(tmp_path, {"demo.py": MODULE, "test_demo.py": TESTS})


def task(folder: Path, name: str, *changes: tuple[str, str], tests: tuple[str, ...] = ()) -> Task:
    """The task of a method with mutants made by replacing text."""
    made = projects.task(folder, "demo.py", name, tuple(f"test_demo.py::test_{test}" for test in tests or (name,)))
    return projects.with_mutants(made, *(made.implementation.replace(old, new) for old, new in changes))


def test_mutants_that_do_not_count_are_left_out_with_the_reason(folder: Path, prepare: Prepare) -> None:
    given = task(
        folder,
        "total",
        ("return found", "return found + 1"),
        ("return found", "print('done')\n    return found"),  # the test sees it, a postcondition can't
        ("found = 0", "found = 0.0"),  # 6.0 == 6: no test fails
    )
    session = prepare(folder, given)
    found = session.survey(given)
    wrong, prints, equal = mutants(given)
    assert found.left_out == {prints.id: "not_observable", equal.id: "no covering test fails on it here"}
    assert [subject.id for subject in found.counted(given)] == [wrong.id]
    assert found.mutants[wrong.id] == "f"
    assert from_record(found.record()) == found


def test_a_difference_in_the_recursion_is_observable(folder: Path, prepare: Prepare) -> None:
    given = task(folder, "size", ("return 0", "return 1"))
    assert not prepare(folder, given).survey(given).left_out


def test_the_oracle_asks_no_further_than_the_first_difference(folder: Path, prepare: Prepare) -> None:
    given = task(folder, "branches", ("return n", "return n + 1"), ("c = b + 1", "c = b"), tests=("small", "big"))
    session = prepare(folder, given)
    first, second = mutants(given)
    expected = survey.calls(session, original(given))
    assert expected is not None
    small, big = expected
    assert [list(survey.calls(session, mutant) or ()) for mutant in (first, second)] == [[small, big]] * 2
    assert [list(survey.calls(session, mutant, expected) or ()) for mutant in (first, second)] == [[small], [small, big]]
    assert not session.survey(given).left_out


def test_where_there_is_a_reference_the_oracle_is_not_asked(folder: Path, prepare: Prepare) -> None:
    given = task(folder, "total", ("return found", "print('done')\n    return found"))
    given = replace(given, reference="@icontract.ensure(lambda: True)")
    assert not prepare(folder, given).survey(given).left_out


def test_output_that_is_never_the_same_is_no_part_of_the_trace(folder: Path, prepare: Prepare) -> None:
    session = prepare(folder, task(folder, "noisy", tests=("noisy", "small")))
    noisy, quiet = session.baseline.original.trace
    assert (noisy.outcome, noisy.calls, noisy.output) == ("p", 1, None)
    assert quiet.output is not None
    ((verdict,),) = session.check(original(session.task), [submission("@icontract.ensure(lambda result: result == 3)")])
    assert verdict.shared
    assert verdict.outcome is Outcome.HOLDS


def test_tests_that_fail_here_may_not_take_the_coverage_with_them(folder: Path, prepare: Prepare) -> None:
    text = (folder / "test_demo.py").read_text(encoding="utf-8").replace("== 11", "== 13")
    (folder / "test_demo.py").write_text(text, encoding="utf-8")
    with pytest.raises(PreparationFailed, match="the others cover 33% of its lines"):
        prepare(folder, task(folder, "branches", tests=("small", "big")))


def test_an_impure_neighbour_is_noticed_by_the_trace(folder: Path, prepare: Prepare) -> None:
    """The module calls something else `len`: the gate takes names at their word, the trace does not."""
    text = (folder / "demo.py").read_text(encoding="utf-8")
    (folder / "demo.py").write_text(
        text.replace("len = len", "def len(x):\n    print('asked')\n    return 1"), encoding="utf-8"
    )
    session = prepare(folder, task(folder, "branches", tests=("small", "big")))
    given = [submission("@icontract.ensure(lambda n: len([n]) == 1)"), submission("@icontract.ensure(lambda: True)")]
    before = session.executions
    for (verdict,) in session.check(original(session.task), given):
        assert (verdict.outcome, verdict.shared) == (Outcome.HOLDS, False)
    assert session.executions == before + 3, "one together, then each alone"


def test_a_condition_over_its_budget_runs_alone(folder: Path, prepare: Prepare) -> None:
    """The limit is 10 s here, a condition's share of a shared execution 1/3 s."""
    session = prepare(folder, task(folder, "branches", tests=("small", "big")))
    slow = submission("@icontract.ensure(lambda: sum(range(10 ** 7)) > 0 and sum(range(10 ** 7)) > 0)")
    endless = submission("@icontract.ensure(lambda: all(x >= 0 for x in range(10 ** 12)))")
    good = submission("@icontract.ensure(lambda: True)")
    found = [of[0] for of in session.check(original(session.task), [slow, good, endless, good])]
    assert [(v.reason, v.shared) for v in found] == [
        (Reason.PASSED, False),
        (Reason.PASSED, True),
        (Reason.TIMEOUT, False),
        (Reason.PASSED, True),
    ]


def test_a_limit_reached_in_the_body_comes_to_all_at_once(folder: Path, checker: IcontractChecker) -> None:
    given = task(folder, "branches", ("if n > 5", "while n > 5"), tests=("small", "big"))
    given = projects.with_mutants(given, given.implementation.replace("return c", "time.sleep(60)"))
    session = replace(checker, seconds=2.0).prepare(given, projects.workspace(folder))
    try:
        before = session.executions
        (mutant,) = mutants(given)
        candidates = [submission(f"@icontract.ensure(lambda n: n > {low})") for low in (-1, -2, -3)]
        candidates.append(submission("@icontract.ensure(lambda n: n > 1)"))  # violated before
        found = [of[0] for of in session.check(mutant, candidates)]
        assert [v.reason for v in found] == [Reason.TIMEOUT] * 3 + [Reason.POSTCONDITION_VIOLATED]
        assert [v.shared for v in found] == [True] * 3 + [False]
        assert session.executions == before + 2
    finally:
        session.close()


def test_the_measured_limit_is_a_multiple_of_what_the_original_takes(folder: Path, checker: IcontractChecker) -> None:
    given = task(folder, "branches", tests=("small",))
    session = replace(checker, limit=Limit.MEASURED, seconds=30.0).prepare(given, projects.workspace(folder))
    try:
        assert session.seconds == 2.0  # the least
        assert prepare_seconds(session, 0.5) == 5.0
        assert prepare_seconds(session, 50.0) == 30.0
    finally:
        session.close()


def prepare_seconds(session: IcontractSession, took: float) -> float:
    session.baseline = replace(session.baseline, original=replace(session.baseline.original, seconds=took))
    return session.seconds
