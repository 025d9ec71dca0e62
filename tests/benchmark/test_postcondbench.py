"""The published format, and its samples with the verdicts that were published for them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark import postcondbench
from benchmark.postcondbench import PostcondBenchConfig
from ensures.errors import InputError
from ensures.subject import mutants, original
from ensures.task import Language, Task
from ensures.verdict import published_status
from evaluation.python.session import IcontractSession
from tests import projects

# Stands in for keon/algorithms at 5b63e906: the published method and the test that covers it.
UPSTREAM_TEST = """
    import unittest

    from algorithms.sort.pancake_sort import pancake_sort


    def is_sorted(array):
        return all(array[i] <= array[i + 1] for i in range(len(array) - 1))


    class TestSuite(unittest.TestCase):
        def test_pancake_sort(self):
            self.assertTrue(is_sorted(pancake_sort([1, 3, 2, 5, 65, 23, 57, 1232])))
"""


def pancake(shared_data: Path, folder: Path) -> Task:
    config = PostcondBenchConfig(path=str(shared_data / "postcondbench"), language="python")
    (task,) = postcondbench.load(config).tasks
    projects.write(
        folder,
        {"algorithms/__init__.py": "", "algorithms/sort/__init__.py": "", "tests/test_sort.py": UPSTREAM_TEST},
    )
    (folder / "algorithms/sort/pancake_sort.py").write_text(task.implementation + "\n", encoding="utf-8")
    return task


def test_both_languages_are_read(shared_data: Path) -> None:
    tasks = postcondbench.load(PostcondBenchConfig(path=str(shared_data / "postcondbench"))).tasks
    python, java = sorted(tasks, key=lambda task: task.language, reverse=True)
    assert (python.language, java.language) == (Language.PYTHON, Language.JAVA)
    assert (len(python.mutants), len(java.mutants)) == (27, 14)
    assert java.mutants[1].families == ("rule", "llm")
    assert python.signature == "def pancake_sort(arr):"
    assert python.comment.startswith("Pancake_sort")
    assert java.signature == "public static double floor(double number)"
    assert all(mutant.excluded is None for task in tasks for mutant in task.mutants)


def test_published_statuses(shared_data: Path, tmp_path: Path, prepare: Callable[[Path, Task], IcontractSession]) -> None:
    """The seven samples fail on the original; the reference passes and kills all 27 mutants."""
    task = pancake(shared_data, tmp_path)
    session = prepare(tmp_path, task)
    samples = [s for s in postcondbench.published_samples(str(shared_data / "postcondbench")) if s["task_id"] == task.id]
    assert len(samples) == 7
    for sample in samples:
        ((verdict,),) = session.check(original(task), [projects.submission(sample["text"])])
        ending = verdict.ending.value if verdict.ending else None
        assert published_status(verdict.reason, ending, verdict.surfaced, verdict.message) == sample["published"]
    assert task.reference is not None
    reference = projects.submission(task.reference)
    statuses = []
    for subject in [original(task), *mutants(task)]:
        ((verdict,),) = session.check(subject, [reference])
        ending = verdict.ending.value if verdict.ending else None
        statuses.append(published_status(verdict.reason, ending, verdict.surfaced, verdict.message))
    assert statuses == ["passed"] + ["icontract_fail"] * 27


def test_a_broken_record_names_file_and_field(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"content": "def f(): pass", "repo": {"language": "python"}}))
    with pytest.raises(InputError, match=r"a\.json: the field 'mutants' is missing"):
        postcondbench.load(PostcondBenchConfig(path=str(tmp_path)))
    found = postcondbench.load(PostcondBenchConfig(path=str(tmp_path), skip_invalid=True))
    assert not found.tasks
    assert len(found.skipped) == 1


def test_mutants_that_the_reference_does_not_kill_are_excluded(shared_data: Path, tmp_path: Path) -> None:
    source = next((shared_data / "postcondbench").glob("*pancake*"))
    record = json.loads(source.read_text())
    record["ref_mutant_kill"][3] = "passed"
    (tmp_path / "one.json").write_text(json.dumps(record))
    (task,) = postcondbench.load(PostcondBenchConfig(path=str(tmp_path))).tasks
    assert task.mutants[3].excluded == "the reference does not kill it (passed)"
    assert len(list(mutants(task))) == 26
