"""Bugs of contest submissions: what is read, what is left out, and that a bug which no test shows is none."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark import schema
from benchmark.fixeval import FixEvalConfig, load
from ensures.errors import InputError
from ensures.task import Script, Task, halves

# the greatest of N numbers; the bug takes the first
CORRECT = "import sys\ndata = sys.stdin.read().split()\nprint(max(map(int, data[1:])))\n"
BUGGY = "n = int(input())\nprint(input().split()[0])\n"
TESTS = [
    {"input": "3\n1 2 3\n", "output": "3\n"},
    {"input": "1\n7  \n\n", "output": "7"},
    {"input": "2\n-1 -5\n", "output": " -1\n\n"},
    {"input": "2\n4 9\n", "output": "9\n"},
]
PAIR = {"problem": "p1", "description": "The greatest of N.", "correct": CORRECT, "buggy": BUGGY, "verdict": "Wrong Answer"}


def write(folder: Path, *records: dict[str, Any]) -> str:
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def tasks(folder: Path, **changes: Any) -> Task:
    (task,) = load(FixEvalConfig(path=write(folder, {**PAIR, "tests": TESTS, **changes}))).tasks
    return task


def test_a_pair(tmp_path: Path) -> None:
    task = tasks(tmp_path)
    assert isinstance(task.source, Script)
    assert task.source.inputs[:2] == ("[['3', '1 2 3']]", "[['1', '7']]")
    assert task.source.outputs == ("['3']", "['7']", "[' -1']", "['9']")
    assert (task.source.seconds, task.source.memory_mb) == (15.0, 5120)
    assert [(m.implementation, m.operator) for m in task.mutants] == [(BUGGY, "Wrong Answer")]
    schema.write([task], tmp_path / "tasks.parquet")
    ((record, where),) = schema.records(tmp_path / "tasks.parquet")
    assert schema.from_record(record, where) == task


def test_tests_in_a_folder(tmp_path: Path) -> None:
    for part, text in (("in", "1\n5\n"), ("out", "5\n")):
        (tmp_path / "tests" / "p1" / part).mkdir(parents=True)
        (tmp_path / "tests" / "p1" / part / "a.txt").write_text(text)
    path = write(tmp_path, PAIR)
    (task,) = load(FixEvalConfig(path=path, tests_path=str(tmp_path / "tests"))).tasks
    assert task.tests == ("test/a.txt",)
    (tmp_path / "tests" / "p1" / "out" / "a.txt").unlink()
    with pytest.raises(InputError, match=r"has no .*out/a\.txt"):
        load(FixEvalConfig(path=path, tests_path=str(tmp_path / "tests")))


def test_only_wrong_answers_that_can_be_parsed(tmp_path: Path) -> None:
    wrong = {**PAIR, "tests": TESTS}
    path = write(
        tmp_path,
        {**wrong, "verdict": "Runtime Error"},
        {**wrong, "verdict": "Time Limit Exceeded"},
        {**wrong, "correct": "print 1"},
        wrong,
    )
    found = load(FixEvalConfig(path=path))
    assert len(found.tasks) == 1 and len(found.skipped) == 3
    assert "1 pairs: the correct program is no Python 3" in found.skipped


def test_a_sample_is_drawn_by_its_seed(tmp_path: Path) -> None:
    path = write(tmp_path, *({**PAIR, "id": f"p1/{number}", "tests": TESTS} for number in range(20)))
    drawn = [[task.id for task in load(FixEvalConfig(path=path, sample=5, sample_seed=seed)).tasks] for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2] and len(drawn[0]) == 5


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"verdict": None}, "line 1: the field 'verdict' is missing"),
        ({"buggy": 3}, "the field 'buggy' holds a int"),
        ({"tests": []}, "p1 has no tests; give them"),
        ({"tests": [{"input": "1"}]}, "test 0: the field 'output' is missing"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        tasks(tmp_path, **changes)


def test_a_lone_bug_only_scores(tmp_path: Path) -> None:
    told, scored = halves(tasks(tmp_path), "feedback")
    assert told.mutants == () and len(scored.mutants) == 1
    assert isinstance(told.source, Script) and isinstance(scored.source, Script)
    assert len(told.source.outputs) == len(told.source.inputs) == len(told.tests) == 2
    assert set(told.tests) | set(scored.tests) == {f"test/{number}" for number in range(4)}
