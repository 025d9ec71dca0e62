"""The full published evaluation on 1 to 64 nodes, by simulation: makespan and idle cores (docs/scale.md).

Our judge, pool and rows, and Ray's scheduler and actor calls, are real; workers and engine take recorded times and do nothing
else. 420 tasks; five models, one run after the other, each with three settings and five samples, so that a task has 15
candidates at a time, as in the recording. A node has 16 cores and one replica of the model.

python -m tests.performance.scale --record tests/performance/recorded.json    # the sample benchmark, every unit of work timed
python -m tests.performance.scale [--nodes 1 2 4 ...] [--figure docs/scale.svg] [--json FILE]
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ensures.task import Setting
from evaluation import audit, diagnosis
from evaluation.judge import Judge, Question
from evaluation.pool import LocalSlot, Pool
from evaluation.rows import AUDITS, BASELINES, DIAGNOSES, VERDICTS, Shards
from evaluation.station import Station, Work
from evaluation.surveyor import Surveyor
from tests.performance.judge import AtOnce, candidate, task_of

TASKS, MODELS, CANDIDATES, MUTANTS, CORES = 420, 5, 15, 24, 16
TOKENS = 15 * 300  # of a task's completions
RATE = 2000.0  # tokens a second of one replica: an assumption, see docs/scale.md
RECORDED = Path(__file__).parent / "recorded.json"
SURVEY, CHECK, AUDIT, DIAGNOSE = "survey", "check", "audit", "diagnose"


def kind_of(work: Work) -> str:
    if isinstance(work.payload, Question):
        return CHECK
    return {audit.repeat: AUDIT, diagnosis.diagnose: DIAGNOSE}.get(work.operation, SURVEY)


class Recorder:
    """A slot that times what it is asked: (task, kind, subjects, seconds)."""

    def __init__(self, slot: LocalSlot) -> None:
        self.slot = slot
        self.units: list[tuple[str, str, int, float]] = []

    async def start(self) -> None:
        await self.slot.start()

    async def run(self, work: Work) -> Any:
        started = time.perf_counter()
        try:
            return await self.slot.run(work)
        finally:
            subjects = len(work.payload.subjects) if isinstance(work.payload, Question) else 0
            self.units.append((work.task.id, kind_of(work), subjects, time.perf_counter() - started))

    async def close(self) -> None:
        await self.slot.close()


async def record(path: Path) -> None:
    """The sample benchmark with 15 sets of the miner's a task, one worker."""
    from benchmark.sample import SampleConfig
    from construction import sample as construction
    from ensures.candidate import Candidate
    from inference.dialects import icontract
    from tests.performance.verdicts import checker, prepared

    judged_by = checker()
    with tempfile.TemporaryDirectory(prefix="ensures-measure-") as folder:
        place = Path(folder)
        work = await prepared(SampleConfig(), judged_by, icontract.parse, "*", CANDIDATES, place / "prepared")
        slot = Recorder(LocalSlot(Station(lambda task: judged_by, lambda task: construction.workspace(task, {}))))
        pool = Pool([slot])
        judge = _judge(pool, place, judged_by.version)
        for task, _, clauses in work:
            sets = [
                Candidate(f"{task.id}-{index}", task.id, "m", Setting.F2P, index, item.text, item)
                for index, item in enumerate(clauses)
            ]
            await judge.judge(task, sets)
        await pool.close()
    found: dict[str, dict[str, Any]] = defaultdict(lambda: {"batches": []})
    for task, kind, subjects, seconds in slot.units:
        if kind == CHECK and subjects > 1:
            found[task]["batches"].append([subjects, round(seconds, 4)])
        else:
            found[task][kind] = round(seconds, 4)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _judge(pool: Pool, folder: Path, version: str) -> Judge:
    surveyor = Surveyor(lambda: pool, Shards(folder / "baselines", BASELINES), lambda language: version)
    rows = (Shards(folder / "verdicts", VERDICTS), Shards(folder / "audits", AUDITS), Shards(folder / "diagnoses", DIAGNOSES))
    return Judge(lambda: pool, surveyor, rows[0], rows[1], rows[2], audit_fraction=0.02)


@dataclass
class Clock:
    """Simulated seconds pass at `speed` a second."""

    speed: float
    busy: float = 0.0
    units: int = 0
    waited: list[float] = field(default_factory=list)


def seconds_of(work: Work, recorded: dict[str, Any]) -> float:
    kind = kind_of(work)
    if kind == CHECK and len(work.payload.subjects) > 1:
        each = [seconds / subjects for subjects, seconds in recorded["batches"]]
        return statistics.fmean(each) * len(work.payload.subjects) if each else 0.1
    return float(recorded.get(kind, 0.05))


class SimulatedSlot(AtOnce):
    """One core: a call of its node's actor, which takes as long as was recorded."""

    def __init__(self, node: Any, clock: Clock, recorded: dict[str, dict[str, Any]]) -> None:
        self.node, self.clock, self.recorded = node, clock, recorded

    async def run(self, work: Work) -> Any:
        seconds = seconds_of(work, self.recorded[work.task.id])
        started = time.perf_counter()
        await self.node.work.remote(seconds / self.clock.speed)
        self.clock.busy += seconds
        self.clock.units += 1
        self.clock.waited.append(time.perf_counter() - started - seconds / self.clock.speed)
        if kind_of(work) == AUDIT:
            return []
        return await super().run(work)


