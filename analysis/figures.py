"""Figures, from a grid: for a column's width, in colours that the colour-blind tell apart, the data of each beside it."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from analysis.grid import Grid, unpacked
from analysis.paper import LANGUAGES
from analysis.sheets import Cell, Sheet, Value

matplotlib.use("Agg")
# Okabe and Ito's
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
COLUMN, PAGE = 3.4, 7.0  # inches
LINES = (0, 20, 40)  # of code: where the published groups begin
STYLE: Any = {
    "font.size": 8,
    "svg.hashsalt": "ensures",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure that can be drawn, with what it shows as a table. `size`: inches."""

    name: str
    title: str
    draw: Callable[[Figure], None]
    data: Sheet
    size: tuple[float, float] = (COLUMN, 2.4)


def _made(drawn: Drawn) -> Figure:
    figure = Figure(figsize=drawn.size, layout="constrained")
    drawn.draw(figure)
    return figure


def write(drawn: Drawn, folder: Path) -> None:
    """As PNG and SVG, with its data as CSV."""
    with matplotlib.rc_context(STYLE):
        figure = _made(drawn)
        for ending in ("png", "svg"):
            figure.savefig(folder / f"{drawn.name}.{ending}", dpi=200, metadata={} if ending == "png" else {"Date": None})
    (folder / f"{drawn.name}.csv").write_text(drawn.data.comma_separated(), encoding="utf-8")


def svg(drawn: Drawn) -> str:
    """As an SVG element inside of HTML: text stays text, names of its parts are its own, and it names no place elsewhere."""
    out = io.StringIO()
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": drawn.name, "svg.fonttype": "none", "font.family": "sans-serif"}):
        _made(drawn).savefig(out, format="svg", metadata={"Date": None}, transparent=True)
    bare = re.sub(r"<metadata>.*?</metadata>|\sxmlns(:\w+)?=\"[^\"]*\"", "", out.getvalue(), flags=re.DOTALL)
    return bare[bare.index("<svg") :]


# Gaps


def gaps(grid: Grid, split: str, keep_hopeless: bool) -> Drawn:
    """Corr@1 - Comp@1 of each method (for one model in one setting) as violins, with quartiles as lines and the mean as a dot.

    `split`: setting (Figures 3 and 12), model (33: F2P alone, where there is F2P) or language (34: by setting and language).
    Methods without any correct candidate are left out, as published, or kept.
    """
    parts: list[tuple[str, np.ndarray]] = []
    if split == "setting":
        parts = [(name.upper(), grid.setting == n) for n, name in enumerate(grid.settings)]
    elif split == "model":
        f2p = grid.setting == grid.settings.index("f2p") if "f2p" in grid.settings else np.ones(len(grid), dtype=bool)
        parts = [(name, (grid.model == n) & f2p) for n, name in enumerate(grid.models)]
    else:
        parts = [
            (f"{LANGUAGES.get(language, language)} {name.upper()}", (grid.language == m) & (grid.setting == n))
            for m, language in enumerate(grid.languages)
            for n, name in enumerate(grid.settings)
        ]
    values: list[np.ndarray] = []
    rows: list[tuple[Value, ...]] = []
    for name, mine in parts:
        own = grid.only(mine)
        corr, comp = own.at_k(own.correct, 1), own.at_k(own.complete(), 1)
        values.append((corr - comp)[(corr > 0) | keep_hopeless])
        rows += [(name, Cell(float(gap))) for gap in values[-1]]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        drawn = [(place, found) for place, found in enumerate(values, 1) if len(found) > 1 and np.ptp(found) > 0]
        if drawn:
            places = [place for place, _ in drawn]
            bodies: Any = axes.violinplot([found for _, found in drawn], places, widths=0.8, showextrema=False)["bodies"]
            for place, body in zip(places, bodies, strict=True):
                body.set_facecolor(COLOURS[(place - 1) % len(COLOURS)])
                body.set_alpha(0.6)
        for place, found in enumerate(values, 1):
            if len(found):
                for level in np.percentile(found, [25, 50, 75]):
                    axes.plot([place - 0.25, place + 0.25], [level, level], color="black", linewidth=0.8)
                axes.plot(place, found.mean(), "o", color="black", markersize=3)
        axes.set_xticks(range(1, len(parts) + 1), [name for name, _ in parts], rotation=20, ha="right")
        axes.set_ylabel("Corr@1 – Comp@1")
        axes.set_ylim(-0.02, 1.02)

    kept = "all methods" if keep_hopeless else "methods with a correct candidate"
    f2p_only = " (F2P)" if "f2p" in grid.settings else ""
    by = {"setting": "setting", "model": f"model{f2p_only}", "language": "language and setting"}[split]
    title = f"Gap between correctness and completeness by {by}, {kept}"
    name = f"gaps-by-{split}{'-all' if keep_hopeless else ''}"
    data = Sheet(name, title, (split, "gap"), tuple(rows))
    return Drawn(name, title, draw, data, (PAGE if len(parts) > 5 else COLUMN, 2.4))


