"""Multi-turn strategies with an engine that answers at once: what they add to the judge's own time, and the driver's memory.

Small programs with a few mutants each; exploratory conversations of mu turns, every second one a submission, none of which
ever reaches tau. Beside them the same artifacts straight to the judge, one after the other for each task, in a fresh run.
Medians of rounds.

python -m tests.performance.strategies [--json FILE] [--tasks N] [--mu N] [--rounds N]
"""

import argparse
import asyncio
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from ensures.task import Setting, Task
from inference.strategy import Assignment
from jobs import config as configuration
from jobs.pipeline import Pipeline
from jobs.progress import Display
from jobs.run_folder import RunFolder
from tests import programs
from tests.jobs.conversations import PerTask, probe, submit


def written(folder: Path, count: int) -> list[str]:
    """A benchmark of that many programs; the overrides of a run over it."""
    records = [{**programs.SMALLEST, "task_id": f"HumanEval/{number}"} for number in range(count)]
    path, mutants = programs.write(folder, *records)
    lines = [
        json.dumps({"task_id": record["task_id"], "response_num": number, "solution": text, "compiles": True})
        for record in records
        for number, text in enumerate(text for name, text in programs.MUTANTS[1:4] if name == "HumanEval/900")
    ]
    mutants.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [
        *("dataset=humaneval", f"dataset.path={path}", f"dataset.mutants_path={mutants}", "settings=[f2p]", "k=1"),
        *("model=openai-compatible", "model.served=s", "model.base_url=http://127.0.0.1:9/v1", f"out={folder / 'runs'}"),
        *("tracker=none", "evaluation.audit_fraction=0"),
    ]


def texts(mu: int) -> list[str]:
    return [f"assert len(return_value) <= {10 + number}" for number in range(mu)]


def piped(overrides: list[str], engine: PerTask, work: Callable[[Pipeline], Awaitable[None]]) -> tuple[float, float]:
    """Seconds, and the driver's peak memory in MB."""
    config = configuration.load(overrides)
    folder = RunFolder(Path(config.out) / config.name, configuration.plain(config))

    async def go() -> float:
        pipeline = Pipeline(config, folder, Display())
        pipeline.engine = pipeline.parts.engine = pipeline.drawing.engine = engine
        try:
            pipeline.parts.pool()
            started = time.perf_counter()
            await work(pipeline)
            return time.perf_counter() - started
        finally:
            await pipeline.close()

    seconds = asyncio.run(go())
    folder.close()
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def judged_alone(pipeline: Pipeline, mu: int) -> None:
    """The artifacts of all turns of each task, one after the other, and the answer's verdicts."""
    await pipeline._begin()
    feedback = pipeline.drawing.judge
    assert feedback is not None

    async def one(task: Task) -> None:
        work = Assignment(task, Setting.F2P, (0,), 0, task.id, ())
        for number, text in enumerate(texts(mu)):
            artifact = pipeline.parts.parse(text, task.language)
            await (feedback.completeness if number % 2 else feedback.correctness)(work, artifact)

    await asyncio.gather(*map(one, pipeline.tasks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tasks", type=int, default=164)
    parser.add_argument("--mu", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    told: list[float] = []
    alone: list[float] = []
    memory: dict[int, float] = {}
    with tempfile.TemporaryDirectory(prefix="ensures-measure-") as name:
        given = written(Path(name), chosen.tasks)
        answers = {"": [submit(text) if number % 2 else probe(text) for number, text in enumerate(texts(chosen.mu))]}
        for number in range(chosen.rounds):
            own = [*given, "strategy=exploratory", f"strategy.mu={chosen.mu}", "strategy.tau=1.0"]
            seconds, _ = piped([*own, f"name=alone{number}"], PerTask({}), lambda pipeline: judged_alone(pipeline, chosen.mu))
            alone.append(seconds)
            seconds, memory[chosen.mu] = piped([*own, f"name=told{number}"], PerTask(answers), Pipeline.both)
            told.append(seconds)
        long = [*given, "strategy=exploratory", f"strategy.mu={3 * chosen.mu}", "strategy.tau=1.0", "name=long"]
        _, memory[3 * chosen.mu] = piped(long, PerTask(answers), Pipeline.both)
    figures = {
        "tasks": chosen.tasks,
        "turns": chosen.tasks * chosen.mu,
        "strategy, judge included, s": statistics.median(told),
        "the judge alone on the same artifacts, s": statistics.median(alone),
        "strategy over judge": statistics.median(told) / statistics.median(alone),
        "driver's peak after that many turns, MB": memory[chosen.mu],
        "driver's peak after three times as many, MB": memory[3 * chosen.mu],
    }
    for label, value in figures.items():
        print(f"{label:<48}{value:>12,.2f}")
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
