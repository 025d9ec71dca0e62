"""Verdicts, ours and cold, side by side in one run on the sample: CPU and wall, agreement, memory, two workers against one.

Cold is a fresh `python -m pytest` on the covering tests for each (subject, candidate), in the same environment, without -x
and without any installation, on a random subset of the pairs. Ours is everything: all candidates on all subjects.

python -m tests.performance.verdicts [language=java] [--json FILE] [--candidates N] [--pairs N] [--tasks GLOB]
"""

import argparse
import asyncio
import fnmatch
import functools
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark import sample
from benchmark.sample import SampleConfig
from construction import sample as construction
from containers.backends.process import PlainProcess
from containers.choose import AutoConfig, choose
from ensures.candidate import Artifact, Clauses
from ensures.subject import Subject, mutants, original
from ensures.task import Setting, Task
from ensures.verdict import Outcome
from evaluation import audit
from evaluation.baseline import Baseline
from evaluation.checker import Checker, Session, Submission
from evaluation.java.session import JmlSession
from evaluation.pool import LocalSlot, Pool
from evaluation.python import cold
from evaluation.python.session import IcontractChecker, IcontractSession
from evaluation.rows import BASELINES, Shards
from evaluation.station import Station, Work
from evaluation.surveyor import Surveyor
from inference.dialects import icontract
from inference.engine import Request
from inference.engines.invariants import Invariants, InvariantsConfig
from jobs.observer import PoolObserver


@dataclass
class Measured:
    """Of one task. Seconds of CPU unless it says wall."""

    task: str
    verdicts: int = 0
    subjects: int = 0
    executions: int = 0
    shared: int = 0
    correct: int = 0
    candidates: int = 0
    ours: float = 0.0
    wall: float = 0.0
    plain: float = 0.0  # every subject once without candidates, start to end
    tests: float = 0.0  # of it, in the tests themselves
    forks: float = 0.0  # as many executions of nothing
    conditions: float = 0.0  # in the candidates' conditions and snapshots
    audit: float = 0.0
    prepare_wall: float = 0.0
    outcomes: dict[str, int] = field(default_factory=dict)  # "subject/candidate" -> outcome
    peak_mb: float = 0.0  # of an execution
    worker_mb: float = 0.0  # of the worker at rest, all its processes

    @property
    def floor(self) -> float:
        return self.forks + self.tests + self.conditions


def checker() -> IcontractChecker:
    return IcontractChecker(choose(AutoConfig(), hostile=False)[0])


# a task, and what is to be judged on it
Ready = tuple[Task, Baseline, list[Clauses]]


async def prepared(
    config: SampleConfig, judged_by: Checker, parse: Callable[[str], Artifact], glob: str, candidates: int, folder: Path
) -> list[Ready]:
    """The sample's tasks, and for each its baseline and the miner's clauses."""
    pool = Pool([LocalSlot(Station(lambda task: judged_by, lambda task: construction.workspace(task, {})))])
    surveyor = Surveyor(lambda: pool, Shards(folder, BASELINES), lambda language: judged_by.version)
    try:
        entries = [e for e in sample.entries(config) if fnmatch.fnmatchcase(e.id, glob)]
        tasks = await construction.build(
            entries, 25, lambda language: judged_by.version, lambda: pool, surveyor.keep, lambda _: None, print
        )
        engine = Invariants(InvariantsConfig(), PoolObserver(lambda: pool, surveyor.of))
        found = []
        for task in tasks:
            completions = await engine.complete(Request(task, Setting.EXECUTIONS, range(candidates), seed=1))
            parsed = [parse(completion.text) for completion in completions]
            clauses = [item for item in parsed if isinstance(item, Clauses)]
            found.append((task, await surveyor.of(task), clauses))
        return found
    finally:
        await pool.close()


def tree_cpu(pid: int) -> float:
    """CPU seconds of a process and all below it, ended children included (/proc)."""
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


class Clock:
    """CPU seconds of this process and of a session's worker, and wall time, since it was made."""

    def __init__(self, session: "IcontractSession | JmlSession") -> None:
        assert session.worker is not None
        self.pid = session.worker.pid
        self.own, self.below, self.began = time.process_time(), tree_cpu(self.pid), time.perf_counter()

    @property
    def cpu(self) -> float:
        return time.process_time() - self.own + tree_cpu(self.pid) - self.below

    @property
    def wall(self) -> float:
        return time.perf_counter() - self.began


