"""All tables and figures of a full-size run, and Table 8 by plain Python beside it on the same data.

A synthetic run folder: 5 models, 3 settings, 420 tasks, 5 samples, 24 mutants: 756,000 verdicts if every candidate were
correct, and fewer here, since mutants are only asked of those that are.

python -m tests.performance.analysis [--json FILE] [--tasks N] [--plain-trials N]
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from analysis import ablations, paper
from benchmark import schema
from ensures.task import Task
from evaluation.rows import COMPLETIONS, VERDICTS
from jobs import study
from tests.analysis import synthetic

MODELS, SAMPLES, MUTANTS = 5, 5, 24
CONFIG = {"evaluation": {"limit": "paper"}, "k": SAMPLES, "settings": ["c2p", "n2p", "f2p"], "model": {"cutoff": "2024-06"}}


def made(folder: Path, count: int) -> list[Task]:
    """A run folder with that many tasks."""
    tasks = synthetic.tasks(count, (MUTANTS, MUTANTS))
    schema.write(tasks, folder / study.TASKS)
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG), encoding="utf-8")
    for name in ("verdicts", "audits", "completions"):
        (folder / name).mkdir()
    filled = {"limit": "paper", "isolated": False}
    for shard in range(0, count, 60):
        rows = [{**row, **filled} for row in synthetic.rows(tasks[shard : shard + 60], MODELS, SAMPLES, seed=shard)]
        pq.write_table(pa.Table.from_pylist(rows, schema=VERDICTS), folder / "verdicts" / f"{shard:06}.parquet")
        texts = list(synthetic.completions(tasks[shard : shard + 60], MODELS, SAMPLES, seed=shard))
        pq.write_table(pa.Table.from_pylist(texts, schema=COMPLETIONS), folder / "completions" / f"{shard:06}.parquet")
    return tasks


def plain_table_8(tasks: list[Task], rows: list[dict[str, Any]], trials: int) -> dict[str, dict[str, float]]:
    """As one would write it first: sets of names, a loop a trial."""
    rng = random.Random(0)
    by_id = {task.id: task for task in tasks}
    alive: dict[tuple[str, str, str], list[set[str] | None]] = defaultdict(list)
    candidates: dict[str, tuple[tuple[str, str, str], bool, set[str]]] = {}
    for row in rows:
        key = (row["model"], row["setting"], row["task_id"])
        if row["subject"] == "original":
            right = row["outcome"] == 1
            candidates[row["candidate_id"]] = (key, right, {m.id for m in by_id[row["task_id"]].mutants} if right else set())
        elif row["outcome"] == 0:
            candidates[row["candidate_id"]][2].discard(row["subject"])
    for key, right, left in candidates.values():
        alive[key].append(left if right else None)

    def comp(choose: Callable[[Task], set[str]]) -> dict[str, float]:
        chosen = {(setting, task.id): choose(task) for setting in ("c2p", "n2p", "f2p") for task in tasks}
        sums: dict[str, list[float]] = defaultdict(list)
        for (model, setting, task), found in alive.items():
            wanted = chosen[setting, task]
            sums[model].append(sum(left is not None and not left & wanted for left in found) / len(found))
        return {model: sum(values) / len(values) for model, values in sums.items()}

    def budget(share: float) -> Callable[[Task], set[str]]:
        return lambda task: {m.id for m in rng.sample(task.mutants, max(1, round(share * len(task.mutants))))}

    result = {}
    for share in ablations.BUDGETS:
        drawn = [comp(budget(share)) for _ in range(trials)]
        result[f"{share}"] = {model: sum(one[model] for one in drawn) / trials for model in drawn[0]}
    for _ in range(2 * trials):  # the other two columns cost the same
        comp(budget(0.5))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tasks", type=int, default=420)
    parser.add_argument("--plain-trials", type=int, default=1, help="of 50; the time of all is inferred")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ensures-measure-") as name:
        folder = Path(name)
        tasks = made(folder, chosen.tasks)
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "jobs.analyze", str(folder)], check=True, stdout=subprocess.DEVNULL)
        whole = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        started = time.perf_counter()
        grid = study.opened(folder).grid("strict")
        read = time.perf_counter() - started
        started = time.perf_counter()
        paper.perturbed(grid, {}, 0, ablations.TRIALS)
        ours = time.perf_counter() - started
        rows = [row for path in sorted((folder / "verdicts").glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
        started = time.perf_counter()
        plain_table_8(tasks, rows, 0 if chosen.plain_trials < 1 else chosen.plain_trials)
        plain = time.perf_counter() - started
    figures: dict[str, Any] = {
        "verdicts": len(rows),
        "candidates": len(grid),
        "all tables and figures, s": whole,
        "peak memory, MB": peak,
        "reading and building the grid, s": read,
        "Table 8, 50 trials, s": ours,
        f"Table 8 in plain Python, {chosen.plain_trials} trials, s": plain,
        "plain over ours, all 50 trials": plain * ablations.TRIALS / chosen.plain_trials / ours,
    }
    for label, value in figures.items():
        print(f"{label:<48}{value:>12,.3f}" if isinstance(value, float) else f"{label:<48}{value:>12,}")
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
