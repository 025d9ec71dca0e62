"""All candidates of all models against all mutants, as bits: built once, so that every table and ablation is arithmetic.

`alive` holds a bit for each mutant that a candidate did not kill. A candidate is complete over a subset of its task's mutants
if it is correct and none of them is alive; so 50 trials x 10 budgets x all models are 500 masks over one array.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from ensures.subject import mutants
from ensures.task import Task
from evaluation.metrics import at_least_one

WORD = 64
Bits = np.ndarray  # uint64, (rows, words)


ROWS = ("task", "model", "setting", "sample", "correct", "alive", "reason", "judged", "key")  # one entry a candidate


@dataclass(frozen=True)
class Grid:
    """Candidates are rows. `task`, `model`, `setting`: (N,) positions in the tuples; `sample`: (N,); `correct`: (N,) bool;
    `alive`: (N, W); `full`: (T, W), the mutants of each task that count; `reason`: (N,) the verdict's on the original;
    `judged`: (N,) is all there that its figures need?; `key`: (N,) the candidates' own. `unresolved`: (task, model, setting)
    of which no figure may come."""

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
    judged: np.ndarray
    key: np.ndarray
    unresolved: tuple[tuple[int, int, int], ...] = ()
    vacuous: bool = True  # is a correct candidate complete over no mutants at all? As published; or never

    def __len__(self) -> int:
        return len(self.task)

    def only(self, chosen: np.ndarray) -> "Grid":
        """The candidates at these positions, or where this is true."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in ROWS})

    def resolved(self, k: int, asked: Iterable[tuple[str, str]]) -> "Grid":
        """The candidates of every (task, setting) that has k of them, each with all its verdicts. What lacks something,
        or was asked (task's id, setting) and is not there at all, is unresolved: in no mean, and never a wrong candidate.
        """
        if not len(self):
            return self
        whole = (np.bincount(self.group, weights=self.judged) == self.sizes) & (self.sizes >= k)
        kept = self.only(whole[self.group])
        asked = list(asked)
        settings = tuple(dict.fromkeys((*self.settings, *(setting for _, setting in asked))))
        at = {task.id: number for number, task in enumerate(self.tasks)}
        wanted = {(at[task], settings.index(setting)) for task, setting in asked}
        wanted |= set(zip(self.task.tolist(), self.setting.tolist(), strict=True))
        there = set(zip(kept.task.tolist(), kept.model.tolist(), kept.setting.tolist(), strict=True))
        places = ((task, model, setting) for (task, setting), model in product(sorted(wanted), range(len(self.models))))
        return replace(kept, settings=settings, unresolved=tuple(place for place in places if place not in there))

    def fair(self) -> "Grid":
        """Without the (task, setting) that are unresolved for any model: models are compared on what all have."""
        gone = {(task, setting) for task, _, setting in self.unresolved}
        if not gone:
            return self
        lost = [(task, setting) in gone for task, setting in zip(self.task.tolist(), self.setting.tolist(), strict=True)]
        return self.only(~np.array(lost, dtype=bool))

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

    def complete(self, subset: Bits | None = None) -> np.ndarray:
        """(N,) bool: correct, and no mutant of the subset (default: all that count) alive."""
        wanted = self.full if subset is None else subset
        found: np.ndarray = self.correct & ~(self.alive & wanted[self.task]).any(axis=1)
        return found if self.vacuous else found & np.any(wanted, axis=1, keepdims=True)[self.task, 0]

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


def unpacked(bits: Bits, count: int) -> np.ndarray:
    """(rows, words) -> (rows, count) bool."""
    places = np.arange(count)
    return (bits[:, places // WORD] >> (places % WORD).astype(np.uint64) & np.uint64(1)).astype(bool)


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
