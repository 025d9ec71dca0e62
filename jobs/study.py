"""From run folders, or from published results, to a study."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml
from pyarrow import csv

from analysis import clauses, failures, turns, variety
from analysis.ablations import RULE
from analysis.clauses import Parts
from analysis.grid import Grid
from analysis.reading import causes, from_verdicts, joined
from analysis.reasoning import Thought
from analysis.study import Study
from analysis.turns import Conversation
from analysis.variety import Said
from benchmark import postcondbench, schema
from benchmark.postcondbench import PostcondBenchConfig
from construction import dependence, mine
from ensures.errors import InputError
from ensures.task import Language, Program, Script, Task
from ensures.verdict import Outcome, Reason
from evaluation.rows import AUDITS, COMPLETIONS, DIAGNOSES, REASONING, TURNS, VERDICTS, stored
from inference.dialects import answer
from inference.source import java, python
from jobs.labels import shown
from jobs.run_folder import TASKS

NEEDS = "dependence.json"
CLAUSES = "clauses"
_TURN = ["request", "task_id", "model", "sample", "number", "kind", "correct", "score", "caught", "cost"]
_TURN += ["prompt_tokens", "cached_tokens", "completion_tokens", "thinking_tokens"]
COLUMNS = "task_id model setting sample candidate_id subject outcome reason status".split()


@dataclass(frozen=True)
class Run:
    """A run folder: its tasks, the view that scores, and the tasks of which only what was judged in isolation counts."""

    path: Path
    config: dict[str, Any]
    tasks: list[Task]
    view: str
    limit: str
    isolated: frozenset[str]

    def verdicts(self, columns: Sequence[str], folder: str = "verdicts") -> pa.Table:
        """The verdict rows that count: of this run's limit, given in isolation where that was needed."""
        rows = stored(self.path / folder, VERDICTS, [*columns, "task_id", "limit", "isolated", "view"])
        alone = pc.is_in(rows["task_id"], value_set=pa.array(sorted(self.isolated), pa.string()))
        current = pc.and_(pc.equal(rows["limit"], self.limit), pc.equal(rows["isolated"], alone))
        return rows.filter(pc.and_(current, pc.equal(rows["view"], self.view)))

    @cached_property
    def rows(self) -> pa.Table:
        return self.verdicts(COLUMNS)

    def grid(self, rule: str, also: Sequence[str] = ()) -> Grid:
        grid = from_verdicts(self.tasks, self.rows, rule, self.view, also)
        grid = grid.resolved(self.config.get("k", 1), self._asked())
        return replace(grid, models=tuple(self.label(model) for model in grid.models))

    def label(self, model: str) -> str:
        return shown(model, self.config)

    def _asked(self) -> Iterable[tuple[str, str]]:
        """Every task in every setting, of engines that read prompts; recorded completions need not cover all."""
        present = set(self.rows["setting"].unique().to_pylist())
        settings = [setting for setting in self.config.get("settings", ()) if present & set(self.config["settings"])]
        if self.config.get("model", {}).get("engine") == "replay":
            return []
        return [(task.id, setting) for task in self.tasks for setting in settings or present]


def opened(path: Path) -> Run:
    """Raises InputError where the folder is no run's."""
    if not (path / TASKS).is_file():
        raise InputError(f"{path} holds no {TASKS}; it is no run folder, or its run has not begun")
    try:
        config = yaml.safe_load((path / "config.yaml").read_text(encoding="utf-8"))
        limit = config["evaluation"]["limit"].lower()
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path / 'config.yaml'} can't be read as a run's configuration") from error
    tasks = [schema.from_record(record, where) for record, where in schema.records(path / TASKS)]
    views = set(stored(path / "verdicts", VERDICTS, ["view"])["view"].unique().to_pylist())
    audits = stored(path / "audits", AUDITS, ["task_id", "agrees"]).to_pylist()
    isolated = frozenset(row["task_id"] for row in audits if not row["agrees"])
    return Run(path, config, tasks, "unseen" if "unseen" in views else "all", limit, isolated)


