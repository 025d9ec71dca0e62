"""From verdict rows to the grid, and several runs' grids to one."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.grid import ROWS, WORD, Grid, everything
from ensures.subject import mutants
from ensures.task import Task
from ensures.verdict import Outcome, published_outcome
from evaluation.metrics import RULES


def from_verdicts(
    tasks: Sequence[Task], table: pa.Table, rule: str = "strict", view: str = "all", also: Sequence[str] = ()
) -> Grid:
    """Of verdict rows (task_id, model, setting, sample, candidate_id, subject, outcome, reason, status, view); a subject that
    is not among its task's counts for nothing, a mutant without a row is alive. `also`: reasons that are taken for a kill."""
    if rule not in RULES:
        raise ValueError(rule)
    table = table.filter(pc.equal(table["view"], view))
    task_at = {task.id: number for number, task in enumerate(tasks)}
    table = table.filter(pc.is_in(table["task_id"], value_set=pa.array(list(task_at), pa.string())))
    task = _codes(table["task_id"], list(task_at))
    candidates, candidate = _encoded(table["candidate_id"])
    models, model = _encoded(table["model"])
    settings, setting = _encoded(table["setting"])
    order = [names.index(name) for names, name in ((sorted(models), name) for name in models)]
    model = np.array(order, dtype=np.int64)[model] if len(models) else model
    if rule == "strict":
        outcome = table["outcome"].to_numpy()
    else:
        statuses, status = _encoded(table["status"])
        outcome = np.array([int(published_outcome(name)) for name in statuses] or [0])[status]
    original = pc.equal(table["subject"], "original").to_numpy(zero_copy_only=False)

    at = np.full(len(candidates), -1)
    at[candidate[original]] = np.flatnonzero(original)
    if (at < 0).any():
        keep = at >= 0  # a candidate whose original is not judged yet says nothing
        at = at[keep]
        renumbered = np.cumsum(keep) - 1
        rows = keep[candidate] & ~original
    else:
        renumbered = np.arange(len(candidates))
        rows = ~original
    full = everything(tasks)
    alive = full[task[at]].copy()
    subjects, subject = _encoded(table["subject"])
    bit = np.full((len(tasks), max(1, len(subjects))), -1, dtype=np.int16)
    code = {name: number for number, name in enumerate(subjects)}
    for row, one in enumerate(tasks):
        for column, mutant in enumerate(mutants(one)):
            if mutant.id in code:
                bit[row, code[mutant.id]] = column
    column = bit[task, subject]
    asked = rows & (column >= 0)
    answers = np.bincount(renumbered[candidate[asked]], minlength=len(at))
    kills = outcome == int(Outcome.VIOLATED)
    if also:
        kills |= pc.is_in(table["reason"], value_set=pa.array(list(also), pa.string())).to_numpy(zero_copy_only=False)
    killed = asked & kills
    who, which = renumbered[candidate[killed]], column[killed].astype(np.int64)
    np.bitwise_and.at(alive, (who, which // WORD), ~(np.uint64(1) << (which % WORD).astype(np.uint64)))
    correct = outcome[at] == int(Outcome.HOLDS)
    wanted = np.bitwise_count(full).sum(axis=1)[task[at]]
    return Grid(
        tuple(tasks),
        tuple(sorted(models)),
        tuple(settings),
        task[at],
        model[at],
        setting[at],
        table["sample"].to_numpy()[at],
        correct,
        alive,
        full,
        _texts(table["reason"])[at],
        ~correct | (answers >= wanted),
        _texts(table["candidate_id"])[at],
    )


def causes(tasks: Sequence[Task], table: pa.Table, view: str = "all") -> dict[str, dict[str, Counter[str]]]:
    """By model and repository: the reasons of the verdicts that candidates got on mutants that count."""
    table = table.filter(pc.equal(table["view"], view))
    counted = pa.array([f"{task.id}\0{mutant.id}" for task in tasks for mutant in mutants(task)], pa.string())
    place = pc.binary_join_element_wise(table["task_id"], table["subject"], "\0")
    found: dict[str, dict[str, Counter[str]]] = {}
    repository = {task.id: task.repository for task in tasks}
    grouped = table.filter(pc.is_in(place, value_set=counted)).group_by(["model", "task_id", "reason"])
    for row in grouped.aggregate([([], "count_all")]).to_pylist():
        of = found.setdefault(row["model"], {}).setdefault(repository[row["task_id"]], Counter())
        of[row["reason"]] += row["count_all"]
    return found


def _texts(column: pa.ChunkedArray) -> np.ndarray:
    """(N,) objects."""
    names, codes = _encoded(column)
    return np.array(names, dtype=object)[codes] if names else np.zeros(0, dtype=object)


def _encoded(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """(distinct values in order of appearance, positions)."""
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _codes(column: pa.ChunkedArray, names: list[str]) -> np.ndarray:
    return pc.index_in(column, value_set=pa.array(names, pa.string())).to_numpy(zero_copy_only=False).astype(np.int64)


def joined(grids: Sequence[Grid]) -> Grid:
    """Several runs' candidates over the tasks of all: a task is the same where its key is."""
    known: dict[str, int] = {}
    tasks: list[Task] = []
    for grid in grids:
        for task in grid.tasks:
            if task.key not in known:
                known[task.key] = len(tasks)
                tasks.append(task)
    models = tuple(sorted({model for grid in grids for model in grid.models}))
    settings = tuple(dict.fromkeys(setting for grid in grids for setting in grid.settings))
    full = everything(tasks)
    columns: dict[str, list[np.ndarray]] = {name: [] for name in ROWS}
    unresolved = []
    for grid in grids:
        to = [known[task.key] for task in grid.tasks]
        model = [models.index(name) for name in grid.models]
        setting = [settings.index(name) for name in grid.settings]
        alive = np.zeros((len(grid), full.shape[1]), dtype="<u8")
        alive[:, : grid.alive.shape[1]] = grid.alive
        moved = {
            "alive": alive,
            "task": _at(to, grid.task),
            "model": _at(model, grid.model),
            "setting": _at(setting, grid.setting),
        }
        for name in ROWS:
            columns[name].append(moved[name] if name in moved else getattr(grid, name))
        unresolved += [(to[t], model[m], setting[s]) for t, m, s in grid.unresolved]
    rows = {name: np.concatenate(parts) for name, parts in columns.items()}
    return Grid(tuple(tasks), models, settings, full=full, unresolved=tuple(unresolved), **rows)


def _at(places: list[int], values: np.ndarray) -> np.ndarray:
    return np.array(places or [0], dtype=np.int64)[values]
