"""Verdicts for Java, ours and cold, side by side in one run on the Java sample: CPU and wall, agreement, memory.

Cold is `javac` and a fresh `java` that runs the same covering tests for each (subject, candidate), on a random subset of the
pairs. Ours is everything: all candidates on all subjects, compiling included.

python -m tests.performance.verdicts language=java [--json FILE] [--candidates N] [--pairs N] [--tasks GLOB]
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.sample import JavaSampleConfig
from construction import sample as construction
from containers.backends.process import PlainProcess
from containers.choose import AutoConfig, choose
from ensures.verdict import Outcome
from evaluation.checker import Submission
from evaluation.java import cold
from evaluation.java.session import JmlChecker
from inference.dialects import jml
from tests.performance.verdicts import Clock, Ready, prepared, subjects_of, tree_memory


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
    plain: float = 0.0  # every subject once without candidates
    first: float = 0.0  # wall from nothing but a prepared project to the first verdict
    outcomes: dict[str, int] = field(default_factory=dict)
    jvm_mb: float = 0.0  # most of the JVM, by itself
    worker_mb: float = 0.0  # the supervisor and the JVM at the end


def checker() -> JmlChecker:
    return JmlChecker(choose(AutoConfig(), hostile=False)[0])


def ours(work: Ready) -> Measured:
    task, baseline, candidates = work
    found = Measured(task.id, candidates=len(candidates))
    if not candidates:
        return found
    submissions = [Submission(clauses) for clauses in candidates]
    subjects = subjects_of(task)
    started = time.perf_counter()
    session = checker().prepare(task, construction.workspace(task, {}), baseline)
    try:
        session.start()
        clock = Clock(session)
        session.check(subjects[0], submissions)
        found.first = time.perf_counter() - started
        session.executions = 0
        clock = Clock(session)  # with a JVM that runs, whose compiler is not yet warm for these
        session._builds.clear()
        for subject in subjects:
            for index, (verdict,) in enumerate(session.check(subject, submissions)):
                found.outcomes[f"{subject.id}/{index}"] = int(verdict.outcome)
                found.shared += verdict.shared
        found.wall, found.ours = clock.wall, clock.cpu
        found.executions = session.executions
        found.verdicts, found.subjects = len(found.outcomes), len(subjects)
        found.correct = sum(found.outcomes[f"original/{index}"] == 1 for index in range(len(candidates)))
        session.bare(subjects[0])
        clock = Clock(session)
        for subject in subjects:
            session.bare(subject)
        found.plain = clock.cpu
        found.jvm_mb, found.worker_mb = session.peak_kb / 1024, tree_memory(clock.pid)
    finally:
        session.close()
    return found


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--candidates", type=int, default=15)
    parser.add_argument("--pairs", type=int, default=120, help="pairs judged the cold way")
    parser.add_argument("--tasks", default="*")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ensures-measure-") as folder:
        wanted = (JavaSampleConfig(), checker(), jml.parse, chosen.tasks, chosen.candidates)
        found = asyncio.run(prepared(*wanted, Path(folder)))
    work = [(baseline.applied(task), baseline, clauses) for task, baseline, clauses in found]
    results = [ours(item) for item in work]
    pairs = [(item, result, s, i) for item, result in zip(work, results, strict=True) for s in subjects_of(item[0])
             for i in range(len(item[2]))]  # fmt: skip
    drawn = random.Random(1).sample(pairs, min(chosen.pairs, len(pairs)))
    cold_cpu, per_verdict, per_execution, disagreements = [], [], [], []
    opened: dict[str, Any] = {}
    plainly = JmlChecker(PlainProcess(), seconds=120)
    for (task, baseline, clauses), result, subject, index in drawn:
        if task.id not in opened:
            opened[task.id] = plainly.prepare(task, construction.workspace(task, {}), baseline)
        found = cold.run(opened[task.id], subject, Submission(clauses[index]))
        mine = result.outcomes[f"{subject.id}/{index}"]
        cold_cpu.append(found.cpu)
        per_verdict.append(result.ours / result.verdicts)
        per_execution.append(result.ours / result.subjects)
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
    for session in opened.values():
        session.close()
    verdicts, executions = sum(r.verdicts for r in results), sum(r.subjects for r in results)
    cpu = sum(r.ours for r in results)
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
        "cold pairs": len(drawn),
        "cold, CPU ms per verdict (mean)": 1000 * statistics.mean(cold_cpu),
        "cold, CPU ms per verdict (median)": 1000 * statistics.median(cold_cpu),
        "ratio of CPU per verdict, same pairs": sum(cold_cpu) / sum(per_verdict),
        "ratio of CPU per subject execution, same pairs": sum(cold_cpu) / sum(per_execution),
        "agreement": 1 - len(disagreements) / max(1, len(drawn)),
        "first verdicts of a prepared project, wall s (median)": statistics.median(r.first for r in results if r.first),
        "first verdicts of a prepared project, wall s (most)": max(r.first for r in results),
        "MB of a JVM at its peak (most)": max(r.jvm_mb for r in results),
        "MB of a worker (most)": max(r.worker_mb for r in results),
    }
    for name, value in figures.items():
        print(f"{name:<56}{value:>12,.3f}" if isinstance(value, float) else f"{name:<56}{value:>12,}")
    for item in disagreements:
        print(json.dumps(item, indent=1), file=sys.stderr)
    if chosen.json:
        chosen.json.write_text(json.dumps({**figures, "disagreements": disagreements}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
