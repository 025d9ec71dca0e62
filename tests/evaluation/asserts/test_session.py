"""What an assert says of a program's results: pair by pair, under both rules, whatever the candidate tries."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construction import sample as construction
from containers.choose import AutoConfig, choose
from ensures.candidate import Malformed
from ensures.errors import PreparationFailed
from ensures.subject import mutants, original
from ensures.values import same
from ensures.verdict import Verdict
from evaluation.asserts.session import NOTHING_NEW, AssertChecker, AssertSession
from evaluation.checker import Submission
from evaluation.python.harness.ensures_harness import values
from inference.dialects import asserts
from tests import programs, projects


@pytest.fixture(scope="module")
def checker() -> AssertChecker:
    return AssertChecker(choose(AutoConfig(), hostile=True)[0], seconds=3.0)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, checker: AssertChecker) -> Iterator[AssertSession]:
    task, _ = programs.tasks(tmp_path_factory.mktemp("programs"))
    opened = checker.prepare(task, construction.program_workspace())
    opened.survey(task)
    yield opened
    opened.close()


def judge(session: AssertSession, text: str) -> tuple[Verdict, list[Verdict]]:
    artifact = asserts.parse(text)
    assert not isinstance(artifact, Malformed), artifact
    subjects = [original(session.task), *session.baseline.counted(session.task)]
    first, *rest = [session.check(subject, [Submission(artifact)])[0][0] for subject in subjects]
    return first, rest


def test_mutants_are_sets_of_wrong_pairs(session: AssertSession) -> None:
    right, plain, none, again, endless, dies = mutants(session.task)
    assert session.baseline.tests == ("base/0", "base/1", "plus/0", "plus/1")
    assert session.baseline.left_out == dict.fromkeys((right.id, again.id, endless.id, dies.id), NOTHING_NEW)
    pairs = session.pairs(session.task)
    assert [(index, values.decode(text)) for index, text, _ in pairs[plain.id]] == [(0, [3, 1]), (3, [2])]
    assert [(index, values.decode(text)) for index, text, _ in pairs[none.id]] == [(0, None), (2, None)]


@pytest.mark.parametrize(
    ("text", "outcome", "reason", "kills", "paper", "pairs"),
    [
        ("assert True", 1, "passed", [1, 1], [1, 1], (0, 0)),
        ("assert return_value == sorted(numbers)[:k]", 1, "passed", [0, 0], [0, 0], (4, 0)),
        ("assert isinstance(return_value, list)", 1, "passed", [1, 0], [1, 0], (2, 0)),
        ("assert len(return_value) <= k", 1, "passed", [1, -1], [1, 0], (0, 2)),
        ("assert len(return_value) == k", 0, "postcondition_violated", [1, -1], [1, 0], (0, 2)),
        ("assert return_value[0] >= 0", -1, "condition_raised", [1, -1], [1, 0], (0, 2)),
        # the reference sorts its argument in place: a statement at its end sees that
        ("assert numbers == sorted(numbers)", 1, "passed", [0, 0], [0, 0], (3, 0)),
        ("assert smallest(numbers, k) == return_value", 1, "passed", [0, 0], [0, 0], (4, 0)),
        (
            "import math\nx = math.inf\nassert x > 1\nassert all(v < x for v in return_value)",
            1,
            "passed",
            [1, -1],
            [1, 0],
            (0, 2),
        ),
        ("def ok(v):\n    return v is not None\nassert ok(return_value)", 1, "passed", [1, 0], [1, 0], (2, 0)),
        ("assert undefined", -1, "condition_raised", [-1, -1], [0, 0], (0, 4)),
        ("assert True\nwhile True: pass", -1, "timeout", [-1, -1], [-1, -1], (0, 0)),
        ("import os\nos._exit(0)\nassert True", -1, "crashed", [-1, -1], [-1, -1], (0, 0)),
        ("import os, signal\nos.kill(os.getppid(), 9)\nassert True", -1, "tampered", [-1, -1], [-1, -1], (0, 0)),
        ("import sys\nassert 'original' in str(sys._getframe(1).f_locals)", -1, "tampered", [-1, -1], [-1, -1], (0, 0)),
        ("import gc\nassert len(gc.get_objects())", -1, "tampered", [-1, -1], [-1, -1], (0, 0)),
        ("raise SystemExit\nassert False", -1, "condition_raised", [-1, -1], [0, 0], (0, 4)),
    ],
)
def test_a_candidate(
    session: AssertSession, text: str, outcome: int, reason: str, kills: list[int], paper: list[int], pairs: tuple[int, int]
) -> None:
    first, rest = judge(session, text)
    assert (first.outcome, first.reason) == (outcome, reason), first
    assert [verdict.outcome for verdict in rest] == kills
    published = {"passed": 1, "assert_fail": 0}
    assert [published.get(verdict.status, -1) for verdict in rest] == paper
    assert (sum(v.pairs_killed or 0 for v in rest), sum(v.pairs_raised or 0 for v in rest)) == pairs
    assert [verdict.pairs for verdict in rest] == [2, 2]


def test_the_message_names_the_input_and_the_clause_its_place(session: AssertSession) -> None:
    first, _ = judge(session, "assert k\nassert len(return_value) == k, 'too few'")
    assert first.clause == 1
    assert first.message == "AssertionError: too few (input plus/0: [[], 3])"


@pytest.mark.parametrize(
    ("text", "insensitive", "unused"),
    [
        ("assert True", True, ()),
        ("assert k > 0", True, ()),
        ("assert isinstance(return_value, list)", False, ()),
        ("assert not k > 5 or return_value == []", True, (0,)),
        ("assert isinstance(return_value, list)\nassert return_value == [] if k == 3 else True", False, ()),
        ("assert isinstance(return_value, list)\nassert return_value == [] if k == 7 else True", False, (1,)),
    ],
)
def test_what_a_candidate_leaves_unsaid(session: AssertSession, text: str, insensitive: bool, unused: tuple[int, ...]) -> None:
    artifact = asserts.parse(text)
    assert not isinstance(artifact, Malformed)
    (found,) = session.diagnose([Submission(artifact)])
    assert found is not None
    assert (found.insensitive, found.unused) == (insensitive, unused)


def test_a_worker_that_is_lost_is_started_again(session: AssertSession) -> None:
    assert session.worker is not None
    session.worker._process.kill()
    first, rest = judge(session, "assert isinstance(return_value, list)")
    assert (first.outcome, [verdict.outcome for verdict in rest]) == (1, [1, 0])


def test_floats_need_only_be_close(tmp_path: Path, checker: AssertChecker) -> None:
    _, task = programs.tasks(tmp_path)
    session = checker.prepare(task, construction.program_workspace())
    try:
        near, floor = mutants(task)
        assert session.survey(task).left_out == {near.id: NOTHING_NEW}
        assert len(session.pairs(task)[floor.id]) == 2
    finally:
        session.close()


def test_a_task_with_tests_is_refused(tmp_path: Path, checker: AssertChecker) -> None:
    folder = projects.write(tmp_path, {"demo.py": "def f(n):\n    return n\n"})
    with pytest.raises(PreparationFailed, match="checker=assert"):
        checker.prepare(projects.task(folder, "demo.py", "f", ("t",)), projects.workspace(folder))


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.sets(st.integers() | st.text())
        | st.frozensets(st.integers())
    ),
    max_leaves=20,
)


@given(value=plain)
def test_values_cross_as_they_are(value: object) -> None:
    back = values.decode(values.encode(value))
    assert back == value
    assert repr(back) == repr(value) or isinstance(value, (set, frozenset)) or "{" in repr(value)
    assert values.encode(back) == values.encode(value)


def test_what_is_not_plain_crosses_by_name() -> None:
    assert repr(values.decode(values.encode(iter([])))) == "<list_iterator>"
    assert repr(values.decode(values.encode("x" * (40 << 20)))) == "<str>"
    assert values.decode(values.encode(10**5000)) == 10**5000


@pytest.mark.parametrize(
    ("found", "expected", "tolerance", "equal"),
    [
        (1, 1.0, 0.0, True),
        (1.0000001, 1.0, 0.0, True),
        (1.00001, 1.0, 0.0, False),
        ([1.0, 2.0000001], [1.0, 2.0], 0.0, True),
        ((1.0, 2.0), [1.0, 2.0], 0.0, True),
        ([1.0], [1.0, 2.0], 0.0, False),
        ("a", 1.0, 0.0, False),
        (None, 1.0, 1e-6, False),
        (float("nan"), float("nan"), 0.0, True),
        (float("inf"), 1.0, 0.0, False),
        (3, 4, 0.0, False),
    ],
)
def test_equality_is_evalplus_own(found: object, expected: object, tolerance: float, equal: bool) -> None:
    assert same(found, expected, tolerance) is equal
