"""No hostile piece changes another's verdict or its own, hangs the worker, outlives it, or leaves a file."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from containers.choose import choose
from ensures.candidate import Clauses
from ensures.subject import Expect, Kind, Subject, original
from evaluation.checker import Submission
from evaluation.python.session import IcontractChecker, IcontractSession
from tests import projects
from tests.hostile.corpus import BODIES, CONDITIONS, Hostile

MODULE = "def double(values):\n    return [value * 2 for value in values]\n"
TEST = "from demo import double\n\ndef test_double():\n    assert double([1, 2]) == [2, 4]\n    assert double([]) == []\n"
GOOD = "@icontract.ensure(lambda values, result: len(values) == len(result))"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcontractSession]:
    sandbox, _ = choose("auto", hostile=False)
    if not sandbox.isolating:
        pytest.skip("no sandbox that isolates on this machine: hostile code is not run")
    folder = projects.write(tmp_path_factory.mktemp("hostile"), {"demo.py": MODULE, "test_demo.py": TEST})
    task = projects.task(folder, "demo.py", "double", ("test_demo.py::test_double",))
    checker = IcontractChecker(sandbox, seconds=3.0)
    checker = replace(checker, limits=replace(checker.limits, memory_mb=1024, processes=64))
    opened = checker.prepare(task, projects.workspace(folder))
    yield opened
    opened.close()


def good() -> Submission:
    return projects.submission(GOOD)


def state(session: IcontractSession) -> tuple[dict[str, str], list[str]]:
    root = session.workspace.root
    files = {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}
    return files, sorted(os.listdir("/tmp"))


def test_the_corpus_is_large_enough() -> None:
    for cases in (CONDITIONS, BODIES):
        assert len({case.name for case in cases}) == len(cases)
    assert len(CONDITIONS) + len(BODIES) >= 100


@pytest.mark.parametrize("case", CONDITIONS, ids=lambda case: case.name)
def test_condition(session: IcontractSession, case: Hostile) -> None:
    before = state(session)
    text = f"@icontract.ensure(lambda values, result: {case.code})"
    hostile = Submission(Clauses(text, (), (), (text,)))
    first, verdicts, last = session.check(original(session.task), [good(), hostile, good()])
    assert verdicts[0].reason in case.reasons, verdicts[0]
    assert first[0].reason == last[0].reason == "passed"
    ((after,),) = session.check(original(session.task), [good()])
    assert after.reason == "passed"
    assert state(session) == before
    assert not survivors()


@pytest.mark.parametrize("case", BODIES, ids=lambda case: case.name)
def test_mutant(session: IcontractSession, case: Hostile) -> None:
    before = state(session)
    mutant = Subject("m", Kind.MUTANT, Expect.VIOLATED, f"def double(values):\n    {case.code}")
    ((verdict,),) = session.check(mutant, [projects.submission("@icontract.ensure(lambda values: True)")])
    assert verdict.reason in case.reasons, verdict
    ((after,),) = session.check(original(session.task), [good()])
    assert after.reason == "passed"
    assert state(session) == before
    assert not survivors()


def survivors() -> list[str]:
    """Processes of the sandbox's user that should have been ended with their execution."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"sleep\x0099" in command or command.startswith(b"sleep\x00"):
                found.append(command.decode())
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
