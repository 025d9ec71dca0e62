"""Python and Java tasks in one run: one judge, one run folder, each in its own dialect."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmark import schema
from construction.java import mutate
from tests import java_projects, projects
from tests.jobs import demo

CLAMP = """
package demo;

public final class Clamp {
    private Clamp() { }

    /**
     * The value, kept between low and high.
     */
    public static int clamp(int value, int low, int high) {
        if (value < low) {
            return low;
        }
        if (value > high) {
            return high;
        }
        return value;
    }
}
"""
TEST = """
package demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClampTest {
    @ParameterizedTest
    @CsvSource({"-1,0", "0,0", "5,5", "10,10", "11,10"})
    void clamps(int value, int wanted) {
        assertEquals(wanted, Clamp.clamp(value, 0, 10));
    }
}
"""
CANDIDATES = {
    "demo--demo--clamp": [
        "@icontract.ensure(lambda value, low, high, result: result == min(max(value, low), high))",
        "//@ ensures \\result >= low;",
        "@icontract.ensure(lambda result: result >= 0)",
    ],
    "demo--Clamp.clamp": [
        "Here you are:\n```java\n//@ ensures \\result == Math.min(Math.max(value, low), high);\n```",
        "//@ ensures \\result >= low && \\result <= high;\n//@ ensures value >= low && value <= high ==> \\result == value;",
        "//@ ensures \\result == low || \\result = high;",
    ],
}


@pytest.fixture(scope="module")
def overrides(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return written(tmp_path_factory.mktemp("both"))


def written(folder: Path) -> list[str]:
    """Two projects, a task of each, recorded candidates; the overrides of a run over them."""
    (folder / "python").mkdir()
    (folder / "java").mkdir()
    python = projects.write(folder / "python", {"demo.py": demo.MODULE, "test_demo.py": demo.TESTS})
    java = java_projects.write(
        folder / "java", {"src/main/java/demo/Clamp.java": CLAMP, "src/test/java/demo/ClampTest.java": TEST}
    )
    one = projects.task(python, "demo.py", "clamp", ("test_demo.py::test_clamp",), "demo/demo", most=6)
    two = java_projects.task(
        java, "src/main/java/demo/Clamp.java", "Clamp.clamp", ("demo.ClampTest#clamps",), name="demo/java"
    )
    texts = [mutant.implementation for mutant in mutate.mutants(two.implementation)]
    schema.write([one, java_projects.with_mutants(two, *texts)], folder / "tasks.parquet")
    with (folder / "samples.jsonl").open("w") as file:
        for task, candidates in CANDIDATES.items():
            for sample, text in enumerate(candidates):
                file.write(json.dumps({"task_id": task, "setting": "f2p", "sample": sample, "text": text}) + "\n")
    return [
        "dataset=folder",
        f"dataset.path={folder / 'tasks.parquet'}",
        f"dataset.repositories={{demo/demo: {python}, demo/java: {java}}}",
        *("model=replay", f"model.path={folder / 'samples.jsonl'}", "settings=[f2p]", "k=3", "tracker=none"),
        *(f"out={folder / 'runs'}", "name=both", "evaluation.timeout=20"),
    ]


def test_both_languages(overrides: list[str]) -> None:
    done = demo.run(*overrides, "cluster=none")
    assert done.returncode == 0, done.stderr
    folder = Path(next(o.removeprefix("out=") for o in overrides if o.startswith("out="))) / "both"
    rows = pq.read_table(folder / "verdicts").to_pylist()
    original = {(row["task_id"], row["sample"]): row["reason"] for row in rows if row["kind"] == "original"}
    assert original == {
        ("demo--demo--clamp", 0): "passed",
        ("demo--demo--clamp", 1): "syntax_error",
        ("demo--demo--clamp", 2): "passed",
        ("demo--Clamp.clamp", 0): "passed",
        ("demo--Clamp.clamp", 1): "passed",
        ("demo--Clamp.clamp", 2): "compile_error",
    }
    assert {row["language"] for row in rows} == {"python", "java"}
    kills = [row for row in rows if row["kind"] == "mutant" and row["language"] == "java"]
    assert len(kills) == 2 * 4
    assert {row["status"] for row in kills if row["sample"] == 0} == {"jml_fail"}
    metrics = json.loads((folder / "metrics.json").read_text())["rows"]
    assert {row["language"] for row in metrics} >= {"python", "java"}
    prompts = pq.read_table(folder / "prompts").to_pylist()
    assert {row["task_id"]: "JML" in row["text"] for row in prompts} == {task: "Clamp" in task for task in CANDIDATES}
    again = demo.run(*overrides, "cluster=none")
    assert "nothing was missing" in again.stdout
    alone = demo.run(*overrides, "cluster=none", "evaluation.clauses=true")
    assert alone.returncode == 0, alone.stderr
    clauses = pq.read_table(folder / "clauses").to_pylist()
    two = {
        row["candidate_id"]: row["sample"] for row in clauses if row["task_id"] == "demo--Clamp.clamp" and row["sample"] == 1
    }
    assert len(two) == 2  # its two clauses, both of which hold
    assert {row["outcome"] for row in clauses if row["candidate_id"] in two and row["subject"] == "original"} == {1}
    killed = {name: {row["subject"] for row in clauses if row["candidate_id"] == name and row["outcome"] == 0} for name in two}
    whole = {row["subject"] for row in kills if row["sample"] == 1 and row["outcome"] == 0}
    assert set.union(*killed.values()) == whole
    assert "evaluation.clauses" not in alone.stderr


def test_a_checker_that_can_not_judge_a_language_is_one_line(overrides: list[str]) -> None:
    done = demo.run(*overrides, "checker=jml", "name=other")
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert "demo--demo--clamp is a python task and checker=jml judges java" in line
