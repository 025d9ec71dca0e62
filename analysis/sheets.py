"""A table as a value, and the forms in which people paste it: Markdown, LaTeX, CSV."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

DASH = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure with its 95 % interval, or with a deviation; None: nothing to say."""

    value: float | None
    low: float | None = None
    high: float | None = None
    deviation: float | None = None
    digits: int = 3

    def written(self) -> str:
        if self.value is None:
            return DASH
        text = f"{self.value:.{self.digits}f}"
        if self.deviation is not None:
            return f"{text} ({self.deviation:.{self.digits}f})"
        return text if self.low is None or self.high is None else f"{text} [{self.low:.2f}, {self.high:.2f}]"


Value = Cell | str | int


@dataclass(frozen=True, slots=True)
class Sheet:
    """`name` is its file's, `title` one line, `notes` what a reader has to know of its rules."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        head = [f"**{self.title}**", "", _line(self.columns), _line(["---", *["---:"] * (len(self.columns) - 1)])]
        body = [_line([_text(value).replace("|", "\\|") for value in row]) for row in self.rows]
        return "\n".join([*head, *(body or [_line([DASH] * len(self.columns))]), "", *self.notes]).rstrip() + "\n"

    def latex(self) -> str:
        body = [" & ".join(_escaped(_text(value)) for value in row) + r" \\" for row in self.rows]
        lines = [
            r"\begin{table}[t]",
            r"\centering",
            r"\begin{tabular}{l" + "r" * (len(self.columns) - 1) + "}",
            r"\toprule",
            " & ".join(_escaped(column) for column in self.columns) + r" \\",
            r"\midrule",
            *(body or [" & ".join(["--"] * len(self.columns)) + r" \\"]),
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{_escaped(' '.join([self.title + '.', *self.notes]))}}}",
            rf"\label{{tab:{self.name}}}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def comma_separated(self) -> str:
        """One column a figure, and one for each of its bounds or its deviation where any row has them."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        parts: list[list[str]] = []
        for column in range(len(self.columns)):
            cells = [row[column] for row in self.rows]
            names = [""]
            if any(isinstance(cell, Cell) and cell.low is not None for cell in cells):
                names += ["low", "high"]
            if any(isinstance(cell, Cell) and cell.deviation is not None for cell in cells):
                names.append("deviation")
            parts.append(names)
        writer.writerow(
            [f"{column} {part}".strip() for column, names in zip(self.columns, parts, strict=True) for part in names]
        )
        for row in self.rows:
            writer.writerow([_raw(value, part) for value, names in zip(row, parts, strict=True) for part in names])
        return out.getvalue()


def _raw(value: Value, part: str) -> object:
    if not isinstance(value, Cell):
        return value if not part else None
    return getattr(value, part or "value")


def _text(value: Value) -> str:
    return value.written() if isinstance(value, Cell) else f"{value:,}" if isinstance(value, int) else value


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escaped(text: str) -> str:
    text = re.sub(r"([&%$#_{}])", r"\\\1", text)
    symbols = {"Δ": r"$\Delta$", "ρ": r"$\rho$", "–": "--", "±": r"$\pm$", "≥": r"$\ge$"}
    return "".join(symbols.get(character, character) for character in text)
