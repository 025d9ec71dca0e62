"""Drawing: our output tokens a second against vLLM's own, the scheduler's own cost, and how soon the first verdict comes.

Throughput: the same prompts and the same sampling, in turn: through the job's drawing (prompts, fleet, Ray actor, rows on
disk), and by vLLM's `LLM.generate` in a process of its own. Loading is in neither. Scheduler: `--prompts` prompts of k
samples through the job's pipeline with an engine that answers at once (setting f2p: no syntax trees); memory of the driver.
First verdict: a whole run on the sample benchmark; the share of completions that were in when the first verdict came.

python -m tests.performance.generation [--json FILE] [--model tiny-qwen3] [--tasks N] [--repeat N] [--prompts N] [--only PART]
"""

import argparse
import asyncio
import json
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmark import schema
from ensures.task import PROMPTED, Language, Program, Setting, Task
from inference.engine import Completion, Request
from inference.engines.vllm import Vllm
from inference.engines.vllm_replica import ENVIRONMENT, Serving, VllmReplica
from jobs import config as configuration
from jobs.drawing import Row
from jobs.pipeline import Pipeline
from jobs.progress import Display
from jobs.run_folder import RunFolder

K = 5
RATE = "output tokens a second:"
ROOT = Path(__file__).resolve().parents[2]


def task_of(number: int, lines: int) -> Task:
    body = "\n".join(f"    # step {index} of {number}\n    total = total + value * {index}" for index in range(lines))
    text = f'def f_{number}(value):\n    """Adds up {number}."""\n    total = {number}\n{body}\n    return total\n'
    source = Program(f"p{number}", "made", "1", "CC0-1.0", ("[1]",))
    count = text.count("\n")
    where = (f"made/{number:05}", Language.PYTHON, source, "m.py", f"f_{number}", 1, count)
    return Task(*where, f"def f_{number}(value):", f"Adds up {number}.", text, ("0",))


def pipeline(folder: Path, tasks: list[Task], *overrides: str) -> tuple[Pipeline, RunFolder]:
    folder.mkdir(parents=True)
    schema.write(tasks, folder / "tasks.parquet")
    given = [
        "dataset=folder",
        f"dataset.path={folder / 'tasks.parquet'}",
        f"k={K}",
        "tracker=none",
        f"out={folder}",
        "name=run",
    ]
    config = configuration.load([*given, *overrides])
    run = RunFolder(folder / "run", configuration.plain(config))
    return Pipeline(config, run, Display()), run


# Throughput


class Kept(Vllm):
    """Is not closed with the last completion: what is measured is drawn again."""

    async def close(self) -> None: ...


async def ours(made: Pipeline, run: RunFolder) -> float:
    started = time.perf_counter()
    await made.generate()
    run.flush()
    return time.perf_counter() - started


def throughput(model: Sequence[str], count: int, repeat: int) -> dict[str, Any]:
    """`model`: the overrides that choose it."""
    with tempfile.TemporaryDirectory() as place:
        rates: dict[str, list[float]] = {"ours": [], "vllm": []}

        async def measure() -> None:
            given = (*model, "evaluation.workers=1")
            first, _ = pipeline(Path(place) / "warm", [task_of(number, 12) for number in range(4)], *given)
            first.engine.__class__ = Kept
            await first.generate()
            for number in range(1, repeat + 1):  # other prompts each time: none is in our replica's prefix cache
                tasks = [task_of(number * 1000 + index, 12) for index in range(count)]
                made, run = pipeline(Path(place) / str(number), tasks, *given)
                made.engine._fleet = first.engine._fleet  # type: ignore[attr-defined]
                made.engine.__class__ = Kept
                seconds = await ours(made, run)
                rows = pq.read_table(run.path / "completions", columns=["completion_tokens"]).to_pydict()["completion_tokens"]
                rates["ours"].append(sum(rows) / seconds)
                run.close()
                asked = Path(place) / f"{number}.pickle"
                asked.write_bytes(pickle.dumps(await prompts_of(made, tasks)))
                # one after the other: theirs has the machine for itself, ours is idle meanwhile
                rates["vllm"].append(await asyncio.to_thread(theirs, asked))
                mine, other = rates["ours"][-1], rates["vllm"][-1]
                print(f"round {number}: ours {mine:,.0f}, vLLM {other:,.0f} output tokens a second", flush=True)
            await Vllm.close(first.engine)  # type: ignore[arg-type]
            await first.parts.close()

        asyncio.run(measure())
    medians = {name: statistics.median(found) for name, found in rates.items()}
    return {"completions": count * 3 * K, **rates, "ratio": medians["ours"] / medians["vllm"]}


async def prompts_of(made: Pipeline, tasks: list[Task]) -> dict[str, Any]:
    """What the job asked, and how its replica was started."""
    engine = made.engine
    assert isinstance(engine, Vllm)
    works = [await made.drawing._assignment(task, setting) for task in tasks for setting in PROMPTED]
    found = [(work.prompts[0].text, work.seed) for work, _ in works]
    started = Serving(engine.config, engine.name, str(engine.checkpoint.folder))
    return {"prompts": found, "serving": started, "sampling": asdict(engine.sampling)}


