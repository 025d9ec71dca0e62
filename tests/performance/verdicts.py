"""Verdicts, ours and cold, side by side in one run on the sample: CPU and wall, agreement, memory, two workers against one.

Cold is a fresh `python -m pytest` on the covering tests for each (subject, candidate), in the same environment, without -x
and without any installation, on a random subset of the pairs. Ours is everything: all candidates on all subjects.

python -m tests.performance.verdicts [--json FILE] [--candidates N] [--pairs N] [--tasks GLOB]
"""

import argparse
import asyncio
import fnmatch
import json
import random
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark import sample
from benchmark.sample import SampleConfig
from construction import sample as construction
from containers.choose import choose
from ensures.candidate import Clauses
from ensures.subject import Subject, mutants, original
from ensures.task import Setting, Task
from ensures.verdict import Outcome
from evaluation.checker import Submission
from evaluation.pool import LocalSlot, Pool
from evaluation.python.session import IcontractChecker
from evaluation.station import Station
from inference.dialects import icontract
from inference.engine import Request
from inference.engines.invariants import Invariants, InvariantsConfig
from jobs.observer import PoolObserver
from tests import cold


@dataclass
class Measured:
    """Of one task. Seconds of CPU unless it says wall."""

    task: str
    verdicts: int = 0
    executions: int = 0
    correct: int = 0
    candidates: int = 0
    ours: float = 0.0
    wall: float = 0.0
    plain: float = 0.0
    prepare_wall: float = 0.0
    peak_mb: float = 0.0
    outcomes: dict[str, int] = field(default_factory=dict)  # "subject/candidate" -> outcome


def checker() -> IcontractChecker:
    return IcontractChecker(choose("auto", hostile=False)[0])


async def prepared(tasks_glob: str, candidates: int) -> list[tuple[Task, list[Clauses]]]:
    """The sample's tasks, and for each the miner's clauses."""
    pool = Pool([LocalSlot(Station(checker(), lambda task: construction.workspace(task, {})))])
    try:
        entries = [e for e in sample.entries(SampleConfig()) if fnmatch.fnmatchcase(e.id, tasks_glob)]
        tasks = await construction.build(entries, 25, checker().version, lambda: pool, lambda _: None)
        engine = Invariants(InvariantsConfig(), PoolObserver(lambda: pool))
        found = []
        for task in tasks:
            completions = await engine.complete(Request(task, Setting.EXECUTIONS, range(candidates), seed=1))
            parsed = [icontract.parse(completion.text) for completion in completions]
            found.append((task, [clauses for clauses in parsed if isinstance(clauses, Clauses)]))
        return found
    finally:
        await pool.close()


