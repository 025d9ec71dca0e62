"""Figures, from a grid: for a column's width, in colours that the colour-blind tell apart, the data of each beside it."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.grid import Grid
from analysis.sheets import Cell, Sheet, Value

matplotlib.use("Agg")
# Okabe and Ito's
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
WIDTH, HEIGHT = 3.4, 2.4  # inches
BINS = (0, 15, 25, 40, 60, 10_000)  # lines of code

Drawn = tuple[Callable[[Axes], None], Sheet]


def write(name: str, drawn: Drawn, folder: Path) -> Sheet:
    """As PNG and SVG, with its data as CSV."""
    draw, data = drawn
    with matplotlib.rc_context(
        {"font.size": 8, "svg.hashsalt": "ensures", "axes.spines.top": False, "axes.spines.right": False}
    ):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        draw(figure.subplots())
        for ending in ("png", "svg"):
            figure.savefig(folder / f"{name}.{ending}", dpi=200, metadata={} if ending == "png" else {"Date": None})
    (folder / f"{name}.csv").write_text(data.comma_separated(), encoding="utf-8")
    return data


def gaps(grid: Grid) -> Drawn:
    """Figure 3: the distribution of Corr@1 - Comp@1 over methods that have a correct candidate, with its mean."""
    values: list[np.ndarray] = []
    rows: list[tuple[Value, ...]] = []
    for position, model in enumerate(grid.models):
        own = grid.only(grid.model == position)
        corr, comp = own.at_k(own.correct, 1), own.at_k(own.complete(), 1)
        values.append((corr - comp)[corr > 0])
        rows += [(model, Cell(float(gap))) for gap in values[-1]]

    def draw(axes: Axes) -> None:
        drawn = [(place, found) for place, found in enumerate(values, 1) if len(found) > 1]
        if drawn:
            places = [place for place, _ in drawn]
            bodies: Any = axes.violinplot([found for _, found in drawn], places, widths=0.8, showextrema=False)["bodies"]
            for place, body in zip(places, bodies, strict=True):
                body.set_facecolor(COLOURS[(place - 1) % len(COLOURS)])
                body.set_alpha(0.6)
        for place, found in enumerate(values, 1):
            if len(found):
                axes.plot([place - 0.25, place + 0.25], [found.mean()] * 2, color="black", linewidth=1.2)
        axes.set_xticks(range(1, len(grid.models) + 1), grid.models, rotation=20, ha="right")
        axes.set_ylabel("Corr@1 – Comp@1")
        axes.set_ylim(-0.02, 1.02)

    return draw, Sheet("gaps", "Gap by method", ("Model", "gap"), tuple(rows))


def by_lines(grid: Grid) -> Drawn:
    """Figure 6: Corr@1 and Comp@1 by lines of code, all models together."""
    corr, comp = grid.at_k(grid.correct, 1), grid.at_k(grid.complete(), 1)
    lines = np.array([task.lines for task in grid.tasks])[grid.task][grid.first]
    rows: list[tuple[str, int, Cell, Cell]] = []
    for low, high in pairwise(BINS):
        name = f"≤ {high}" if low == 0 else f"{low + 1}–{high}" if high < BINS[-1] else f"> {low}"
        inside = (lines > low) & (lines <= high)
        some = bool(inside.any())
        means = [Cell(float(of[inside].mean()) if some else None) for of in (corr, comp)]
        rows.append((name, int(inside.sum()), means[0], means[1]))

    def draw(axes: Axes) -> None:
        places = np.arange(len(rows))
        axes.bar(places - 0.2, [corr.value or 0 for _, _, corr, _ in rows], 0.38, label="Corr@1", color=COLOURS[0])
        axes.bar(places + 0.2, [comp.value or 0 for _, _, _, comp in rows], 0.38, label="Comp@1", color=COLOURS[1])
        axes.set_xticks(places, [name for name, *_ in rows])
        axes.set_xlabel("lines of code")
        axes.set_ylim(0, 1)
        axes.legend(frameon=False)

    return draw, Sheet("by-lines", "By lines of code", ("lines", "n", "Corr@1", "Comp@1"), tuple(rows))


def budget(sheet: Sheet) -> Drawn:
    """Comp@1 by mutant budget, with a band of one deviation of the overall mean. `sheet`: `paper.perturbed`'s second."""
    models = list(dict.fromkeys(str(row[0]) for row in sheet.rows))

    def draw(axes: Axes) -> None:
        for number, model in enumerate(models):
            cells = [
                [cell.value or 0.0 for cell in row[1:] if isinstance(cell, Cell)] for row in sheet.rows if row[0] == model
            ]
            share, mean, _, deviation = (np.array(column) for column in zip(*cells, strict=True))
            colour = COLOURS[number % len(COLOURS)]
            axes.plot(100 * share, mean, color=colour, label=model, linewidth=1.2, marker="o", markersize=2)
            axes.fill_between(100 * share, mean - deviation, mean + deviation, color=colour, alpha=0.25, linewidth=0)
        axes.set_xlabel("share of mutants (%)")
        axes.set_ylabel("Comp@1")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False, fontsize=6)

    return draw, sheet


def reasons(sheet: Sheet) -> Drawn:
    """What candidates came to on the original, as stacked bars. `sheet`: `paper.reasons`'s."""

    def draw(axes: Axes) -> None:
        left = np.zeros(len(sheet.rows))
        for number, kind in enumerate(sheet.columns[2:]):
            values = np.array([cell.value or 0.0 if isinstance(cell := row[number + 2], Cell) else 0.0 for row in sheet.rows])
            axes.barh(range(len(values)), values, left=left, color=COLOURS[number % len(COLOURS)], label=kind)
            left += values
        axes.set_yticks(range(len(sheet.rows)), [str(row[0]) for row in sheet.rows])
        axes.set_xlim(0, 1)
        axes.set_xlabel("share of candidates")
        axes.legend(frameon=False, fontsize=5, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))

    return draw, sheet
