"""What completeness would be with fewer mutants (PostcondBench F.1 to F.5): families, operators, budgets.

The rules, as published where the paper says them and named where it does not:

- A mutant may be of both families. Leaving one family out removes what is of it alone; for the false discovery rate it counts
  in both, and a candidate is skipped where its task has none of a family.
- A budget of the share f keeps max(1, round(f m)) of a task's m mutants, drawn anew in each trial, language and setting.
- Where a subset leaves a task no mutant, a correct candidate is complete over it (`vacuous`).
- The published deviation is the mean of the slices' deviations (a slice is a language in a setting), weighted by their size;
  ours is that of the overall mean. Both are given.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.grid import Bits, Grid, marked, pack
from ensures.task import Mutant, Task

RULE, LLM = "rule", "llm"
BUDGETS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))
TRIALS = 50
OPERATORS_OUT = 5

Operators = Mapping[str, str]  # a mutant's id -> its rule operator, where it is not known from the task itself


def without_family(grid: Grid, family: str) -> Bits:
    return marked(grid.tasks, [[set(m.families) != {family} for m in task.counted] for task in grid.tasks])


def of_family(grid: Grid, family: str) -> Bits:
    return marked(grid.tasks, [[family in m.families for m in task.counted] for task in grid.tasks])


def false_discoveries(grid: Grid, family: str) -> tuple[np.ndarray, np.ndarray]:
    """(N,) candidates that are complete over one family and not over the other, and (N,) those complete over the one: the
    false discovery rate is the first's share of the second."""
    other = LLM if family == RULE else RULE
    mine, theirs = of_family(grid, family), of_family(grid, other)
    both = (np.any(mine, axis=1, keepdims=True) & np.any(theirs, axis=1, keepdims=True))[grid.task, 0]
    found = grid.complete(mine) & both
    return found & ~grid.complete(theirs), found


def operator_of(task: Task, mutant: Mutant, operators: Operators) -> str | None:
    return (mutant.operator or operators.get(f"{task.id}\0{mutant.id}")) if RULE in mutant.families else None


def operators_in(grid: Grid, operators: Operators) -> dict[str, tuple[str, ...]]:
    """Language -> its operators, by name."""
    found: dict[str, set[str]] = {language: set() for language in grid.languages}
    for task in grid.tasks:
        found[task.language.value] |= {name for m in task.counted if (name := operator_of(task, m, operators))}
    return {language: tuple(sorted(names)) for language, names in found.items()}


def without_operators(grid: Grid, gone: Mapping[str, Sequence[str]], operators: Operators) -> Bits:
    """`gone`: language -> names. A mutant that a model made, too, stays."""
    return marked(
        grid.tasks,
        [
            [
                LLM in m.families or operator_of(task, m, operators) not in gone.get(task.language.value, ())
                for m in task.counted
            ]
            for task in grid.tasks
        ],
    )


@dataclass(frozen=True, slots=True)
class Trials:
    """Comp@1 under random subsets: (trials,) means over all, and (slices, trials) by language and setting, with sizes."""

    means: np.ndarray
    slices: np.ndarray
    sizes: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.means.mean())

    @property
    def deviation(self) -> float:
        """Of the overall mean."""
        return float(self.means.std(ddof=1)) if len(self.means) > 1 else 0.0

    @property
    def published_deviation(self) -> float:
        """The slices' deviations, weighted by their sizes."""
        if self.slices.shape[1] < 2 or not self.sizes.sum():
            return 0.0
        return float(np.average(self.slices.std(axis=1, ddof=1), weights=self.sizes))


Draw = Callable[[np.random.Generator], Sequence[Bits]]  # for one trial: each task's subset, for each setting


def trials(grid: Grid, draw: Draw, seed: int, count: int = TRIALS) -> dict[str, Trials]:
    """By model."""
    rng = np.random.default_rng(seed)
    slices = [(language, setting) for language in range(len(grid.languages)) for setting in range(len(grid.settings))]
    # a group's share of a slice's mean: candidates of one group count together
    weight = 1.0 / grid.sizes[grid.group]
    number = (grid.model * len(grid.languages) + grid.language) * len(grid.settings) + grid.setting
    cells = len(grid.models) * len(slices)
    groups = np.bincount(number, weights=weight, minlength=cells)
    hits = np.zeros((count, cells))
    right = grid.correct
    for trial in range(count):
        for setting, mask in enumerate(draw(rng)):
            here = right & (grid.setting == setting)
            found = ~(grid.alive[here] & mask[grid.task[here]]).any(axis=1)
            if not grid.vacuous:
                found &= np.any(mask, axis=1, keepdims=True)[grid.task[here], 0]
            hits[trial] += np.bincount(number[here], weights=weight[here] * found, minlength=cells)
    made = {}
    for position, model in enumerate(grid.models):
        own = slice(position * len(slices), (position + 1) * len(slices))
        sizes = groups[own]
        kept = sizes > 0
        by_slice = (hits[:, own][:, kept] / sizes[kept]).T
        made[model] = Trials(hits[:, own].sum(axis=1) / max(1.0, sizes.sum()), by_slice, sizes[kept])
    return made


def budget(grid: Grid, share: float) -> Draw:
    """So large a share of each task's mutants, at least one; drawn anew for each setting."""
    counts = np.array([len(task.counted) for task in grid.tasks])
    kept = np.maximum(1, np.round(share * counts).astype(int))
    columns = int(counts.max(initial=0))
    there = np.arange(columns)[None, :] < counts[:, None]

    def one(rng: np.random.Generator) -> Bits:
        keys = np.where(there, rng.random((len(counts), columns)), 2.0)
        ranks = keys.argsort(axis=1).argsort(axis=1)
        return pack(there & (ranks < kept[:, None]))

    return lambda rng: [one(rng) for _ in grid.settings]


def half_of_llm(grid: Grid) -> Draw:
    """Without half of the mutants that only a model made; drawn anew for each setting."""
    alone = [[set(m.families) == {LLM} for m in task.counted] for task in grid.tasks]
    columns = max(map(len, alone), default=0)
    mine = np.zeros((len(alone), columns), dtype=bool)
    there = np.zeros_like(mine)
    for row, truths in enumerate(alone):
        mine[row, : len(truths)] = truths
        there[row, : len(truths)] = True
    dropped = np.round(0.5 * mine.sum(axis=1)).astype(int)

    def one(rng: np.random.Generator) -> Bits:
        keys = np.where(mine, rng.random(mine.shape), 2.0)
        ranks = keys.argsort(axis=1).argsort(axis=1)
        return pack(there & ~(mine & (ranks < dropped[:, None])))

    return lambda rng: [one(rng) for _ in grid.settings]


def five_operators_out(grid: Grid, operators: Operators) -> Draw:
    """Without five of each language's operators, the same five in all settings."""
    names = operators_in(grid, operators)
    alone = {
        (language, name): without_operators(grid, {language: (name,)}, operators)
        for language, found in names.items()
        for name in found
    }

    def draw(rng: np.random.Generator) -> Sequence[Bits]:
        mask = grid.full.copy()
        for language, found in names.items():
            for name in rng.permutation(np.array(found, dtype=object))[:OPERATORS_OUT]:
                mask &= alone[language, name]
        return [mask] * len(grid.settings)

    return draw
