"""All tables and figures from run folders, or from published results.

usage: python -m jobs.analyze RUN [RUN ...] [--out FOLDER] [--rule strict|paper] [--trials N] [--seed N]
       python -m jobs.analyze --published FOLDER [--out FOLDER]      (a clone's data/step, or files with `results`)
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import yaml

from analysis import comparison, figures, paper
from analysis.ablations import RULE, counted
from analysis.grid import Grid, from_verdicts, joined
from analysis.sheets import Sheet
from benchmark import postcondbench, schema
from benchmark.postcondbench import PostcondBenchConfig
from construction import mine
from ensures.errors import EnsuresError, InputError
from ensures.task import Program, Task
from ensures.verdict import Reason
from evaluation.metrics import RULES
from evaluation.rows import AUDITS, VERDICTS, Shards

COLUMNS = "task_id model setting sample candidate_id subject outcome reason status view limit isolated".split()
TASKS = "tasks.parquet"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m jobs.analyze", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", type=Path, help="run folders")
    parser.add_argument("--published", type=Path, help="published results in place of runs")
    parser.add_argument("--out", type=Path, help="default: the first run's folder, or ./analysis-published")
    parser.add_argument("--rule", choices=RULES, help="default: strict for runs, paper for published results")
    parser.add_argument("--trials", type=int, default=50, help="of each random subset of mutants")
    parser.add_argument("--seed", type=int, default=paper.SEED)
    chosen = parser.parse_args(arguments)
    try:
        if bool(chosen.runs) == bool(chosen.published):
            raise InputError("name run folders, or --published FOLDER")
        if chosen.trials < 1:
            raise InputError(f"--trials={chosen.trials}: at least one")
        if chosen.published:
            grid, lenient = published(chosen.published, chosen.rule or "paper"), None
            out = chosen.out or Path("analysis-published")
        else:
            rule = chosen.rule or "strict"
            grid = joined([of_run(path, rule) for path in chosen.runs])
            lenient = joined([of_run(path, rule, [Reason.CONDITION_RAISED]) for path in chosen.runs])
            out = chosen.out or chosen.runs[0]
        if not len(grid):
            raise InputError("there are no verdicts to be analyzed")
        sheets = write(grid, out, chosen.trials, chosen.seed, lenient)
    except (EnsuresError, OSError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    print(f"{len(grid):,} candidates of {len(grid.models)} models on {len(set(grid.task))} methods")
    for sheet in sheets:
        print(f"  {out / 'tables' / sheet.name}.md  {sheet.title}")
    print(f"figures: {out / 'figures'}")
    return 0


def of_run(path: Path, rule: str, also: Sequence[str] = ()) -> Grid:
    """A run folder's candidates. Those of engines that read no prompt are scored on calls that they did not see."""
    if not (path / TASKS).is_file():
        raise InputError(f"{path} holds no {TASKS}; it is no run folder, or its run has not come to its end")
    config = yaml.safe_load((path / "config.yaml").read_text(encoding="utf-8"))
    tasks = [schema.from_record(record, where) for record, where in schema.records(path / TASKS)]
    shards, audits = Shards(path / "verdicts", VERDICTS), Shards(path / "audits", AUDITS)
    table = pa.concat_tables([table.select(COLUMNS) for table in shards.batches()] or [VERDICTS.empty_table().select(COLUMNS)])
    isolated = {row["task_id"] for row in audits.rows(["task_id", "agrees"]) if not row["agrees"]}
    limit = config["evaluation"]["limit"].lower()
    current = pa.compute.equal(table["limit"], limit)
    alone = pa.compute.is_in(table["task_id"], value_set=pa.array(sorted(isolated), pa.string()))
    table = table.filter(pa.compute.and_(current, pa.compute.equal(table["isolated"], alone)))
    views = set(table["view"].unique().to_pylist())
    grid = from_verdicts(tasks, table, rule, "unseen" if "unseen" in views else "all", also)
    guided = config.get("prompt", {}).get("guidance", False)
    return replace(grid, models=tuple(name + comparison.GUIDED for name in grid.models)) if guided else grid


