"""What each turn's thought is about, by category (SpecMind, 6.2: Table 2 and Figure 5): a model reads it.

usage: python -m jobs.classify run=FOLDER model=NAME [labels=FILE] [model.KEY=VALUE ...]

The seven categories are the paper's, the prompt is ours. What is classified is not asked again; python -m jobs.analyze FOLDER
then has the table and the figure. `labels`: CSV with the columns key (of a turn's row) and category, given by hand: how far
the model agrees with them is printed.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyarrow import ArrowException, csv
from statsmodels.stats.inter_rater import cohens_kappa, to_table

from analysis.reasoning import CATEGORIES, named
from ensures.errors import EnsuresError, InputError
from ensures.keys import content_key, seed_from
from ensures.task import Setting
from evaluation.rows import REASONING, TURNS, Shards, stored
from inference.engine import Engine, Prompt, Request, Wanted, prompt
from inference.prompts import environment
from jobs import config as configuration
from jobs.parts import Parts
from jobs.progress import Display
from jobs.run_folder import RunFolder
from jobs.study import opened

FOLDER = "reasoning"
WANTED = Wanted(temperature=0.0, max_tokens=256)


def main(arguments: Sequence[str]) -> int:
    if any(argument in ("-h", "--help") for argument in arguments):
        print(__doc__)
        return 0
    try:
        return asyncio.run(_run(arguments))
    except EnsuresError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


async def _run(arguments: Sequence[str]) -> int:
    own = {key: value for key, _, value in (argument.partition("=") for argument in arguments) if key in ("run", "labels")}
    if not own.get("run"):
        raise InputError("name a run folder: python -m jobs.classify run=FOLDER model=NAME")
    run = opened(Path(own["run"]))
    tasks = {task.id: task for task in run.tasks}
    rows = [row for row in stored(run.path / "turns", TURNS, ["task_id", "setting", "thought"]).to_pylist() if row["thought"]]
    if not rows:
        raise InputError(f"{run.path} holds no thoughts: its strategy has no turns, or its model wrote none")
    others = [argument for argument in arguments if argument.partition("=")[0] not in own]
    config = configuration.load([*others, "tracker=none", "cluster=none", f"out={run.path}", f"name={FOLDER}"])
    folder = RunFolder(run.path / FOLDER, configuration.plain(config))
    try:
        with Display() as display:
            engine = Parts(config, folder, display).engine
            if engine.setting is not None:
                raise InputError(f"model={engine.name} reads no prompt; choose another model=")
            shards = Shards(run.path / FOLDER / "classes", REASONING)
            known = set(shards.column("key"))
            display.expect("thoughts", len(rows))
            gate = asyncio.Semaphore(max(1, engine.capacity))

            async def one(row: dict[str, Any]) -> None:
                asked = _prompt(row["thought"])
                key = content_key(row["key"], asked.hash, engine.identity)
                if key not in known:
                    async with gate:
                        request = Request(
                            tasks[row["task_id"]], Setting(row["setting"]), (0,), seed_from(key), (asked,), WANTED
                        )
                        (completion,) = await engine.complete(request)
                    said = {
                        "turn": row["key"],
                        "model": engine.name,
                        "text": completion.text,
                        "category": named(completion.text),
                    }
                    shards.append([{"key": key, **said}])
                display.done("thoughts")

            try:
                await asyncio.gather(*(one(row) for row in rows if row["task_id"] in tasks))
            finally:
                shards.flush()
                await engine.close()
    finally:
        folder.close()
    print(f"{len(rows)} thoughts classified: {run.path / FOLDER}; python -m jobs.analyze {run.path} has the table")
    if own.get("labels"):
        print(_agreement(run.path, engine, Path(own["labels"])))
    return 0


def _prompt(thought: str) -> Prompt:
    return prompt(environment("").get_template("reasoning.jinja").render(categories=CATEGORIES, thought=thought))


def _agreement(run: Path, engine: Engine, labels: Path) -> str:
    """Raises InputError."""
    try:
        table = csv.read_csv(labels)
        given = dict(zip(table["key"].to_pylist(), table["category"].to_pylist(), strict=True))
    except (OSError, ArrowException, KeyError) as error:
        raise InputError(f"{labels} can't be read as labels (columns key, category): {error}") from error
    strangers = sorted(set(map(str, given.values())) - set(CATEGORIES))
    if strangers:
        raise InputError(f"{labels}: {strangers[0]!r} is no category; choose from {', '.join(CATEGORIES)}")
    found = {row["turn"]: row["category"] for row in stored(run / FOLDER / "classes", REASONING, ["turn", "model", "category"])
             .to_pylist() if row["model"] == engine.name}  # fmt: skip
    both = [(found[key], str(label)) for key, label in given.items() if key in found]
    if not both:
        raise InputError(f"{labels} names no turn of {run}")
    names = [*CATEGORIES, ""]
    same = sum(one == other for one, other in both)
    kappa = cohens_kappa(to_table([[names.index(a or ""), names.index(b)] for a, b in both], bins=len(names))[0]).kappa
    return f"labels by hand: {same} of {len(both)} the same ({same / len(both):.0%}), Cohen's kappa {kappa:.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
