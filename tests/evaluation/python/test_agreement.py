"""Small functions, mutants and candidates, drawn at random: shared, isolated and cold verdicts are the same."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from construction import mutate
from ensures.subject import Expect, Kind, Subject, original
from ensures.verdict import Outcome
from evaluation.checker import Submission
from evaluation.python import cold
from evaluation.python.purity import plainly_pure
from evaluation.python.session import IcontractChecker, IcontractSession
from tests import projects

MODULE = '''
    def work(values, limit=2):
        """Adds up what is above the limit, and forgets the first."""
        total = 0
        for value in values:
            if value > limit and value is not None:
                total += value
        if values:
            values.pop(0)
        return [total, len(values)]
'''
TESTS = """
    import pytest
    from demo import work


    def test_some():
        assert work([1, 2, 3, 4]) == [7, 3]


    def test_none():
        assert work([], limit=0) == [0, 0]


    def test_swallows():
        try:
            work([5], 1)
        except Exception:
            pass


    @pytest.mark.parametrize("limit", [0, 9])
    def test_limits(limit):
        values = [3, 8]
        assert work(values, limit=limit)[1] == len(values) == 1
"""

terms = st.sampled_from(
    ["result[0]", "result[1]", "len(values)", "limit", "sum(values)", "0", "1", "3", "OLD.n", "OLD.copy[0]"]
)
comparisons = st.tuples(terms, st.sampled_from(["==", "!=", "<", "<=", ">"]), terms).map(" ".join)
conditions = st.one_of(
    comparisons,
    st.tuples(comparisons, st.sampled_from(["and", "or"]), comparisons).map(" ".join),
    st.sampled_from(
        [
            "isinstance(result, list)",
            "result is not values",
            "values == OLD.copy[1:]",
            "result.nothing",
            "all(v > 0 for v in values)",
        ]
    ),
)
CLAUSES = (
    "@icontract.snapshot(lambda values: len(values), name='n')\n@icontract.snapshot(lambda values: values[:], name='copy')\n"
)
sets = st.lists(conditions, min_size=1, max_size=3).map(
    lambda found: CLAUSES + "\n".join(f"@icontract.ensure(lambda values, limit, result, OLD: {text})" for text in found)
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, checker: IcontractChecker) -> Iterator[IcontractSession]:
    folder = projects.write(tmp_path_factory.mktemp("agreement"), {"demo.py": MODULE, "test_demo.py": TESTS})
    names = ("some", "none", "swallows", "limits")
    task = projects.task(folder, "demo.py", "work", tuple(f"test_demo.py::test_{name}" for name in names))
    opened = checker.prepare(task, projects.workspace(folder))
    yield opened
    opened.close()


def subjects(session: IcontractSession) -> list[Subject]:
    made = mutate.mutants(session.task.implementation)
    return [
        original(session.task),
        *(Subject(f"m{i}", Kind.MUTANT, Expect.VIOLATED, m.implementation) for i, m in enumerate(made)),
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(sets, min_size=2, max_size=6), index=st.integers(0, 10**6))
def test_shared_and_isolated_agree(session: IcontractSession, texts: list[str], index: int) -> None:
    found = subjects(session)
    subject = found[index % len(found)]
    submissions = [Submission(projects.clauses(text)) for text in texts]
    assert all(plainly_pure(submission.clauses) for submission in submissions)
    shared = session.check(subject, submissions)
    for submission, (verdict,) in zip(submissions, shared, strict=True):
        (alone,) = session.alone(subject, submission)
        assert (verdict.outcome, verdict.reason, verdict.surfaced) == (alone.outcome, alone.reason, alone.surfaced), submission
        if verdict.outcome is Outcome.VIOLATED:
            assert verdict.clause == alone.clause
            assert verdict.ending == alone.ending or not verdict.surfaced


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=sets, index=st.integers(0, 10**6))
def test_isolated_and_cold_agree(session: IcontractSession, text: str, index: int) -> None:
    """Cold reads printed text: a violation that a test swallows is the tests' outcome there."""
    found = subjects(session)
    subject = found[index % len(found)]
    submission = Submission(projects.clauses(text))
    ((verdict,),) = session.check(subject, [submission])
    place = (session.checker.sandbox, session.task, session.workspace)
    other = cold.run(*place, subject.payload, submission.clauses, session.tests, 60)
    if verdict.outcome is Outcome.VIOLATED and not verdict.surfaced:
        assert other.outcome is not Outcome.VIOLATED
    elif other.outcome is Outcome.HOLDS and verdict.reason == "condition_raised":
        pass  # a test swallowed what the condition raised: an error here, a pass there
    else:
        assert other.outcome == verdict.outcome, (verdict, other.said[-1500:])


def test_the_folder_is_as_it_was(session: IcontractSession) -> None:
    assert sorted(path.name for path in Path(session.workspace.root).iterdir()) == ["demo.py", "test_demo.py"]
