"""The published Java task: the published status of every sample and of every mutant.

The repository is a stand-in: the published method, and tests of ours that bear the published names.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark import postcondbench
from benchmark.postcondbench import PostcondBenchConfig
from containers.choose import AutoConfig, choose
from ensures.subject import original
from ensures.task import Task
from evaluation.checker import Submission
from evaluation.java.session import JmlChecker, JmlSession
from inference.dialects import jml
from tests import java_projects

FLOOR = """
package com.thealgorithms.maths;

public final class Floor {

    private Floor() {
    }
"""
TESTS = {
    "testFloorWholeNumber": "assertEquals(0, Floor.floor(0)); assertEquals(-1, Floor.floor(-1)); "
    "assertEquals(42, Floor.floor(42));",
    "testFloorDoubleNumber": "assertEquals(0, Floor.floor(0.1)); assertEquals(1, Floor.floor(1.9)); "
    "assertEquals(-2, Floor.floor(-1.1)); assertEquals(-43, Floor.floor(-42.7));",
    "testFloorNegativeZero": "assertEquals(-0.0, Floor.floor(-0.0));",
}


def stand_in(folder: Path, task: Task) -> Path:
    head = FLOOR.lstrip("\n")
    assert head.count("\n") == task.start_line - 2
    source = f"{head}\n{task.implementation}\n}}\n"
    names: dict[str, list[str]] = {}
    for test in task.tests:
        owner, _, name = test.partition("#")
        names.setdefault(owner, []).append(name)
    files = {task.file.removeprefix("./"): source}
    for owner, tests in names.items():
        package, _, simple = owner.rpartition(".")
        body = "\n".join(
            f"    @Test void {name}() {{ {TESTS.get(name, 'assertEquals(2, Floor.floor(2.5));')} }}" for name in tests
        )
        files[f"src/test/java/{owner.replace('.', '/')}.java"] = (
            f"package {package};\n\nimport static org.junit.jupiter.api.Assertions.assertEquals;\n"
            f"import com.thealgorithms.maths.Floor;\nimport org.junit.jupiter.api.Test;\n\nclass {simple} {{\n{body}\n}}\n"
        )
    return java_projects.write(folder, files)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Task, JmlSession]]:
    data = java_projects.DATA / "postcondbench"
    if not data.is_dir():
        pytest.skip("published data is not beside the checkout")
    config = PostcondBenchConfig(path=str(data), language="java")
    (task,) = postcondbench.load(config).tasks
    folder = stand_in(tmp_path_factory.mktemp("floor"), task)
    session = JmlChecker(choose(AutoConfig(), hostile=False)[0]).prepare(task, java_projects.workspace(folder, task))
    yield task, session
    session.close()


def test_every_published_status(opened: tuple[Task, JmlSession], shared_data: Path) -> None:
    task, session = opened
    baseline = session.survey(task)
    assert not baseline.excluded
    assert not baseline.left_out
    samples = list(postcondbench.published_samples(str(shared_data / "postcondbench" / "TheAlgorithms--Java--floor.json")))
    assert len(samples) == 2
    submissions = []
    for sample in samples:
        clauses = jml.parse(sample["text"])
        assert not hasattr(clauses, "reason"), clauses
        submissions.append(Submission(clauses))
    on_original = session.check(original(task), submissions)
    assert [verdicts[0].status for verdicts in on_original] == [sample["published"] for sample in samples]
    for mutant in baseline.counted(task):
        found = session.check(mutant, submissions)
        assert [verdicts[0].status for verdicts in found] == [sample["kills"][mutant.id] for sample in samples]


def test_the_published_reference_kills_every_mutant(opened: tuple[Task, JmlSession], shared_data: Path) -> None:
    task, session = opened
    record = json.loads((shared_data / "postcondbench" / "TheAlgorithms--Java--floor.json").read_text())
    reference = java_projects.submission(record["ref_postcond"])
    assert session.check(original(task), [reference])[0][0].status == "passed"
    kills = [session.check(mutant, [reference])[0][0].status for mutant in session.baseline.counted(task)]
    assert kills == record["ref_mutant_kill"]


def test_our_operators_make_the_published_rule_mutants(opened: tuple[Task, JmlSession]) -> None:
    """All seven of them; what we make beside them no test tells from the original."""
    from construction import mine

    task, session = opened
    published = {mutant.implementation for mutant in task.mutants if "rule" in mutant.families}
    made = mine.with_mutants(task, session, 0)
    assert {mutant.implementation for mutant in made.mutants} == published