class Node:
    async def work(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def simulate(nodes: int, recorded: dict[str, Any], speed: float, rate: float) -> dict[str, float]:
    """One model's run: tasks are drawn in order by the nodes' replicas, and judged as they come. `rate` 0: all are there."""
    import ray

    remote = ray.remote(num_cpus=CORES, max_concurrency=1000)(Node)
    actors = [remote.options(scheduling_strategy="SPREAD").remote() for _ in range(nodes)]
    await asyncio.gather(*(actor.work.remote(0) for actor in actors))
    drawn = random.Random(0)
    tasks = [task_of(number, MUTANTS) for number in range(TASKS)]
    names = sorted(recorded)
    like = {task.id: recorded[drawn.choice(names)] for task in tasks}
    clock = Clock(speed)
    with tempfile.TemporaryDirectory(prefix="ensures-measure-") as folder:
        slots = [SimulatedSlot(actor, clock, like) for actor in actors for _ in range(CORES)]
        pool = Pool(slots)
        judge = _judge(pool, Path(folder), "measurement")
        started = time.perf_counter()

        async def one(number: int) -> None:
            task = tasks[number]
            await asyncio.sleep((number + 1) * TOKENS / (rate * nodes) / speed if rate else 0)
            await judge.judge(task, [candidate(task, index) for index in range(CANDIDATES)])

        await asyncio.gather(*(one(number) for number in range(TASKS)))
        makespan = (time.perf_counter() - started) * speed
        await pool.close()
    for actor in actors:
        ray.kill(actor)
    return {
        "nodes": nodes,
        "makespan": makespan * MODELS,
        "drawing": TASKS * TOKENS / (rate * nodes) * MODELS if rate else 0.0,
        "busy": clock.busy * MODELS,
        "idle": 1 - clock.busy / (makespan * nodes * CORES),
        "longest task": max(_whole(item) for item in like.values()),
        "verdicts": judge.added * MODELS,
        "units": clock.units * MODELS,
        "overhead of a call, ms": 1000 * statistics.median(clock.waited),
        "speed": speed,
    }


def _whole(recorded: dict[str, Any]) -> float:
    """What one task takes at least: its batches side by side."""
    batches = [seconds for _, seconds in recorded["batches"]]
    return sum(float(recorded.get(kind, 0)) for kind in (SURVEY, CHECK, DIAGNOSE, AUDIT)) + max(batches, default=0.0)


def draw(rows: list[dict[str, float]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    nodes = sorted({row["nodes"] for row in rows})
    for label, own in (
        ("drawn and judged", [row for row in rows if row["drawing"]]),
        ("judged alone", [row for row in rows if not row["drawing"]]),
    ):
        left.loglog([row["nodes"] for row in own], [row["makespan"] / 60 for row in own], marker="o", label=label, base=2)
        right.semilogx([row["nodes"] for row in own], [row["idle"] for row in own], marker="o", label=label, base=2)
    judged = [row for row in rows if not row["drawing"]]
    ideal = [judged[0]["busy"] / number / CORES / 60 for number in nodes]
    left.loglog(nodes, ideal, linestyle=":", color="grey", label="judged, no core ever idle", base=2)
    left.set_ylabel("minutes")
    left.set_yticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
    left.legend(frameon=False, fontsize=7)
    right.set_ylabel("share of core time idle")
    right.set_ylim(0, 1)
    for axes in (left, right):
        axes.set_xlabel(f"nodes of {CORES} cores and one replica")
        axes.set_xticks(nodes, [str(int(number)) for number in nodes])
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument(
        "--wall", type=float, default=30.0, help="seconds that one simulation is to take; never faster than true"
    )
    parser.add_argument("--rate", type=float, default=RATE, help="tokens a second of one replica")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    if chosen.record:
        asyncio.run(record(chosen.record))
        return
    import ray

    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    os.environ.update(RAY_AUTH_MODE="disabled", RAY_USAGE_STATS_ENABLED="0")
    place = tempfile.mkdtemp(prefix="ens-", dir="/tmp")
    cpus = max(chosen.nodes) * CORES
    ray.init(address="local", num_cpus=cpus, include_dashboard=False, log_to_driver=False, _temp_dir=place)
    mean = statistics.fmean(_whole(item) + sum(s for _, s in item["batches"]) for item in recorded.values())
    rows = []
    for nodes in chosen.nodes:
        for rate in (chosen.rate, 0.0):
            expected = max(TASKS * mean / (nodes * CORES), TASKS * TOKENS / (rate * nodes) if rate else 0.0)
            rows.append(asyncio.run(simulate(nodes, recorded, max(1.0, expected / chosen.wall), rate)))
            print("  ".join(f"{name} {value:,.2f}" for name, value in rows[-1].items()), flush=True)
    ray.shutdown()
    if chosen.figure:
        draw(rows, chosen.figure)
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