# Lines of code


def by_lines(grid: Grid, lines: Mapping[str, int], by_setting: bool) -> Drawn:
    """Corr@1 (top) and Comp@1 (bottom) by lines of code: all settings together (Figure 6), or one column each (Figure 10)."""
    group = np.digitize(np.array([lines[task.id] for task in grid.tasks] or [0])[grid.task], LINES[1:])
    names = [f"[{low}, {high})" for low, high in zip(LINES, (*LINES[1:], "∞"), strict=True)]
    columns = [(name.upper(), grid.setting == n) for n, name in enumerate(grid.settings)] if by_setting else []
    columns = columns or [("", np.ones(len(grid), dtype=bool))]
    rows: list[tuple[Value, ...]] = []
    found: dict[tuple[int, int, str], list[float]] = {}
    for c, (shown, part) in enumerate(columns):
        for m, model in enumerate(grid.models):
            for n, name in enumerate(names):
                own = grid.only(part & (grid.model == m) & (group == n))
                figures = [float(own.at_k(of, 1).mean()) if len(own) else None for of in (own.correct, own.complete())]
                rows.append((shown or "all", model, name, len(own.first), *map(Cell, figures)))
                for what, value in zip(("Corr@1", "Comp@1"), figures, strict=True):
                    found.setdefault((c, m, what), []).append(np.nan if value is None else value)

    def draw(figure: Figure) -> None:
        panels = figure.subplots(2, len(columns), sharex=True, sharey="row", squeeze=False)
        for c, (shown, _) in enumerate(columns):
            for row, what in enumerate(("Corr@1", "Comp@1")):
                axes = panels[row][c]
                for m, model in enumerate(grid.models):
                    style = {"color": COLOURS[m % len(COLOURS)], "marker": MARKERS[m % len(MARKERS)]}
                    axes.plot(range(len(names)), found[c, m, what], label=model, linewidth=1.2, markersize=3, **style)
                axes.set_ylim(bottom=0)
                axes.set_xticks(range(len(names)), names)
                axes.set_title(shown if not row else "", fontsize=8)
            panels[1][c].set_xlabel("lines of code")
        panels[0][0].set_ylabel("Corr@1")
        panels[1][0].set_ylabel("Comp@1")
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=6)

    name = "by-lines-and-setting" if by_setting else "by-lines"
    title = "By lines of code" + (", each setting" if by_setting else "")
    data = Sheet(name, title, ("Setting", "Model", "lines", "n", "Corr@1", "Comp@1"), tuple(rows))
    return Drawn(name, title, draw, data, (PAGE if by_setting else COLUMN, 3.4))


# Mutants