def ours(work: Ready) -> Measured:
    """All candidates on all subjects of one task, in one session; then what no way of doing it could save."""
    task, baseline, candidates = work
    found = Measured(task.id, candidates=len(candidates))
    if not candidates:
        return found
    started = time.perf_counter()
    session = checker().prepare(task, construction.workspace(task, {}), baseline)
    session.start()
    found.prepare_wall = time.perf_counter() - started
    try:
        submissions = [Submission(clauses) for clauses in candidates]
        subjects = subjects_of(task)
        clock = Clock(session)
        for subject in subjects:
            for index, (verdict,) in enumerate(session.check(subject, submissions)):
                found.outcomes[f"{subject.id}/{index}"] = int(verdict.outcome)
                found.shared += verdict.shared
        found.wall, found.ours = clock.wall, clock.cpu
        found.conditions, found.executions = session.conditions, session.executions
        found.verdicts, found.subjects = len(found.outcomes), len(subjects)
        found.correct = sum(found.outcomes[f"original/{index}"] == 1 for index in range(len(candidates)))
        clock = Clock(session)
        plains = [session.execute(subject, whole=True) for subject in subjects]
        found.plain = clock.cpu
        found.tests = sum(answer.end.get("cpu", 0.0) for answer in plains)
        clock = Clock(session)
        for _ in subjects:
            session.execute(subjects[0], bare=True)
        found.forks = clock.cpu
        found.peak_mb = session.peak_kb / 1024
        found.worker_mb = tree_memory(clock.pid)
        clock = Clock(session)
        for item in audit_pairs(task, submissions):
            session.alone(*item)
        found.audit = clock.cpu
    finally:
        session.close()
    return found


def audit_pairs(task: Task, submissions: list[Submission]) -> list[tuple[Subject, Submission]]:
    """As many pairs as the audit would draw."""
    subjects = subjects_of(task)
    wanted = min(0.02 * len(subjects) * len(submissions), audit.MOST * len(subjects))
    pairs = [(subject, submission) for subject in subjects for submission in submissions]
    return random.Random(task.id).sample(pairs, max(1, round(wanted)))


def tree_memory(pid: int) -> float:
    """MiB of a process and all below it, shared pages counted once for each in proportion (/proc/PID/smaps_rollup)."""
    total, frontier = 0, [pid]
    while frontier:
        current = frontier.pop()
        try:
            for line in Path(f"/proc/{current}/smaps_rollup").read_text().splitlines():
                total += int(line.split()[1]) if line.startswith("Pss:") else 0
            for thread in Path(f"/proc/{current}/task").iterdir():
                frontier += map(int, (thread / "children").read_text().split())
        except OSError:
            continue
    return total / 1024


def baseline_cpu(work: Ready) -> float:
    """CPU seconds to find the task's baseline: three hash seeds, each mutant once, the oracle."""
    task, _, _ = work
    before = os.times()
    session = checker().prepare(task, construction.workspace(task, {}))
    try:
        session.survey(task)
    finally:
        session.close()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])


@functools.cache
def station() -> Station:
    """Of this process, as in a run's worker."""
    return Station(lambda task: checker(), lambda task: construction.workspace(task, {}))


def judged(work: Ready) -> float:
    """What a run's worker does for a task and nothing else: opens it, all candidates on all subjects. Wall seconds."""
    task, baseline, candidates = work
    started = time.perf_counter()
    station().run(Work(task, all_verdicts, candidates, 0.0, baseline))
    return time.perf_counter() - started


def all_verdicts(session: Session, task: Task, candidates: list[Clauses]) -> None:
    for subject in subjects_of(task):
        session.check(subject, [Submission(clauses) for clauses in candidates])


def timed(workers: int, work: list[Any], do: Callable[[Any], float]) -> tuple[list[float], float]:
    started = time.perf_counter()
    with ProcessPoolExecutor(workers, initializer=station) as pool:
        found = list(pool.map(do, work))
    return found, time.perf_counter() - started


