"""Models, settings or prompts compared in pairs, on what is there for both: McNemar on correct and complete, Wilcoxon on the
share of mutants killed, Holm's correction over all comparisons of a table, effect sizes beside."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy.stats import rankdata, wilcoxon
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from analysis.grid import Grid
from analysis.sheets import Cell, Sheet, Value

GUIDED = " with guidance"  # behind the name of a model whose prompt explained the grammar


def killed(grid: Grid) -> np.ndarray:
    """(N,) the share of mutants that each candidate kills; 0 for one that is not correct."""
    total = np.bitwise_count(grid.full).sum(axis=1)[grid.task]
    alive = np.bitwise_count(grid.alive & grid.full[grid.task]).sum(axis=1)
    return np.where(grid.correct & (total > 0), 1 - alive / np.maximum(1, total), 0.0)


def paired(one: np.ndarray, other: np.ndarray) -> float:
    """McNemar's exact two-sided p of paired truths."""
    if not (one != other).any():
        return 1.0
    table = [[int((one & other).sum()), int((one & ~other).sum())], [int((~one & other).sum()), int((~one & ~other).sum())]]
    return float(mcnemar(table, exact=True).pvalue)


def odds(one: np.ndarray, other: np.ndarray) -> float | None:
    """Where only one of the two succeeds: how many times as often it is the first. None where it is always the first."""
    first, second = int((one & ~other).sum()), int((~one & other).sum())
    return first / second if second else None


def rank_biserial(difference: np.ndarray) -> float:
    """Of paired differences: -1 where the second is always larger, 1 where the first is."""
    left = difference[difference != 0]
    if not len(left):
        return 0.0
    ranks = rankdata(np.abs(left))
    return float((ranks[left > 0].sum() - ranks[left < 0].sum()) / ranks.sum())


def _matched(a: np.ndarray, b: np.ndarray, key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the candidates of two parts that have the same key."""
    mine, theirs = np.flatnonzero(a), np.flatnonzero(b)
    _, left, right = np.intersect1d(key[mine], key[theirs], return_indices=True)
    return mine[left], theirs[right]


def _keys(grid: Grid, other: np.ndarray, count: int) -> np.ndarray:
    """A number for each (task, other, sample)."""
    samples = int(grid.sample.max(initial=0)) + 1
    return (grid.task.astype(np.int64) * max(1, count) + other) * samples + grid.sample


def guidance(grid: Grid) -> Sheet:
    """Table 11: with and without an explanation of the grammar, on the candidates that are there for both."""
    rows: list[tuple[Value, ...]] = []
    complete, key = grid.complete(), _keys(grid, grid.setting, len(grid.settings))
    for b, name in enumerate(grid.models):
        if not name.endswith(GUIDED) or name.removesuffix(GUIDED) not in grid.models:
            continue
        a = grid.models.index(name.removesuffix(GUIDED))
        left, right = _matched(grid.model == a, grid.model == b, key)
        for what, success in (("Corr@1", grid.correct), ("Comp@1", complete)):
            without, having = success[left], success[right]
            figures = (float(without.mean()), float(having.mean())) if len(left) else (None, None)
            p = paired(without, having) if len(left) else None
            rows.append((name.removesuffix(GUIDED), what, len(left), *map(Cell, figures), Cell(p, digits=4)))
    columns = ("Model", "", "pairs", "without", "with", "p")
    return Sheet("guidance", "Grammar guidance in the prompt", columns, tuple(rows), ("McNemar's exact test on pairs.",))


def models(grid: Grid) -> Sheet:
    """Every two models on the (method, setting, sample) that both have."""
    key = _keys(grid, grid.setting, len(grid.settings))
    parts = [(name, grid.model == position) for position, name in enumerate(grid.models)]
    title = "Models compared in pairs"
    return _pairs(grid, "comparisons", title, "Model", parts, lambda a, b: _matched(a, b, key))


def settings(grid: Grid) -> Sheet:
    """Every two settings on the (method, model, sample) that both have."""
    key = _keys(grid, grid.model, len(grid.models))
    parts = [(name.upper(), grid.setting == position) for position, name in enumerate(grid.settings)]
    title = "Settings compared in pairs"
    return _pairs(grid, "settings", title, "Setting", parts, lambda a, b: _matched(a, b, key))


Match = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _pairs(grid: Grid, name: str, title: str, what: str, parts: list[tuple[str, np.ndarray]], match: Match) -> Sheet:
    complete, share = grid.complete(), killed(grid)
    heads: list[tuple[str, str, int]] = []
    gaps: list[tuple[float, float, float]] = []
    effects: list[tuple[float | None, float | None, float]] = []
    raw: list[tuple[float, float, float]] = []
    for (one, first), (other, second) in combinations(parts, 2):
        left, right = match(first, second)
        if not len(left):
            continue
        difference = share[left] - share[right]
        signed = float(wilcoxon(difference).pvalue) if (difference != 0).any() else 1.0
        truths = [(success[left], success[right]) for success in (grid.correct, complete)]
        heads.append((one, other, len(left)))
        gaps.append((*(float(a.mean() - b.mean()) for a, b in truths), float(difference.mean())))  # type: ignore[arg-type]
        effects.append((*(odds(a, b) for a, b in truths), rank_biserial(difference)))  # type: ignore[arg-type]
        raw.append((*(paired(a, b) for a, b in truths), signed))  # type: ignore[arg-type]
    adjusted = [multipletests([p[column] for p in raw], method="holm")[1] if raw else [] for column in range(3)]
    rows: list[tuple[Value, ...]] = []
    for row, head in enumerate(heads):
        cells: list[Value] = []
        for column in range(3):
            cells += [
                Cell(gaps[row][column]),
                Cell(effects[row][column], digits=2),
                Cell(float(adjusted[column][row]), digits=4),
            ]
        rows.append((*head, *cells))
    columns = (what, "against", "pairs", "Δ correct", "odds", "p", "Δ complete", "odds ", "p ", "Δ killed", "rank", "p  ")
    notes = (
        "McNemar's exact test, Wilcoxon's signed ranks for the share killed; p after Holm's correction. odds: where only "
        "one of the two succeeds, how many times as often it is the first (a dash: always); rank: the rank-biserial "
        "correlation. Samples of one method are not independent: take p as a lower bound.",
    )
    return Sheet(name, title, columns, tuple(rows), notes)