def budget(sheet: Sheet) -> Drawn:
    """Comp@1 by mutant budget, with a band of one deviation of the overall mean. `sheet`: `paper.perturbed`'s second."""
    models = list(dict.fromkeys(str(row[0]) for row in sheet.rows))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for number, model in enumerate(models):
            cells = [
                [cell.value or 0.0 for cell in row[1:] if isinstance(cell, Cell)] for row in sheet.rows if row[0] == model
            ]
            share, mean, _, deviation = (np.array(column) for column in zip(*cells, strict=True))
            colour = COLOURS[number % len(COLOURS)]
            marker = MARKERS[number % len(MARKERS)]
            axes.plot(100 * share, mean, color=colour, label=model, linewidth=1.2, marker=marker, markersize=3)
            axes.fill_between(100 * share, mean - deviation, mean + deviation, color=colour, alpha=0.25, linewidth=0)
        axes.set_xlabel("share of mutants (%)")
        axes.set_ylabel("Comp@1")
        axes.set_ylim(bottom=0)
        if models:
            axes.legend(frameon=False, fontsize=6)

    return Drawn("budget", sheet.title, draw, sheet)


def kill_matrix(grid: Grid) -> Drawn:
    """Methods are rows, their mutants columns from the most to the least killed; the colour is the share of correct
    candidates that kill it."""
    right = grid.only(grid.correct)
    shares: list[tuple[str, np.ndarray]] = []
    for row, task in enumerate(grid.tasks):
        alive = right.alive[right.task == row]
        count = len(task.counted)
        if len(alive) and count:
            shares.append((task.id, np.sort(1 - unpacked(alive, count).mean(axis=0))[::-1]))
    shares.sort(key=lambda item: -float(item[1].mean()))
    wide = max((len(values) for _, values in shares), default=1)
    matrix = np.full((max(1, len(shares)), wide), np.nan)
    rows: list[tuple[Value, ...]] = []
    for number, (name, values) in enumerate(shares):
        matrix[number, : len(values)] = values
        rows += [(name, column, Cell(float(value))) for column, value in enumerate(values)]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        image = axes.imshow(matrix, aspect="auto", cmap="cividis", vmin=0, vmax=1, interpolation="nearest")
        axes.set_xlabel("mutants, the most killed first")
        axes.set_ylabel("methods")
        axes.set_yticks([])
        figure.colorbar(image, label="killed by", fraction=0.05)

    data = Sheet("kill-matrix", "Which mutants correct candidates kill", ("method", "mutant", "killed by"), tuple(rows))
    return Drawn("kill-matrix", data.title, draw, data, (COLUMN, 3.2))


# Tables as bars


def bars(sheet: Sheet, first: int, xlabel: str) -> Drawn:
    """Shares of one row each as stacked bars: the columns of `sheet` from `first` on."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        left = np.zeros(len(sheet.rows))
        for number, kind in enumerate(sheet.columns[first:]):
            cells = [row[number + first] for row in sheet.rows]
            values = np.array([cell.value or 0.0 if isinstance(cell, Cell) else 0.0 for cell in cells])
            colour = COLOURS[number % len(COLOURS)]
            axes.barh(range(len(values)), values, left=left, color=colour, label=kind, hatch="//" * (number >= len(COLOURS)))
            left += values
        axes.set_yticks(range(len(sheet.rows)), [str(row[0]) for row in sheet.rows])
        axes.set_xlim(0, 1)
        axes.set_xlabel(xlabel)
        if len(sheet.rows) and len(sheet.columns) > first:
            axes.legend(frameon=False, fontsize=5, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))

    return Drawn(sheet.name, sheet.title, draw, sheet)


def lengths(sheet: Sheet) -> Drawn:
    """One bar a row, in the table's order from above: `survivors`."""

    def value(row: Sequence[Value]) -> float:
        return row[2].value or 0.0 if isinstance(row[2], Cell) else 0.0

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        languages = list(dict.fromkeys(str(row[0]).partition(":")[0] for row in sheet.rows))
        colours = [COLOURS[languages.index(str(row[0]).partition(":")[0]) % len(COLOURS)] for row in sheet.rows]
        axes.barh(range(len(sheet.rows)), [value(row) for row in sheet.rows], color=colours)
        axes.set_yticks(range(len(sheet.rows)), [str(row[0]) for row in sheet.rows], fontsize=6)
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.set_xlabel("left alive by correct candidates")

    return Drawn(sheet.name, sheet.title, draw, sheet, (COLUMN, max(2.0, 0.14 * len(sheet.rows) + 0.6)))
