"""A run that needs no package index: three methods of a local project, recorded candidates of every kind."""

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmark import schema
from tests import projects

ROOT = Path(__file__).resolve().parents[2]

MODULE = '''
    def double(values):
        """Every value twice as large."""
        found = []
        for value in values:
            found.append(value * 2)
        return found


    def clamp(value, low=0, high=10):
        """The value, kept between low and high."""
        if value < low:
            return low
        if value > high:
            return high
        return value


    class Counter:
        """Counts."""

        def __init__(self):
            self.count = 0

        def add(self, step=1):
            """Adds a step and returns the count."""
            self.count += step
            return self.count
'''
TESTS = """
    from demo import Counter, clamp, double


    def test_double():
        assert double([1, 2]) == [2, 4]
        assert double([]) == []


    def test_clamp():
        assert [clamp(value) for value in (-1, 0, 5, 10, 11)] == [0, 0, 5, 10, 10]


    def test_counter():
        counter = Counter()
        assert [counter.add(), counter.add(2), counter.add(-1)] == [1, 3, 2]
"""
CANDIDATES = {
    "double": [
        "@icontract.ensure(lambda values, result: result == [v * 2 for v in values])",
        "@icontract.ensure(lambda values, result: len(values) == len(result))",
        "```python\n@icontract.ensure(lambda values, result: result == values)\n```",
    ],
    "clamp": [
        "@icontract.ensure(lambda value, low, high, result: result == min(max(value, low), high))",
        "@icontract.ensure(lambda result: unknown(result))",
        "I would rather not.",
    ],
    "Counter.add": [
        "@icontract.snapshot(lambda self: self.count, name='c')\n"
        "@icontract.ensure(lambda self, step, result, OLD: result == self.count == OLD.c + step)",
        "@icontract.ensure(lambda self, result: result == self.count)",
        "@icontract.ensure(lambda self: __import__('os').getpid() > 0)",
    ],
}
TEST_OF = {"double": "double", "clamp": "clamp", "Counter.add": "counter"}
SAMPLES = 3


def write(folder: Path, pause: float = 0.0) -> list[str]:
    """The project, its tasks, the recorded candidates; the overrides of a run over them. `pause`: seconds of every test."""
    project = folder / "project"
    project.mkdir(parents=True)
    folder.chmod(0o755)
    projects.write(
        project,
        {
            "demo.py": MODULE,
            "test_demo.py": TESTS + f"\n\n    def setup_function():\n        __import__('time').sleep({pause})\n",
        },
    )
    made = [
        projects.task(project, "demo.py", name, (f"test_demo.py::test_{TEST_OF[name]}",), "demo/demo", most=6)
        for name in CANDIDATES
    ]
    schema.write(made, folder / "tasks.parquet")
    with (folder / "samples.jsonl").open("w") as file:
        for task, texts in zip(made, CANDIDATES.values(), strict=True):
            for setting in ("c2p", "f2p"):
                for sample, text in enumerate(texts):
                    record = {"task_id": task.id, "setting": setting, "sample": sample, "text": text}
                    file.write(json.dumps(record) + "\n")
    return [
        "dataset=folder",
        f"dataset.path={folder / 'tasks.parquet'}",
        f"dataset.repositories={{demo/demo: {project}}}",
        "model=replay",
        f"model.path={folder / 'samples.jsonl'}",
        "settings=[c2p,f2p]",
        f"k={SAMPLES}",
        f"out={folder / 'runs'}",
        "tracker=none",
        "evaluation.timeout=20",
    ]


def command(*overrides: str) -> list[str]:
    return [sys.executable, "-m", "jobs.run", *overrides]


def run(*overrides: str, seconds: float = 300) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "WANDB_MODE": "offline"}
    return subprocess.run(
        command(*overrides),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=seconds,
        env=environment,
        stdin=subprocess.DEVNULL,
    )


def rows(folder: Path) -> list[dict[str, object]]:
    """The verdict rows and completions of a run, columns of time aside, in an order of their own."""
    from evaluation.rows import COMPLETIONS, VERDICTS, Shards

    found = []
    for name, kind in (("verdicts", VERDICTS), ("completions", COMPLETIONS)):
        shards = Shards(folder / name, kind)
        keys = []
        for table in shards.batches():
            for row in table.to_pylist():
                keys.append(row["key"])
                found.append({key: value for key, value in row.items() if key != "seconds"})
        assert len(keys) == len(set(keys)), "a row is doubled"
    return sorted(found, key=lambda row: str(row["key"]))
