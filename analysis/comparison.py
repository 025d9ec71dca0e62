"""Models, settings or prompts compared in pairs, on what is there for both: McNemar on correct and complete, Wilcoxon on the
share of mutants killed, Holm's correction over all comparisons of a table."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.stats import binomtest, wilcoxon

from analysis.grid import Grid
from analysis.sheets import Cell, Sheet, Value


def killed(grid: Grid) -> np.ndarray:
    """(N,) the share of mutants that each candidate kills; 0 for one that is not correct."""
    total = np.bitwise_count(grid.full).sum(axis=1)[grid.task]
    alive = np.bitwise_count(grid.alive & grid.full[grid.task]).sum(axis=1)
    return np.where(grid.correct & (total > 0), 1 - alive / np.maximum(1, total), 0.0)


def mcnemar(one: np.ndarray, other: np.ndarray) -> float:
    """The exact two-sided p of paired truths."""
    only_one, only_other = int((one & ~other).sum()), int((~one & other).sum())
    return float(binomtest(only_one, only_one + only_other).pvalue) if only_one + only_other else 1.0


def holm(values: Sequence[float]) -> list[float]:
    """Adjusted so that the chance of any false finding stays below the level."""
    adjusted, worst = [0.0] * len(values), 0.0
    for rank, position in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        worst = max(worst, min(1.0, values[position] * (len(values) - rank)))
        adjusted[position] = worst
    return adjusted


GUIDED = " with guidance"  # behind the name of a model whose prompt explained the grammar


def _paired(grid: Grid, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the candidates of two models that are of one method, setting and sample."""
    samples = int(grid.sample.max(initial=0)) + 1
    key = (grid.task.astype(np.int64) * len(grid.settings) + grid.setting) * samples + grid.sample
    mine, theirs = np.flatnonzero(grid.model == a), np.flatnonzero(grid.model == b)
    _, left, right = np.intersect1d(key[mine], key[theirs], return_indices=True)
    return mine[left], theirs[right]


def guidance(grid: Grid) -> Sheet:
    """Table 11: with and without an explanation of the grammar, on the candidates that are there for both."""
    rows: list[tuple[Value, ...]] = []
    complete = grid.complete()
    for b, name in enumerate(grid.models):
        if not name.endswith(GUIDED) or name.removesuffix(GUIDED) not in grid.models:
            continue
        left, right = _paired(grid, grid.models.index(name.removesuffix(GUIDED)), b)
        for what, success in (("Corr@1", grid.correct), ("Comp@1", complete)):
            without, having = success[left], success[right]
            figures = (float(without.mean()), float(having.mean())) if len(left) else (None, None)
            p = mcnemar(without, having) if len(left) else None
            rows.append((name.removesuffix(GUIDED), what, len(left), *map(Cell, figures), Cell(p, digits=4)))
    columns = ("Model", "", "pairs", "without", "with", "p")
    return Sheet("guidance", "Grammar guidance in the prompt", columns, tuple(rows), ("McNemar's exact test on pairs.",))


def models(grid: Grid) -> Sheet:
    """Every two models on the (method, setting, sample) that both have."""
    rows, raw = [], []
    complete, share = grid.complete(), killed(grid)
    for a, b in combinations(range(len(grid.models)), 2):
        left, right = _paired(grid, a, b)
        if not len(left):
            continue
        difference = share[left] - share[right]
        signed = float(wilcoxon(difference).pvalue) if (difference != 0).any() else 1.0
        p = (mcnemar(grid.correct[left], grid.correct[right]), mcnemar(complete[left], complete[right]), signed)
        gaps = (
            float(grid.correct[left].mean() - grid.correct[right].mean()),
            float(complete[left].mean() - complete[right].mean()),
            float(difference.mean()),
        )
        rows.append((grid.models[a], grid.models[b], len(left), gaps))
        raw.append(p)
    adjusted = [holm([p[column] for p in raw]) for column in range(3)]
    body: tuple[tuple[Value, ...], ...] = tuple(
        (one, other, n, *(cell for column in range(3) for cell in (Cell(gaps[column]), Cell(adjusted[column][row], digits=4))))
        for row, (one, other, n, gaps) in enumerate(rows)
    )
    columns = ("Model", "against", "pairs", "Δ correct", "p", "Δ complete", "p ", "Δ killed", "p  ")
    notes = ("McNemar's exact test, Wilcoxon's signed ranks for the share killed; p after Holm's correction. Samples of one "
             "method are not independent: take p as a lower bound.",)  # fmt: skip
    return Sheet("comparisons", "Models compared in pairs", columns, body, notes)
