"""No hostile piece changes another's verdict or its own, hangs the worker, outlives it, or leaves a file."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ensures.candidate import Clauses
from ensures.subject import Expect, Kind, Subject, original
from evaluation.checker import Submission
from evaluation.python.session import IcontractChecker, IcontractSession
from evaluation.python.worker import HARNESS
from tests import projects
from tests.containers import engines
from tests.hostile.corpus import BODIES, CONDITIONS, Hostile

MODULE = "def double(values):\n    return [value * 2 for value in values]\n"
TEST = "from demo import double\n\ndef test_double():\n    assert double([1, 2]) == [2, 4]\n    assert double([]) == []\n"
GOOD = "@icontract.ensure(lambda values, result: len(values) == len(result))"


@pytest.fixture(scope="module", params=engines.ISOLATING)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcontractSession]:
    sandbox = engines.sandbox(request.param)
    folder = projects.write(tmp_path_factory.mktemp("hostile"), {"demo.py": MODULE, "test_demo.py": TEST})
    task = projects.task(folder, "demo.py", "double", ("test_demo.py::test_double",))
    checker = IcontractChecker(sandbox, seconds=3.0)
    checker = replace(checker, limits=replace(checker.limits, memory_mb=1024, processes=64))
    opened = checker.prepare(task, projects.workspace(folder))
    yield opened
    opened.close()


def good() -> Submission:
    return projects.submission(GOOD)


def files(session: IcontractSession) -> dict[str, str]:
    root = session.workspace.root
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


def clean(session: IcontractSession) -> Submission:
    """Holds if the sandbox's /tmp holds an execution's own folder and the places of what is shown to it, and no more."""
    shown = [session.workspace.root, session.workspace.interpreter, HARNESS]
    allowed = {"x", *(path.parts[2] for path in shown if path.parts[1] == "tmp")}
    text = f"@icontract.ensure(lambda result: set(__import__('os').listdir('/tmp')) <= {allowed!r})"
    return Submission(Clauses(text, (), (), (text,)))


def check_nothing_stayed(session: IcontractSession, before: dict[str, str]) -> None:
    good_one, clean_one = session.check(original(session.task), [good(), clean(session)])
    assert good_one[0].reason == "passed"
    assert clean_one[0].reason == "passed"
    assert files(session) == before
    assert session.worker is not None
    assert len(below(session.worker.pid)) <= 3, "more than the supervisor and its two warm processes"


def test_the_corpus_is_large_enough() -> None:
    for cases in (CONDITIONS, BODIES):
        assert len({case.name for case in cases}) == len(cases)
    assert len(CONDITIONS) + len(BODIES) >= 100


@pytest.mark.parametrize("case", CONDITIONS, ids=lambda case: case.name)
def test_condition(session: IcontractSession, case: Hostile) -> None:
    before = files(session)
    text = f"@icontract.ensure(lambda values, result: {case.code})"
    hostile = Submission(Clauses(text, (), (), (text,)))
    first, verdicts, last = session.check(original(session.task), [good(), hostile, good()])
    assert verdicts[0].reason in case.reasons, verdicts[0]
    assert first[0].reason == last[0].reason == "passed"
    check_nothing_stayed(session, before)


@pytest.mark.parametrize("case", BODIES, ids=lambda case: case.name)
def test_mutant(session: IcontractSession, case: Hostile) -> None:
    before = files(session)
    mutant = Subject("m", Kind.MUTANT, Expect.VIOLATED, f"def double(values):\n    {case.code}")
    ((verdict,),) = session.check(mutant, [projects.submission("@icontract.ensure(lambda values: True)")])
    assert verdict.reason in case.reasons, verdict
    check_nothing_stayed(session, before)


def below(pid: int) -> list[int]:
    """All living processes below one; what a sandbox has orphaned is a child of its init."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry.name)] = int(fields[1])
    found: list[int] = []
    frontier = {pid}
    while frontier:
        frontier = {child for child, parent in parents.items() if parent in frontier}
        found += frontier
    return found


def test_a_long_expression_is_refused_unread() -> None:
    from ensures.candidate import Malformed
    from inference.dialects import icontract

    found = icontract.parse("@icontract.ensure(lambda: " + "1 + " * 2_500_000 + "1)")
    assert isinstance(found, Malformed)
    assert found.reason == "unsupported"


def test_names_of_every_script_are_taken(session: IcontractSession) -> None:
    text = "@icontract.ensure(lambda values, result: 'ß→💥' != chr(0))"
    ((verdict,),) = session.check(original(session.task), [projects.submission(text)])
    assert verdict.reason == "passed"
