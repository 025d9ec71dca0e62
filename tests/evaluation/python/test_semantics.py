"""What a verdict means, case by case, through the session's seam; and against real icontract written into the file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ensures.subject import Expect, Kind, Subject, original
from ensures.task import Task
from ensures.verdict import Ending, Outcome, Reason, published_outcome
from evaluation.python import cold
from evaluation.python.session import IcontractChecker, IcontractSession
from tests import projects
from tests.evaluation.python.cases import CASES, MODULE, TESTS
from tests.projects import clauses, submission

Prepare = Callable[[Path, Task], IcontractSession]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return projects.write(tmp_path_factory.mktemp("demo"), {"demo.py": MODULE, "test_demo.py": TESTS})


def names_of(*names: str) -> tuple[str, ...]:
    return tuple(f"test_demo.py::test_{name}" for name in names)


@pytest.mark.parametrize(("method", "tests", "text", "outcome", "reason"), CASES)
def test_case(
    folder: Path, prepare: Prepare, method: str, tests: tuple[str, ...], text: str, outcome: int, reason: str
) -> None:
    task = projects.task(folder, "demo.py", method, names_of(*tests))
    session = prepare(folder, task)
    ((verdict,),) = session.check(original(task), [submission(text)])
    assert (verdict.outcome, verdict.reason) == (outcome, reason), verdict
    # beside others, in one execution, the verdict is the same
    neighbours = ["@icontract.ensure(lambda: True)", "@icontract.ensure(lambda: False)", "@icontract.ensure(lambda: 1 / 0)"]
    together = session.check(original(task), [submission(other) for other in [*neighbours, text]])
    assert [of[0].outcome for of in together] == [1, 0, -1, outcome]
    assert together[-1][0].reason == reason


@pytest.mark.parametrize(("method", "tests", "text", "outcome", "reason"), CASES)
def test_real_icontract_agrees(
    folder: Path, checker: IcontractChecker, method: str, tests: tuple[str, ...], text: str, outcome: int, reason: str
) -> None:
    if "violated" in reason and ("error=" in text or "thread" in tests):
        pytest.skip("the cold oracle reads printed text and can't see this violation")
    task = projects.task(folder, "demo.py", method, names_of(*tests))
    found = cold.run(checker.sandbox, task, projects.workspace(folder), task.implementation, clauses(text), task.tests, 60)
    if "enabled=False" in text:
        assert found.outcome is Outcome.HOLDS  # an empty set of postconditions holds there, and never here
    else:
        assert found.outcome == outcome, found.said[-2000:]


def test_called_at_import(folder: Path, prepare: Prepare) -> None:
    """A method that runs while its module is imported is imported afresh with the candidate around it."""
    task = projects.task(folder, "demo.py", "at_import", names_of("at_import", "plain"))
    with pytest.raises(Exception, match="calls the method"):
        # the call at import belongs to no test's execution of the plain original
        session = prepare(folder, projects.task(folder, "demo.py", "guarded", names_of("plain")))
    session = prepare(folder, task)
    ((good,), (bad,)) = session.check(
        original(task),
        [submission("@icontract.ensure(lambda n, result: result > n)"), submission("@icontract.ensure(lambda: False)")],
    )
    assert good.outcome is Outcome.HOLDS
    assert bad.outcome is Outcome.VIOLATED


def test_swallowed_violation(folder: Path, prepare: Prepare) -> None:
    """Strict: violated. The published runs would have said what the tests said."""
    task = projects.task(folder, "demo.py", "inner", names_of("guarded"))
    session = prepare(folder, task)
    ((verdict,),) = session.check(original(task), [submission("@icontract.ensure(lambda result: False)")])
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.surfaced is False
    assert verdict.ending is Ending.PASSED


@pytest.mark.parametrize(("how", "surfaced"), [("", True), (" from error", True), (" from None", False)])
def test_replaced_violation(tmp_path: Path, prepare: Prepare, how: str, surfaced: bool) -> None:
    """Another exception in its place shows it in the report, or hides it: then the published runs saw a failed test."""
    module = "def low(n):\n    return n\n\n\ndef high(n):\n    try:\n        return low(n)\n"
    module += f"    except AssertionError as error:\n        raise ValueError(n){how}\n"
    tests = "from hiding import high\n\n\ndef test_high():\n    assert high(1) == 1\n"
    folder = projects.write(tmp_path, {"hiding.py": module, "test_hiding.py": tests})
    session = prepare(folder, projects.task(folder, "hiding.py", "low", ("test_hiding.py::test_high",)))
    ((verdict,),) = session.check(original(session.task), [submission("@icontract.ensure(lambda result: False)")])
    assert (verdict.outcome, verdict.surfaced, verdict.ending) == (Outcome.VIOLATED, surfaced, Ending.FAILED)
    assert published_outcome(verdict.status) is (Outcome.VIOLATED if surfaced else Outcome.ERROR)


def test_surfaced_violation(folder: Path, prepare: Prepare) -> None:
    task = projects.task(folder, "demo.py", "plain", names_of("plain"))
    session = prepare(folder, task)
    ((verdict,),) = session.check(original(task), [submission("@icontract.ensure(lambda result: False, 'never')")])
    assert verdict.surfaced is True
    assert verdict.message.startswith("ViolationError:")
    assert "never" in verdict.message
    assert verdict.clause == 0


def test_clauses_are_counted_from_the_top(folder: Path, prepare: Prepare) -> None:
    task = projects.task(folder, "demo.py", "plain", names_of("plain"))
    text = "\n".join(f"@icontract.ensure(lambda result: {value})" for value in (True, False, True))
    ((verdict,),) = prepare(folder, task).check(original(task), [submission(text)])
    assert verdict.clause == 1


MUTANT = "def plain(values, extra=1):\n    return [value * 3 for value in values]"


def test_mutants(folder: Path, prepare: Prepare) -> None:
    task = projects.task(folder, "demo.py", "plain", names_of("plain", "plain_empty"))
    session = prepare(folder, task)
    verdicts = session.check(
        Subject("m", Kind.MUTANT, Expect.VIOLATED, MUTANT),
        [
            submission("@icontract.ensure(lambda values, result: result == [v * 2 for v in values])"),
            submission("@icontract.ensure(lambda result: isinstance(result, list))"),
            submission("@icontract.ensure(lambda result: result[5])"),
        ],
    )
    assert [of[0].reason for of in verdicts] == [
        Reason.POSTCONDITION_VIOLATED,
        Reason.TEST_FAILED,
        Reason.CONDITION_RAISED,
    ]


def test_endless_mutant_is_a_timeout_and_the_worker_goes_on(folder: Path, prepare: Prepare) -> None:
    task = projects.task(folder, "demo.py", "plain", names_of("plain"))
    session = prepare(folder, task)
    endless = Subject("m", Kind.MUTANT, Expect.VIOLATED, "def plain(values, extra=1):\n    while True: pass")
    plain = session.plain(endless, seconds=1.0)
    assert plain.ending is Ending.TIMEOUT
    ((verdict,),) = session.check(original(task), [submission("@icontract.ensure(lambda: True)")])
    assert verdict.outcome is Outcome.HOLDS


def test_a_crash_is_this_candidates_alone(folder: Path, prepare: Prepare) -> None:
    task = projects.task(folder, "demo.py", "plain", names_of("plain"))
    session = prepare(folder, task)
    verdicts = session.check(
        original(task),
        [
            submission("@icontract.ensure(lambda: True)"),
            submission("@icontract.ensure(lambda: __import__('os')._exit(0))"),
            submission("@icontract.ensure(lambda: __import__('os').kill(__import__('os').getppid(), 9))"),
            submission("@icontract.ensure(lambda: True)"),
        ],
    )
    assert [of[0].reason for of in verdicts[:2]] == [Reason.PASSED, Reason.CRASHED]
    assert verdicts[2][0].reason is Reason.TAMPERED
    assert verdicts[3][0].reason is Reason.PASSED


def test_tests_that_fail_on_the_original_are_excluded_and_named(tmp_path: Path, prepare: Prepare) -> None:
    folder = projects.write(
        tmp_path,
        {
            "demo.py": "def f(n):\n    return n\n",
            "test_demo.py": "from demo import f\n\ndef test_good():\n    assert f(1) == 1\n\n"
            "def test_bad():\n    assert f(1) == 2\n",
        },
    )
    task = projects.task(folder, "demo.py", "f", names_of("good", "bad"))
    session = prepare(folder, task)
    assert session.baseline.excluded == names_of("bad")
    ((verdict,),) = session.check(original(task), [submission("@icontract.ensure(lambda n, result: n == result)")])
    assert verdict.outcome is Outcome.HOLDS


def test_tests_that_depend_on_the_hash_seed_are_excluded(tmp_path: Path, prepare: Prepare) -> None:
    folder = projects.write(
        tmp_path,
        {
            "demo.py": "def f(n):\n    return n\n",
            "test_demo.py": "import os\nfrom demo import f\n\ndef test_good():\n    assert f(1) == 1\n\n"
            "def test_flips():\n    assert f(hash('a')) == f(hash('a')) and os.environ['PYTHONHASHSEED'] != '2'\n",
        },
    )
    session = prepare(folder, projects.task(folder, "demo.py", "f", names_of("good", "flips")))
    assert session.baseline.excluded == names_of("flips")
    assert list(session.baseline.tests) == list(names_of("good"))


def test_async_is_unsupported(tmp_path: Path, prepare: Prepare) -> None:
    folder = projects.write(
        tmp_path,
        {
            "demo.py": "async def f(n):\n    return n\n",
            "test_demo.py": "import asyncio\nfrom demo import f\n\ndef test_f():\n    assert asyncio.run(f(1)) == 1\n",
        },
    )
    task = projects.task(folder, "demo.py", "f", ("test_demo.py::test_f",))
    ((verdict,),) = prepare(folder, task).check(original(task), [submission("@icontract.ensure(lambda: True)")])
    assert verdict.reason is Reason.UNSUPPORTED
