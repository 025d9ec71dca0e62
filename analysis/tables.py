"""The result table: on the terminal, as Markdown and CSV, and metrics.json."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

from evaluation.audit import Agreement

HEAD = ("model", "setting", "language", "view", "rule", "k", "tasks", "unresolved", "clusters", "n")
FIGURES = ("corr", "comp", "comp_fraction", "comp_pairs", "delta", "rho")
DASH = "–"
# What to call a view where it is not simply all calls.
VIEWS = {"all": "", "unseen": "unseen calls", "seen": "seen calls"}


def metrics_json(rows: Sequence[dict[str, Any]], generation: Sequence[dict[str, Any]], said: Sequence[str]) -> str:
    """`said`: the lines that a person reads beside the table."""
    return json.dumps({"rows": list(rows), "generation": list(generation), "said": list(said)}, indent=1) + "\n"


def figure(value: float | None) -> str:
    return DASH if value is None else f"{value:.3f}"


def with_interval(value: float | None, interval: Sequence[float] | None) -> str:
    if value is None or interval is None:
        return figure(value)
    return f"{value:.3f} [{interval[0]:.2f}, {interval[1]:.2f}]"


def show(rows: Sequence[dict[str, Any]], stream: TextIO) -> None:
    """The table that a person reads at the end of a run."""
    console = Console(file=stream)
    if not console.is_terminal:
        console = Console(file=stream, width=140)
    table = Table(title="Correctness and completeness (95 % intervals by repository)", title_justify="left")
    several = len({row["language"] for row in rows}) > 1
    views = any(VIEWS.get(row["view"], row["view"]) for row in rows)
    columns = ["model", "setting", *(["language"] if several else []), *(["scored on"] if views else []), "rule"]
    for column in columns:
        table.add_column(column, no_wrap=column != "model", overflow="fold")
    pairs = any(row["comp_pairs"] is not None for row in rows)
    for column in ("tasks", "unres.", "k", "Corr@k", "Comp@k", "Δ", "ρ", "killed", *(["pairs"] if pairs else [])):
        table.add_column(column, justify="right", no_wrap=True)
    last = None
    for row in rows:
        group = (row["model"], row["setting"], row["language"], row["view"], row["rule"])
        if last is not None and group != last:
            table.add_section()
        head = [row["model"], row["setting"], *([row["language"]] if several else [])]
        head += [*([VIEWS.get(row["view"], row["view"])] if views else []), row["rule"]]
        table.add_row(
            *(head if group != last else [""] * len(head)),
            str(row["tasks"]),
            str(row["unresolved"]),
            str(row["k"]),
            with_interval(row["corr"], row["corr_ci"]),
            with_interval(row["comp"], row["comp_ci"]),
            figure(row["delta"]),
            figure(row["rho"]),
            figure(row["comp_fraction"]),
            *([figure(row["comp_pairs"])] if pairs else []),
        )
        last = group
    console.print(table)


def audit_lines(found: Sequence[Agreement]) -> list[str]:
    """One line a way of repeating verdicts."""
    how = {"alone": "in isolation", "cold": "by a cold interpreter"}
    return [
        f"audit: {item.sample} verdicts repeated {how[item.how]}, {item.disagreements} disagree "
        f"(with 95 % confidence fewer than {item.bound:.1%} of all do)"
        for item in found
    ]


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    columns = [*HEAD, "Corr@k", "Comp@k", "killed", "pairs", "delta", "rho"]
    lines = ["| " + " | ".join(columns) + " |", "|" + "|".join("---" for _ in columns) + "|"]
    for row in rows:
        cells = [str(row[name]) for name in HEAD]
        cells += [with_interval(row["corr"], row["corr_ci"]), with_interval(row["comp"], row["comp_ci"])]
        cells += [figure(row["comp_fraction"]), figure(row["comp_pairs"]), figure(row["delta"]), figure(row["rho"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def comma_separated(rows: Sequence[dict[str, Any]]) -> str:
    bounds = [f"{name}_{end}" for name in ("corr", "comp", "corr_tasks", "comp_tasks") for end in ("low", "high")]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*HEAD, *FIGURES, *bounds])
    for row in rows:
        intervals = [row["corr_ci"], row["comp_ci"], row["corr_ci_tasks"], row["comp_ci_tasks"]]
        ends = [end for interval in intervals for end in (interval or (None, None))]
        writer.writerow([*(row[name] for name in HEAD), *(row[name] for name in FIGURES), *ends])
    return out.getvalue()


def write(rows: Sequence[dict[str, Any]], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "results.md").write_text(markdown(rows), encoding="utf-8")
    (folder / "results.csv").write_text(comma_separated(rows), encoding="utf-8")