def busy(_: int) -> float:
    started = time.perf_counter()
    for _ in range(500_000_000):
        pass
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--candidates", type=int, default=15)
    parser.add_argument("--pairs", type=int, default=120, help="pairs judged the cold way")
    parser.add_argument("--tasks", default="*")
    parser.add_argument("--rounds", type=int, default=3, help="of all tasks by one worker and by two")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ensures-measure-") as folder:
        wanted = (SampleConfig(), checker(), icontract.parse, chosen.tasks, chosen.candidates)
        work = asyncio.run(prepared(*wanted, Path(folder)))

    results = [ours(item) for item in work]
    scaling, possible = [], []
    judging = [item for item in work if item[2]]
    for _ in range(chosen.rounds):
        each, wall_one = timed(1, judging, judged)
        longest_first = [item for _, item in sorted(zip(each, judging, strict=True), key=lambda pair: -pair[0])]
        scaling.append(wall_one / timed(2, longest_first, judged)[1])
        possible.append(2 * timed(1, [0], busy)[1] / timed(2, [0, 1], busy)[1])

    pairs = [
        (task, clauses, result, s, i)
        for (task, _, clauses), result in zip(work, results, strict=True)
        for s in subjects_of(task)
        for i in range(len(clauses))
    ]
    drawn = random.Random(1).sample(pairs, min(chosen.pairs, len(pairs)))
    cold_cpu, cold_wall, disagreements = [], [], []
    per_task = {result.task: result for result in results}
    ours_same = []
    for task, clauses, result, subject, index in drawn:
        place = (PlainProcess(), task, construction.workspace(task, {}))
        found = cold.run(*place, subject.payload, clauses[index], task.tests, 120)
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
    baselines = [baseline_cpu(item) for item in random.Random(2).sample(work, min(10, len(work)))]
    verdicts, executions = sum(r.verdicts for r in results), sum(r.subjects for r in results)
    cpu = sum(r.ours for r in results)
    per_execution = [per_task[task.id].ours / per_task[task.id].subjects for task, *_ in drawn]
    figures: dict[str, Any] = {
        "tasks": len(work),
        "verdicts": verdicts,
        "subjects": executions,
        "executions": sum(r.executions for r in results),
        "share of verdicts from shared executions": sum(r.shared for r in results) / verdicts,
        "share of correct candidates": sum(r.correct for r in results) / max(1, sum(r.candidates for r in results)),
        "ours, CPU ms per verdict": 1000 * cpu / verdicts,
        "ours, CPU ms per subject execution": 1000 * cpu / executions,
        "ours, wall ms per verdict": 1000 * sum(r.wall for r in results) / verdicts,
        "plain tests, CPU ms per subject (no candidates)": 1000 * sum(r.plain for r in results) / executions,
        "ours over plain": cpu / sum(r.plain for r in results),
        "floor, CPU ms per subject: bare fork": 1000 * sum(r.forks for r in results) / executions,
        "floor, CPU ms per subject: tests once": 1000 * sum(r.tests for r in results) / executions,
        "floor, CPU ms per subject: conditions": 1000 * sum(r.conditions for r in results) / executions,
        "ours over the floor": cpu / sum(r.floor for r in results),
        "ours over the floor (median of tasks)": statistics.median(r.ours / r.floor for r in results if r.floor),
        "audit, CPU over ours": sum(r.audit for r in results) / cpu,
        "baseline, CPU s a task (median)": statistics.median(baselines),
        "cold pairs": len(drawn),
        "cold, CPU ms per verdict (mean)": 1000 * statistics.mean(cold_cpu),
        "cold, CPU ms per verdict (median)": 1000 * statistics.median(cold_cpu),
        "ratio of CPU per verdict, same pairs": sum(cold_cpu) / sum(ours_same),
        "ratio of CPU per subject execution, same pairs": sum(cold_cpu) / sum(per_execution),
        "agreement": 1 - len(disagreements) / max(1, len(drawn)),
        "opening a session, wall s a task (median)": statistics.median(r.prepare_wall for r in results),
        f"one worker over two, wall (median of {len(scaling)})": statistics.median(scaling),
        "the same of a busy loop: what the machine gives": statistics.median(possible),
        "peak MB of an execution": max(r.peak_mb for r in results),
        "MB of a worker (most)": max(r.worker_mb for r in results),
    }
    for name, value in figures.items():
        print(f"{name:<52}{value:>12,.3f}" if isinstance(value, float) else f"{name:<52}{value:>12,}")
    for item in disagreements:
        print(json.dumps(item, indent=1), file=sys.stderr)
    if chosen.json:
        chosen.json.write_text(json.dumps({**figures, "disagreements": disagreements}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if "language=java" in sys.argv:
        from tests.performance import verdicts_java

        verdicts_java.main([argument for argument in sys.argv[1:] if argument != "language=java"])
    else:
        main()