def of_runs(runs: Sequence[Run], rule: str) -> Study:
    """Raises InputError where there is nothing to be analyzed."""
    grids = [run.grid(rule) for run in runs]
    grid = joined(grids)
    if not len(grid):
        raise InputError("there are no verdicts to be analyzed")
    operators, matched = operators_of(grid.tasks)
    on_mutants: dict[str, dict[str, Counter[str]]] = {}
    needs: dict[str, Sequence[str]] = {}
    known: dict[str, Parts] = {}
    cutoffs: dict[str, str] = {}
    for run, own in zip(runs, grids, strict=True):
        needs |= _needs(run)
        for model, by in causes(run.tasks, run.rows, run.view).items():
            for repository, counts in by.items():
                on_mutants.setdefault(run.label(model), {}).setdefault(repository, Counter()).update(counts)
        if (run.path / CLAUSES).is_dir():
            known |= clauses.parts(from_verdicts(run.tasks, run.verdicts(COLUMNS, CLAUSES), rule, run.view))
        if cutoff := run.config.get("model", {}).get("cutoff"):
            cutoffs |= dict.fromkeys(own.models, cutoff)
    return Study(
        grid,
        lenient=joined([run.grid(rule, [Reason.CONDITION_RAISED]) for run in runs]),
        on_mutants=on_mutants,
        incorrect=_incorrect(runs),
        operators=operators,
        matched=matched,
        needs=needs,
        said=_said(runs, grid),
        parts=known,
        thoughts=[thought for run in runs for thought in _thoughts(run)],
        conversations=[one for run in runs for one in _conversations(run)],
        cutoffs=cutoffs,
    )


def _conversations(run: Run) -> Iterator[Conversation]:
    """Those that came to an answer which is in the run."""
    strategy = run.config.get("strategy") or {}
    repository = {task.id: task.repository for task in run.tasks}
    bugs = {task.id for task in run.tasks if isinstance(task.source, Script)}
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in stored(run.path / "turns", TURNS, _TURN).to_pylist():
        found.setdefault((row["request"], row["sample"]), []).append(row)
    for rows in found.values():
        rows.sort(key=lambda row: row["number"])
        first = rows[0]
        if first["task_id"] in repository:
            who = (run.label(first["model"]), first["task_id"], repository[first["task_id"]])
            limits = (strategy.get("tau", -1), strategy.get("mu", len(rows)))
            yield Conversation(*who, *limits, tuple(map(turns.step, rows)), first["task_id"] in bugs)


def _thoughts(run: Run) -> Iterator[Thought]:
    """Those that `jobs.classify` was asked about; the last model's word counts."""
    classes = stored(run.path / "reasoning" / "classes", REASONING, ["turn", "category"]).to_pylist()
    category = {row["turn"]: row["category"] for row in classes}
    if category:
        for row in stored(run.path / "turns", TURNS, ["model", "number"]).to_pylist():
            if row["key"] in category:
                yield run.label(row["model"]), row["number"], category[row["key"]]


def _needs(run: Run) -> dict[str, list[str]]:
    path = run.path / NEEDS
    if path.is_file():
        try:
            found: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{path} can't be read: {error}; remove it, the next run writes it anew") from error
        return found
    return _by_text(run.tasks)


def _by_text(tasks: Iterable[Task]) -> dict[str, list[str]]:
    """By what the methods' own texts say; programs stand alone by themselves."""
    return {task.id: [] if isinstance(task.source, Program) else list(dependence.needs(task, None)) for task in tasks}


def _incorrect(runs: Sequence[Run]) -> dict[str, dict[str, Counter[str]]]:
    """Section 5.2's categories of candidates that are not correct, by model and repository."""
    found: dict[str, dict[str, Counter[str]]] = {}
    for run in runs:
        table = run.verdicts(["candidate_id", "model", "repository", "subject", "outcome", "reason", "message"])
        for model in table["model"].unique().to_pylist():
            found.setdefault(run.label(model), {})
        wrong = pc.and_(pc.equal(table["subject"], "original"), pc.not_equal(table["outcome"], int(Outcome.HOLDS)))
        for row in table.filter(wrong).to_pylist():
            of = found[run.label(row["model"])].setdefault(row["repository"], Counter())
            of[failures.category(row["reason"], row["message"])] += 1
    return found


def _said(runs: Sequence[Run], grid: Grid) -> dict[str, Said]:
    """Of every candidate in the grid."""
    found: dict[str, Said] = {}
    correct = dict(zip(grid.key.tolist(), grid.correct.tolist(), strict=True))
    for run in runs:
        bodies = {task.id: body(task) for task in run.tasks}
        rows = stored(run.path / "diagnoses", DIAGNOSES, ["candidate_id", "insensitive"]).to_pylist()
        insensitive = {row["candidate_id"]: row["insensitive"] for row in rows}
        table = stored(run.path / "completions", COMPLETIONS, ["task_id", "text"])
        for key, task, text in zip(*(table[name].to_pylist() for name in ("key", "task_id", "text")), strict=True):
            if key in correct and task in bodies:
                again = correct[key] and variety.restates(text, bodies[task])
                found[key] = Said(_shape(text), again, insensitive.get(key))
    return found