def published(path: Path, rule: str) -> Grid:
    """Results in the published format: `9.<model>--<prompting>` folders, or files whose records hold `results`."""
    folders = (
        sorted(folder for folder in path.iterdir() if folder.is_dir() and folder.name.startswith("9."))
        if path.is_dir()
        else []
    )
    tasks: dict[str, Task] = {}
    rows: list[dict[str, object]] = []
    for place in folders or [path]:
        for task in postcondbench.load(PostcondBenchConfig(path=str(place))).tasks:
            tasks.setdefault(task.id, task)
        for sample in postcondbench.published_samples(str(place)):
            key = f"{sample['task_id']}\0{sample['model']}\0{sample['setting']}\0{sample['sample']}"
            head = {name: sample[name] for name in ("task_id", "model", "setting", "sample")}
            for subject, status in [("original", sample["published"]), *sample["kills"].items()]:
                if status is not None:
                    view = {"candidate_id": key, "subject": subject, "status": status, "reason": status, "view": "all"}
                    rows.append({**head, **view, "outcome": 0})
    if not rows:
        raise InputError(f"{path} holds no published results")
    return from_verdicts(list(tasks.values()), pa.Table.from_pylist(rows), rule)


def operators(tasks: Sequence[Task]) -> tuple[dict[str, str], float | None]:
    """(task and mutant -> operator, for mutants that do not say; the share found), by making rule mutants anew."""
    found: dict[str, str] = {}
    wanted = 0
    for task in tasks:
        unknown = [mutant for mutant in counted(task) if RULE in mutant.families and mutant.operator is None]
        if not unknown or isinstance(task.source, Program):
            continue
        made = {mutant.implementation.strip(): mutant.operators[0] for mutant in mine.rule_mutants(task)}
        wanted += len(unknown)
        for mutant in unknown:
            if mutant.implementation.strip() in made:
                found[f"{task.id}\0{mutant.id}"] = made[mutant.implementation.strip()]
    return found, len(found) / wanted if wanted else None


def write(grid: Grid, out: Path, trials: int, seed: int, lenient: Grid | None) -> list[Sheet]:
    """Every table and figure into `out`. A table for which there is nothing has dashes.

    `lenient`: the same candidates, a raise taken for a kill; None where the rows do not tell (published results).
    """
    by, matched = operators(grid.tasks)
    ks = [k for k in (1, 3, 5) if k <= int(grid.sizes.min())] or [1]
    perturbed, sweep = paper.perturbed(grid, by, seed, trials)
    why = paper.reasons(grid)
    sheets = [
        paper.statistics(grid.tasks),
        paper.overall(grid, ks),
        paper.by_setting(grid),
        paper.discovery(grid),
        paper.families(grid),
        perturbed,
        sweep,
        paper.each_operator(grid, by, matched),
        why,
        paper.survivors(grid, by),
        *([paper.causes(grid, lenient)] if lenient is not None else []),
        comparison.guidance(grid),
        comparison.models(grid),
    ]
    for folder in ("tables", "figures"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    for sheet in sheets:
        for ending, text in (("md", sheet.markdown()), ("tex", sheet.latex()), ("csv", sheet.comma_separated())):
            (out / "tables" / f"{sheet.name}.{ending}").write_text(text, encoding="utf-8")
    drawn = {"gaps": figures.gaps(grid), "by-lines": figures.by_lines(grid), "budget": figures.budget(sweep)}
    for name, figure in {**drawn, "reasons": figures.reasons(why)}.items():
        figures.write(name, figure, out / "figures")
    (out / "tables" / "grid.json").write_text(
        json.dumps({"candidates": len(grid), "models": grid.models, "settings": grid.settings}) + "\n", encoding="utf-8"
    )
    return sheets


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
