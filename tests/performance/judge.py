"""The judge's own cost: verdicts a second through judge, Ray and Parquet, with workers that answer at once; driver memory.

The published evaluation is 420 tasks, 75 candidates a task, 24 mutants: 756,000 verdicts, the originals aside.

python -m tests.performance.judge [--json FILE] [--tasks N] [--candidates N] [--mutants N]
"""

import argparse
import asyncio
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from ensures.candidate import Candidate, Clauses
from ensures.subject import Kind
from ensures.task import Language, Mutant, Repository, Setting, Task
from ensures.verdict import Ending, Outcome, Reason, Verdict
from evaluation.baseline import Baseline, Plain
from evaluation.judge import Judge, Question
from evaluation.pool import Pool, ended
from evaluation.rows import AUDITS, BASELINES, DIAGNOSES, VERDICTS, Shards
from evaluation.station import Work
from evaluation.surveyor import Surveyor
from jobs.ray_cluster import RayCluster, RaySlot

WORKERS = 2

HOLDS = Verdict(Outcome.HOLDS, Reason.PASSED, ending=Ending.PASSED)
KILLS = Verdict(Outcome.VIOLATED, Reason.POSTCONDITION_VIOLATED, 0, "ViolationError:", True, Ending.FAILED)


class AtOnce:
    """A station that knows everything already."""

    def run(self, work: Work) -> Any:
        if isinstance(work.payload, list):
            return [None] * len(work.payload)
        if not isinstance(work.payload, Question):
            return Baseline(work.task.tests, (), Plain(Ending.PASSED, (), 1, 0, 0.0))
        verdicts = {Kind.ORIGINAL: (HOLDS,), Kind.MUTANT: (KILLS,)}
        return [[verdicts[subject.kind]] * len(work.payload.submissions) for subject in work.payload.subjects]

    def close(self) -> None: ...


def task_of(number: int, mutants: int) -> Task:
    made = tuple(Mutant(f"def f(a):\n    return {number} + {index}", ("rule",)) for index in range(mutants))
    source = Repository(f"r{number % 121}", "0")
    return Task(f"t{number}", Language.PYTHON, source, "m.py", "f", 1, 2, "", "", "def f(a):\n    return a", ("t",), made)


def candidate(task: Task, index: int) -> Candidate:
    text = f"@icontract.ensure(lambda result: result != {index})"
    clauses = Clauses(text, (), (), (text,))
    return Candidate(f"{task.id}-{index}", task.id, f"m{index % 5}", Setting.F2P, index // 5, text, clauses)


async def measure(tasks: int, candidates: int, mutants: int, folder: Path) -> dict[str, float]:
    shards = Shards(folder / "verdicts", VERDICTS)
    pool = Pool([RaySlot(AtOnce, {}) for _ in range(WORKERS)])
    surveyor = Surveyor(lambda: pool, Shards(folder / "baselines", BASELINES), lambda language: "measurement")
    judge = Judge(lambda: pool, surveyor, shards, Shards(folder / "audits", AUDITS), Shards(folder / "diagnoses", DIAGNOSES))
    await ended(slot.start() for slot in pool.slots)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    half = 0.0
    started = time.perf_counter()
    for number in range(tasks):
        task = task_of(number, mutants)
        await judge.judge(task, [candidate(task, index) for index in range(candidates)])
        if number == tasks // 2:
            half = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    shards.flush()
    seconds = time.perf_counter() - started
    await pool.close()
    return {
        "verdicts": judge.added,
        "seconds": seconds,
        "verdicts a second": judge.added / seconds,
        "driver MB at the start": before,
        "driver MB halfway": half,
        "driver MB at the end": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tasks", type=int, default=420)
    parser.add_argument("--candidates", type=int, default=75)
    parser.add_argument("--mutants", type=int, default=24)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ensures-measure-") as folder:
        cluster = RayCluster(WORKERS, 0)
        try:
            cluster.start()
            figures = asyncio.run(measure(chosen.tasks, chosen.candidates, chosen.mutants, Path(folder)))
        finally:
            cluster.stop()
    for name, value in figures.items():
        print(f"{name:<28}{value:>14,.1f}")
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
