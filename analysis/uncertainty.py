"""How sure the figures are: intervals by repository and by task, bounds with unresolved work, and how much data would tell
two models apart."""

from itertools import combinations

import numpy as np
from scipy.stats import norm

from analysis.grid import Grid
from analysis.paper import SEED
from analysis.sheets import Cell, Sheet, Value
from evaluation.metrics import DRAWS, interval

POWER, LEVEL = 0.8, 0.05


def intervals(grid: Grid) -> Sheet:
    """Corr@1 and Comp@1 of each model, with unresolved work left out, as 0 and as 1."""
    rows: list[tuple[Value, ...]] = []
    for position, model in enumerate(grid.models):
        own = grid.only(grid.model == position)
        lost = sum(place[1] == position for place in grid.unresolved)
        for what, success in (("Corr@1", own.correct), ("Comp@1", own.complete())):
            values = own.at_k(success, 1)
            if not len(values):
                rows.append((model, what, *(Cell(None),) * 3, 0, 0, lost, *(Cell(None),) * 2))
                continue
            mean, repositories = float(values.mean()), _clusters(own.repository[own.first])
            methods = _clusters(own.task[own.first])
            by = [interval(values[:, None], cluster, SEED)[0] for cluster in (repositories, methods)]
            bounds = [float(values.sum() + one * lost) / (len(values) + lost) for one in (0, 1)]
            cells = [Cell(mean), *(Cell(mean, low, high) for low, high in by)]
            rows.append((model, what, *cells, int(repositories.max()) + 1, int(methods.max()) + 1, lost, *map(Cell, bounds)))
    columns = ("Model", "", "mean", "by repository", "by method", "repositories", "methods", "unresolved")
    notes = (
        "95 % percentile intervals of a bootstrap over whole repositories, and over whole methods. Unresolved work is in "
        "no mean; the last two columns are the mean if all of it had failed, and if all of it had succeeded.",
    )
    return Sheet("intervals", "How sure the figures are", (*columns, "as 0", "as 1"), tuple(rows), notes)


def sizes(grid: Grid) -> Sheet:
    """How many methods would be needed to tell two models apart on Comp@1, at this number of samples and at any."""
    rows: list[tuple[Value, ...]] = []
    complete = grid.complete()
    for a, b in combinations(range(len(grid.models)), 2):
        one, other = _rates(grid, complete, a), _rates(grid, complete, b)
        shared = sorted(one.keys() & other.keys())
        if len({place[0] for place in shared}) < 2:
            continue
        means = np.array([one[place][0] - other[place][0] for place in shared])
        noise = np.array([one[place][1] + other[place][1] for place in shared])
        repositories = np.array([_repository(grid, place[0]) for place in shared])
        methods = len({place[0] for place in shared})
        difference = float(means.mean())
        variance = _variance(means, _clusters(repositories)) * methods  # of one method's share of the mean
        sampling = float(noise.mean()) * methods / len(shared)
        wanted = (norm.ppf(1 - LEVEL / 2) + norm.ppf(POWER)) ** 2
        parts = (variance, variance - sampling)
        needed = [wanted * part / difference**2 if difference and part > 0 else None for part in parts]
        cells = [Cell(value, digits=0) for value in needed]
        rows.append((grid.models[a], grid.models[b], methods, Cell(difference), *cells))
    columns = ("Model", "against", "methods", "Δ Comp@1", "methods needed", "with any number of samples")
    notes = (
        f"Methods needed to see the difference at {LEVEL:.0%} with a power of {POWER:.0%}, if it is what was measured and "
        "methods come from repositories as they do here. The last column takes the sampling of candidates out of the "
        "variance; a dash: nothing is left of it.",
    )
    return Sheet("sizes", "How much data would tell two models apart", columns, tuple(rows), notes)


def _rates(grid: Grid, success: np.ndarray, model: int) -> dict[tuple[int, int], tuple[float, float]]:
    """(task, setting) -> its rate, and the variance of that rate by the drawing of its samples."""
    own, values = grid.only(grid.model == model), success[grid.model == model]
    if not len(own):
        return {}
    rate = np.bincount(own.group, weights=values) / own.sizes
    noise = rate * (1 - rate) / np.maximum(1, own.sizes - 1)
    places = zip(own.task[own.first].tolist(), own.setting[own.first].tolist(), strict=True)
    return dict(zip(places, zip(rate.tolist(), noise.tolist(), strict=True), strict=True))


def _variance(values: np.ndarray, cluster: np.ndarray) -> float:
    """Of the mean, by a bootstrap over clusters."""
    count = int(cluster.max()) + 1
    sums, sizes = np.bincount(cluster, weights=values), np.bincount(cluster).astype(float)
    drawn = np.random.default_rng(SEED).integers(0, count, size=(DRAWS, count))
    return float((sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)).var())


def _repository(grid: Grid, task: int) -> str:
    return grid.tasks[task].repository


def _clusters(values: np.ndarray) -> np.ndarray:
    return np.unique(values, return_inverse=True)[1]
