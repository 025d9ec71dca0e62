"""All candidates of all models against all mutants, as bits: built once, so that every table and ablation is arithmetic.

`alive` holds a bit for each mutant that a candidate did not kill. A candidate is complete over a subset of its task's mutants
if it is correct and none of them is alive; so 50 trials x 10 budgets x all models are 500 masks over one array.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensures.subject import mutants
from ensures.task import Task
from ensures.verdict import Outcome, published_outcome
from evaluation.metrics import RULES, at_least_one

WORD = 64
Bits = np.ndarray  # uint64, (rows, words)


@dataclass(frozen=True)
class Grid:
    """Candidates are rows. `task`, `model`, `setting`: (N,) positions in the tuples; `sample`: (N,); `correct`: (N,) bool;
    `alive`: (N, W); `full`: (T, W), the mutants of each task that count; `reason`: (N,) the verdict's on the original."""

    tasks: tuple[Task, ...]
    models: tuple[str, ...]
    settings: tuple[str, ...]
    task: np.ndarray
    model: np.ndarray
    setting: np.ndarray
    sample: np.ndarray
    correct: np.ndarray
    alive: Bits
    full: Bits
    reason: np.ndarray

    def __len__(self) -> int:
        return len(self.task)

    def only(self, chosen: np.ndarray) -> "Grid":
        """The candidates at these positions, or where this is true."""
        parts = (self.task, self.model, self.setting, self.sample, self.correct, self.alive)
        task, model, setting, sample, correct, alive = (part[chosen] for part in parts)
        head = (self.tasks, self.models, self.settings)
        return Grid(*head, task, model, setting, sample, correct, alive, self.full, self.reason[chosen])

    @cached_property
    def languages(self) -> tuple[str, ...]:
        return tuple(sorted({task.language.value for task in self.tasks}))

    @cached_property
    def language(self) -> np.ndarray:
        """(N,) positions in `languages`."""
        return np.array([self.languages.index(task.language.value) for task in self.tasks], dtype=np.int64)[self.task]

    @cached_property
    def repository(self) -> np.ndarray:
        """(N,) a number for each repository: what intervals are clustered by."""
        names = sorted({task.repository for task in self.tasks})
        return np.array([names.index(task.repository) for task in self.tasks], dtype=np.int64)[self.task]

    @cached_property
    def group(self) -> np.ndarray:
        """(N,) a number for each (model, setting, task), from 0."""
        key = (self.model.astype(np.int64) * len(self.settings) + self.setting) * len(self.tasks) + self.task
        return np.unique(key, return_inverse=True)[1]

    @cached_property
    def first(self) -> np.ndarray:
        """For each group the position of one of its candidates."""
        return np.unique(self.group, return_index=True)[1]

    @cached_property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.group)

    def complete(self, subset: Bits | None = None, vacuous: bool = True) -> np.ndarray:
        """(N,) bool: correct, and no mutant of the subset (default: all that count) alive. Where nothing of a task is left,
        a correct candidate is complete (`vacuous`, as published) or is not."""
        wanted = self.full if subset is None else subset
        found = self.correct & ~(self.alive & wanted[self.task]).any(axis=1)
        return found if vacuous else found & np.any(wanted, axis=1, keepdims=True)[self.task, 0]

    def at_k(self, success: np.ndarray, k: int) -> np.ndarray:
        """For each group the unbiased chance that one of k drawn is a success (D.3). Raises ValueError where n < k."""
        if len(self) == 0:
            return np.zeros(0)
        if int(self.sizes.min()) < k:
            raise ValueError(f"k={k}, and a task has {int(self.sizes.min())} candidates in one setting")
        hits = np.bincount(self.group, weights=success, minlength=len(self.sizes)).astype(int)
        table = {n: np.array([at_least_one(n, c, k) for c in range(n + 1)]) for n in set(self.sizes.tolist())}
        found = np.zeros(len(self.sizes))
        for n, values in table.items():
            of = self.sizes == n
            found[of] = values[hits[of]]
        return found


def pack(chosen: np.ndarray) -> Bits:
    """(rows, columns) bool -> (rows, words) bits, column 0 first."""
    rows, columns = chosen.shape
    words = max(1, -(-columns // WORD))
    padded = np.zeros((rows, words * WORD), dtype=bool)
    padded[:, :columns] = chosen
    return np.packbits(padded, axis=1, bitorder="little").view("<u8")


def width(tasks: Iterable[Task]) -> int:
    """Columns for the task with the most mutants that count."""
    return max((sum(1 for _ in mutants(task)) for task in tasks), default=0)


def marked(tasks: Sequence[Task], wanted: Sequence[Sequence[bool]]) -> Bits:
    """Bits of each task's mutants that count, from one truth a mutant."""
    chosen = np.zeros((len(tasks), width(tasks)), dtype=bool)
    for row, truths in enumerate(wanted):
        chosen[row, : len(truths)] = truths
    return pack(chosen)


def everything(tasks: Sequence[Task]) -> Bits:
    return marked(tasks, [[True] * sum(1 for _ in mutants(task)) for task in tasks])


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
    kills = outcome == int(Outcome.VIOLATED)
    if also:
        kills |= pc.is_in(table["reason"], value_set=pa.array(list(also), pa.string())).to_numpy(zero_copy_only=False)
    killed = rows & (column >= 0) & kills
    who, which = renumbered[candidate[killed]], column[killed].astype(np.int64)
    np.bitwise_and.at(alive, (who, which // WORD), ~(np.uint64(1) << (which % WORD).astype(np.uint64)))
    return Grid(
        tuple(tasks),
        tuple(sorted(models)),
        tuple(settings),
        task[at],
        model[at],
        setting[at],
        table["sample"].to_numpy()[at],
        outcome[at] == int(Outcome.HOLDS),
        alive,
        full,
        np.array(table["reason"].to_pylist(), dtype=object)[at] if len(table) else np.zeros(0, dtype=object),
    )


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
    words = everything(tasks).shape[1]

    def moved(grid: Grid, values: np.ndarray, names: Sequence[str], of: Sequence[str]) -> np.ndarray:
        return np.array([of.index(name) for name in names] or [0], dtype=np.int64)[values]

    parts = []
    for grid in grids:
        alive = np.zeros((len(grid), words), dtype="<u8")
        alive[:, : grid.alive.shape[1]] = grid.alive
        to = np.array([known[task.key] for task in grid.tasks] or [0], dtype=np.int64)
        model, setting = moved(grid, grid.model, grid.models, models), moved(grid, grid.setting, grid.settings, settings)
        parts.append((to[grid.task], model, setting, grid.sample, grid.correct, alive, grid.reason))
    task, model, setting, sample, correct, alive, reason = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Grid(tuple(tasks), models, settings, task, model, setting, sample, correct, alive, everything(tasks), reason)