def theirs(asked: Path) -> float:
    """Output tokens a second of vLLM's own LLM.generate."""
    variables = {
        **os.environ,
        **ENVIRONMENT,
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "TORCH_COMPILE_DISABLE": "1",
    }
    command = [sys.executable, "-m", "tests.performance.generation", "--asked", str(asked)]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return float(next(line for line in done.stdout.split("\n") if line.startswith(RATE)).removeprefix(RATE))


def generate(asked: Path) -> None:
    """In the child: loads, warms up, generates, prints the rate."""
    from vllm import LLM, SamplingParams
    from vllm.platforms import current_platform

    given = pickle.loads(asked.read_bytes())
    started: Serving = given["serving"]
    llm = LLM(**VllmReplica(started)._arguments(current_platform.is_cpu()))
    tokenizer = llm.get_tokenizer()
    rendered = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": text}],
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=started.config.thinking,
        )
        for text, _ in given["prompts"]
    ]
    sampling = [SamplingParams(n=K, seed=seed, **given["sampling"]) for _, seed in given["prompts"]]
    llm.generate(rendered[:4], sampling[:4], use_tqdm=False)
    llm.reset_prefix_cache()
    begun = time.perf_counter()
    outputs = llm.generate(rendered, sampling, use_tqdm=False)
    seconds = time.perf_counter() - begun
    print(RATE, sum(len(sample.token_ids) for output in outputs for sample in output.outputs) / seconds)


# Scheduler


class AtOnce:
    """An engine that answers at once."""

    name = "at-once"
    hostile = True
    setting: Setting | None = None
    capacity = 1280
    identity: Any = "at-once"
    origin = {"engine": "at-once"}
    text = "@icontract.ensure(lambda value, result: result >= value)\n" * 4

    def covers(self, task: Task, setting: Setting) -> bool:
        return True

    async def complete(self, request: Request) -> list[Completion]:
        prompt = request.prompts[0]
        return [Completion(sample, self.text, "stop", prompt, "r" * 32, "", 900, 800, 60) for sample in request.samples]

    def stop(self) -> None: ...

    async def close(self) -> None: ...


def scheduler(prompts: int) -> dict[str, Any]:
    tasks = [task_of(number, 12) for number in range(prompts)]
    memory: list[int] = []
    with tempfile.TemporaryDirectory() as place:

        async def measure() -> float:
            made, run = pipeline(Path(place) / "s", tasks, "model=reference", "settings=[f2p]")
            made.engine = made.drawing.engine = AtOnce()
            judge = made._left

            async def left(task: Task, rows: list[Row]) -> None:
                if len(memory) * len(tasks) // 4 <= len(seen):
                    memory.append(resident())
                seen.append(None)
                await judge(task, rows)

            seen: list[None] = []
            made._left = left  # type: ignore[method-assign]
            seconds = await ours(made, run)
            run.close()
            return seconds

        seconds = asyncio.run(measure())
    completions = len(tasks) * K
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"completions": completions, "a_second": completions / seconds, "driver_mb": [*memory, resident()], "peak_mb": peak}


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20


# First verdict


class Watch(Display):
    """Notes how many completions there were at the first verdict."""

    completions = 0
    at_first: int | None = None

    def done(self, name: str, amount: int = 1) -> None:
        if name == "completions":
            self.completions += amount
        if name == "verdicts" and self.at_first is None:
            self.at_first = self.completions
        super().done(name, amount)


def first_verdict(model: str) -> dict[str, Any]:
    watch = Watch()
    with tempfile.TemporaryDirectory() as place:

        async def measure() -> None:
            config = configuration.load([f"model={model}", f"k={K}", "tracker=none", f"out={place}", "name=run"])
            run = RunFolder(Path(place) / "run", configuration.plain(config))
            made = Pipeline(config, run, watch)
            await made.both()
            await made.close()
            run.close()

        asyncio.run(measure())
    before = watch.at_first or 0
    return {"completions": watch.completions, "before_the_first_verdict": before, "share": before / watch.completions}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--model", default="tiny-qwen3")
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--prompts", type=int, default=10_000)
    parser.add_argument("--only", choices=("throughput", "scheduler", "first_verdict"))
    parser.add_argument("--asked", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.asked:
        return generate(chosen.asked)
    found: dict[str, Any] = {}
    if chosen.only in (None, "scheduler"):
        found["scheduler"] = part = scheduler(chosen.prompts)
        megabytes = ", ".join(map(str, part["driver_mb"]))
        print(f"scheduler: {part['completions']:,} completions, {part['a_second']:,.0f} a second; driver {megabytes} MB")
    if chosen.only in (None, "throughput"):
        found["throughput"] = part = throughput([f"model={chosen.model}"], chosen.tasks, chosen.repeat)
        print(f"throughput: {part['ratio']:.2f} of vLLM's own (medians of {chosen.repeat})")
    if chosen.only in (None, "first_verdict"):
        found["first_verdict"] = part = first_verdict(chosen.model)
        before = f"{part['before_the_first_verdict']} of {part['completions']} completions ({part['share']:.1%})"
        print(f"first verdict: with {before} in")
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