def _shape(text: str) -> str:
    return "\n".join(sorted("".join(line.split()) for line in answer.block(text).splitlines() if line.strip()))


def body(task: Task) -> str:
    """The method without its comments; as it stands where it can't be parsed."""
    try:
        source = python if task.language is Language.PYTHON else java
        return str(source.method_without_comments(task.implementation))
    except Exception:  # libcst's errors have no common ancestor of their own
        return task.implementation


def operators_of(tasks: Sequence[Task]) -> tuple[dict[str, str], float | None]:
    """(task and mutant -> operator, for mutants that do not say; the share found), by making rule mutants anew."""
    found: dict[str, str] = {}
    wanted = 0
    for task in tasks:
        unknown = [mutant for mutant in task.counted if RULE in mutant.families and mutant.operator is None]
        if not unknown or isinstance(task.source, Program):
            continue
        made = {mutant.implementation.strip(): mutant.operators[0] for mutant in mine.rule_mutants(task)}
        wanted += len(unknown)
        for mutant in unknown:
            if mutant.implementation.strip() in made:
                found[f"{task.id}\0{mutant.id}"] = made[mutant.implementation.strip()]
    return found, len(found) / wanted if wanted else None


def published(path: Path, rule: str, equal: bool = True, leave_out: Sequence[str] = ()) -> Study:
    """Results in the published format: `9.<model>--<prompting>` folders, or files whose records hold `results`.

    `equal`: as published, the languages are cut to equal length, the first by traversal rank; `leave_out`: tasks by id, for
    those that the comment filter marked. Raises InputError.
    """
    tasks: dict[str, Task] = {}
    rank: dict[str, int] = {}
    rows: list[dict[str, object]] = []
    said: dict[str, Said] = {}
    for place in postcondbench.result_folders(path):
        for task in postcondbench.load(PostcondBenchConfig(path=str(place))).tasks:
            tasks.setdefault(task.id, task)
        rank |= postcondbench.traversal_ranks(str(place))
        for sample in postcondbench.published_samples(str(place)):
            key = f"{sample['task_id']}\0{sample['model']}\0{sample['setting']}\0{sample['sample']}"
            said[key] = Said(_shape(sample["text"] or ""))
            head = {name: sample[name] for name in ("task_id", "model", "setting", "sample")}
            for subject, status in [("original", sample["published"]), *sample["kills"].items()]:
                if status is not None:
                    view = {"candidate_id": key, "subject": subject, "status": status, "reason": status, "view": "all"}
                    rows.append({**head, **view, "outcome": 0})
    strangers = sorted(set(leave_out) - tasks.keys())
    if strangers:
        raise InputError(f"--leave-out {strangers[0]}: {path} holds no such task")
    kept = [task for task in tasks.values() if task.id not in leave_out]
    if equal:
        kept = _equal(kept, rank)
    if not rows or not kept:
        raise InputError(f"{path} holds no published results")
    grid = from_verdicts(kept, pa.Table.from_pylist(rows), rule)
    operators, matched = operators_of(kept)
    return Study(grid, operators=operators, matched=matched, needs=_by_text(kept), said=said)


def _equal(tasks: Sequence[Task], rank: dict[str, int]) -> list[Task]:
    """As many of each language, those of the lowest rank; in the order given."""
    by: dict[Language, list[Task]] = {}
    for task in tasks:
        by.setdefault(task.language, []).append(task)
    least = min(map(len, by.values()))
    kept = {task.id for part in by.values() for task in sorted(part, key=lambda task: rank.get(task.id, 1 << 30))[:least]}
    return [task for task in tasks if task.id in kept]


def labelled(study: Study, path: Path) -> Study:
    """With another's labels in place of ours: a CSV file with the columns task_id and standalone (true or false). Says how
    far both agree. Raises InputError."""
    given = _labels(path)
    tasks = [task.id for task in study.grid.tasks if task.id in given]
    same = sum((not study.needs.get(task)) == given[task] for task in tasks)
    said = f"Labels of {len(tasks)} methods are from {path.name}; imports and names say the same for {same} of them."
    return replace(study, needs={task: [] if given[task] else ["labelled"] for task in tasks}, labels=said)


def _labels(path: Path) -> dict[str, bool]:
    try:
        table = csv.read_csv(path, convert_options=csv.ConvertOptions(column_types={"standalone": pa.bool_()}))
        return dict(zip(table["task_id"].to_pylist(), table["standalone"].to_pylist(), strict=True))
    except (OSError, pa.ArrowException, KeyError) as error:
        raise InputError(f"{path} can't be read as labels (columns task_id, standalone): {error}") from error