def tree_cpu(pid: int) -> float:
    """CPU seconds of a process and all below it, ended children included (/proc)."""
    import os

    ticks = os.sysconf("SC_CLK_TCK")
    stats: dict[int, list[str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stats[int(entry.name)] = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
    total, frontier = 0.0, {pid}
    while frontier:
        total += sum(sum(map(int, stats[p][11:15])) for p in frontier if p in stats) / ticks
        frontier = {p for p, fields in stats.items() if int(fields[1]) in frontier}
    return total


def subjects_of(task: Task) -> list[Subject]:
    return [original(task), *mutants(task)]


def ours(work: tuple[Task, list[Clauses]]) -> Measured:
    """All candidates on all subjects of one task, in one session."""
    task, candidates = work
    found = Measured(task.id, candidates=len(candidates))
    if not candidates:
        return found
    started = time.perf_counter()
    session = checker().prepare(task, construction.workspace(task, {}))
    found.prepare_wall = time.perf_counter() - started
    try:
        assert session.worker is not None
        submissions = [Submission(clauses) for clauses in candidates]
        own, below = time.process_time(), tree_cpu(session.worker.pid)
        started = time.perf_counter()
        for subject in subjects_of(task):
            for index, (verdict,) in enumerate(session.check(subject, submissions)):
                found.outcomes[f"{subject.id}/{index}"] = int(verdict.outcome)
        found.wall = time.perf_counter() - started
        assert session.worker is not None
        found.ours = time.process_time() - own + tree_cpu(session.worker.pid) - below
        found.verdicts = len(found.outcomes)
        found.executions = len(subjects_of(task))
        found.correct = sum(found.outcomes[f"original/{index}"] == 1 for index in range(len(candidates)))
        own, below = time.process_time(), tree_cpu(session.worker.pid)
        for subject in subjects_of(task):
            session.plain(subject)
        found.plain = time.process_time() - own + tree_cpu(session.worker.pid) - below
        found.peak_mb = session.peak_kb / 1024
    finally:
        session.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--candidates", type=int, default=15)
    parser.add_argument("--pairs", type=int, default=120, help="pairs judged the cold way")
    parser.add_argument("--tasks", default="*")
    chosen = parser.parse_args()
    work = asyncio.run(prepared(chosen.tasks, chosen.candidates))

    started = time.perf_counter()
    with ProcessPoolExecutor(1) as one:
        results = list(one.map(ours, work))
    wall_one = time.perf_counter() - started
    started = time.perf_counter()
    with ProcessPoolExecutor(2) as two:
        list(two.map(ours, sorted(work, key=lambda item: -next(r.wall for r in results if r.task == item[0].id))))
    wall_two = time.perf_counter() - started

    pairs = [
        (task, clauses, result, s, i)
        for (task, clauses), result in zip(work, results, strict=True)
        for s in subjects_of(task)
        for i in range(len(clauses))
    ]
    drawn = random.Random(1).sample(pairs, min(chosen.pairs, len(pairs)))
    cold_cpu, cold_wall, disagreements = [], [], []
    per_task = {result.task: result for result in results}
    ours_same = []
    for task, clauses, result, subject, index in drawn:
        found = cold.run(task, construction.workspace(task, {}), subject.payload, clauses[index], 120)
        mine = result.outcomes[f"{subject.id}/{index}"]
        cold_cpu.append(found.cpu)
        cold_wall.append(found.seconds)
        ours_same.append(per_task[task.id].ours / per_task[task.id].verdicts)
        if found.outcome != Outcome(mine):
            disagreements.append(
                {
                    "task": task.id,
                    "subject": subject.id,
                    "candidate": clauses[index].text,
                    "cold": int(found.outcome),
                    "ours": mine,
                    "said": found.said[-600:],
                }
            )
    verdicts, executions = sum(r.verdicts for r in results), sum(r.executions for r in results)
    cpu = sum(r.ours for r in results)
    per_execution = [per_task[task.id].ours / per_task[task.id].executions for task, *_ in drawn]
    figures: dict[str, Any] = {
        "tasks": len(work),
        "verdicts": verdicts,
        "subject executions": executions,
        "share of correct candidates": sum(r.correct for r in results) / max(1, sum(r.candidates for r in results)),
        "ours, CPU ms per verdict": 1000 * cpu / verdicts,
        "ours, CPU ms per subject execution": 1000 * cpu / executions,
        "ours, wall ms per verdict": 1000 * sum(r.wall for r in results) / verdicts,
        "plain tests, CPU ms per subject (no candidates)": 1000 * sum(r.plain for r in results) / executions,
        "ours over plain": cpu / sum(r.plain for r in results),
        "cold pairs": len(drawn),
        "cold, CPU ms per verdict (mean)": 1000 * statistics.mean(cold_cpu),
        "cold, CPU ms per verdict (median)": 1000 * statistics.median(cold_cpu),
        "ratio of CPU per verdict, same pairs": sum(cold_cpu) / sum(ours_same),
        "ratio of CPU per subject execution, same pairs": sum(cold_cpu) / sum(per_execution),
        "agreement": 1 - len(disagreements) / max(1, len(drawn)),
        "preparation, wall s a task (median)": statistics.median(r.prepare_wall for r in results),
        "one worker over two, wall": wall_one / wall_two,
        "peak MB of an execution": max(r.peak_mb for r in results),
    }
    for name, value in figures.items():
        print(f"{name:<52}{value:>12,.3f}" if isinstance(value, float) else f"{name:<52}{value:>12,}")
    for item in disagreements:
        print(json.dumps(item, indent=1), file=sys.stderr)
    if chosen.json:
        chosen.json.write_text(json.dumps({**figures, "disagreements": disagreements}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
