"""Whole programs over standard input and output: what they read, print and do, and asserts over both."""

from pathlib import Path

import pytest

from construction import sample as construction
from containers.choose import AutoConfig, choose
from ensures.candidate import Malformed
from ensures.errors import PreparationFailed
from ensures.subject import mutants, original
from ensures.values import same_printed
from evaluation.asserts.session import AssertChecker, AssertSession
from evaluation.checker import Submission
from inference.dialects import asserts
from tests.benchmark import test_fixeval

READERS = [
    "input(); print(max(map(int, input().split())))",
    "import sys\nsys.stdin.buffer.readline()\nprint(max(map(int, sys.stdin.buffer.read().split())))",
    "text = open(0).read().split()\nprint(max(map(int, text[1:])))",
    "import os\ntext = os.read(0, 10000).decode().split()\nos.write(1, str(max(map(int, text[1:]))).encode())",
    "def main():\n    input()\n    print(max(map(int, input().split())))\n    exit()\nif __name__ == '__main__':\n    main()",
    "import threading\ndef main():\n    input(); print(max(map(int, input().split())))\n"
    "t = threading.Thread(target=main)\nt.start()\nt.join()",
]


@pytest.fixture(scope="module")
def checker() -> AssertChecker:
    return AssertChecker(choose(AutoConfig(), hostile=True)[0], seconds=3.0)


def opened(checker: AssertChecker, folder: Path, **changes: object) -> AssertSession:
    task = test_fixeval.tasks(folder, **changes)
    session = checker.prepare(task, construction.program_workspace())
    try:
        session.survey(task)
    except PreparationFailed:
        session.close()
        raise
    return session


@pytest.mark.parametrize("program", READERS)
def test_however_a_program_reads(checker: AssertChecker, tmp_path: Path, program: str) -> None:
    session = opened(checker, tmp_path, correct=program)
    try:
        assert session.baseline.excluded == ()
        assert [text for _, text, _ in session.pairs(session.task)["original"]] == ['["3"]', '["7"]', '["-1"]', '["9"]']
    finally:
        session.close()


def test_verdicts(checker: AssertChecker, tmp_path: Path) -> None:
    """The bug prints the first number: wrong on the first and the last test."""
    session = opened(checker, tmp_path)
    try:
        (bug,) = mutants(session.task)
        assert len(session.pairs(session.task)[bug.id]) == 2
        for text, first, on_bug in (
            ("assert len(return_values) == 1", 1, 1),
            ("assert int(return_values[0]) == max(map(int, lines[1].split()))", 1, 0),
            ("assert int(return_values[0]) > 0", 0, 1),
            ("assert return_value", -1, -1),
        ):
            artifact = asserts.parse(text)
            assert not isinstance(artifact, Malformed)
            found = [session.alone(subject, Submission(artifact))[0] for subject in (original(session.task), bug)]
            assert [verdict.outcome for verdict in found] == [first, on_bug], text
    finally:
        session.close()


def test_tests_that_the_right_program_fails_are_left_out(checker: AssertChecker, tmp_path: Path) -> None:
    session = opened(checker, tmp_path, tests=[*test_fixeval.TESTS, {"input": "1\n1\n", "output": "2\n"}])
    try:
        assert session.baseline.excluded == ("test/4",)
    finally:
        session.close()


def test_a_bug_that_no_test_shows_has_no_verdicts(checker: AssertChecker, tmp_path: Path) -> None:
    with pytest.raises(PreparationFailed, match="no test here shows the bug"):
        opened(checker, tmp_path, tests=test_fixeval.TESTS[1:3])


@pytest.mark.parametrize("buggy", ["import os\nos._exit(0)", "while True: pass", "import sys\nsys.exit(3)", "print(1 / 0)"])
def test_a_bug_without_a_wrong_output(checker: AssertChecker, tmp_path: Path, buggy: str) -> None:
    """Crashes and endless loops print nothing wrong; those that come after them on the worker are judged as ever."""
    path = test_fixeval.write(tmp_path, {**test_fixeval.PAIR, "tests": test_fixeval.TESTS, "buggy": buggy})
    (task,) = test_fixeval.load(test_fixeval.FixEvalConfig(path=path, seconds=0.3)).tasks
    session = checker.prepare(task, construction.program_workspace())
    try:
        with pytest.raises(PreparationFailed, match="no test here shows the bug"):
            session.survey(task)
        assert session.outputs(test_fixeval.BUGGY)[0].text == '["1"]'
    finally:
        session.close()


@pytest.mark.parametrize(
    ("found", "expected", "equal"),
    [
        (["1 2"], ["1  2"], True),
        (["1"], ["1", "2"], False),
        (["0.30000001"], ["0.3"], True),
        (["0.31"], ["0.3"], False),
        (["1000000001"], ["1000000002"], False),
        (["Yes"], ["YES"], False),
        (["abc"], ["1.0"], False),
        ([], [], True),
        (None, ["1"], False),
    ],
)
def test_printed_lines_are_compared_word_by_word(found: object, expected: list[str], equal: bool) -> None:
    assert same_printed(found, expected) is equal
