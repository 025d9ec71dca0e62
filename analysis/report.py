"""report.html: one self-contained page. The result first, then what killed what, then single tasks to look into."""

import difflib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import yaml

from analysis.candidates import Summary, emptiness
from analysis.generation import Drawn, lines
from analysis.tables import VIEWS, audit_lines, figure, with_interval
from ensures.subject import mutants
from ensures.task import Task
from evaluation.audit import Agreement

TEMPLATES = Path(__file__).parent / "templates"
EXAMPLES = 3  # best and worst tasks shown in full
MISSED = 3  # survivors of a candidate that are shown as differences


@dataclass(frozen=True, slots=True)
class Line:
    """One candidate's row in the kill matrix; `cells` are letters: k killed, s held, e missed, n not run."""

    summary: Summary
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Example:
    task: Task
    summary: Summary
    missed: tuple[tuple[str, str], ...]  # (operator, difference)


def render(
    name: str,
    rows: Sequence[dict[str, Any]],
    tasks: Sequence[Task],
    summaries: Sequence[Summary],
    config: dict[str, Any],
    audited: Sequence[Agreement] = (),
    drawn: Sequence[Drawn] = (),
    currency: str = "",
) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["figure"] = figure
    environment.globals["with_interval"] = with_interval
    # a candidate that was scored on half of the calls is shown by what it did not see
    scored = [summary for summary in summaries if summary.view != "seen"]
    by_task: dict[str, list[Summary]] = defaultdict(list)
    for summary in scored:
        by_task[summary.task].append(summary)
    ranked = sorted((task for task in tasks if by_task[task.id]), key=lambda task: -_success(by_task[task.id]))
    best = [_example(task, max(by_task[task.id], key=_rank)) for task in ranked[:EXAMPLES]]
    rest = ranked[EXAMPLES:]
    worst = [_example(task, min(by_task[task.id], key=_rank)) for task in rest[::-1][:EXAMPLES]]
    return environment.get_template("report.html.jinja").render(
        name=name,
        rows=rows,
        views=VIEWS,
        languages=len({row["language"] for row in rows}),
        headline=[row for row in rows if row["rule"] == "strict" and row["view"] != "seen" and row["k"] == 1],
        matrix=[(task, [_line(task, summary) for summary in by_task[task.id]]) for task in tasks if by_task[task.id]],
        reasons=Counter(summary.reason for summary in scored).most_common(),
        candidates=len(scored),
        best=best,
        worst=worst,
        audit=audit_lines(audited),
        empty=emptiness(summaries),
        drawn=[item for item in drawn if item.completion_tokens or item.too_long],
        drawing=lines(drawn, currency),
        config=yaml.safe_dump(config, sort_keys=False),
    )


def _rank(summary: Summary) -> tuple[bool, float]:
    return summary.correct, summary.killed / max(1, len(summary.outcomes))


def _success(summaries: Sequence[Summary]) -> float:
    return sum(sum(_rank(summary)) for summary in summaries) / len(summaries)


def _line(task: Task, summary: Summary) -> Line:
    letters = {0: "k", 1: "s", -1: "e", None: "n"}
    words = {
        "k": "killed",
        "s": "held",
        "e": "missed (a test fails there, no condition is violated)",
        "n": "not run",
    }
    counted = [mutant for mutant in task.mutants if mutant.excluded is None]
    cells = []
    for mutant, outcome in zip(counted, summary.outcomes, strict=True):
        letter = letters[outcome]
        cells.append((letter, f"{mutant.id} ({mutant.operator or ', '.join(mutant.families)}): {words[letter]}"))
    return Line(summary, tuple(cells))


def _example(task: Task, summary: Summary) -> Example:
    texts = {mutant.id: mutant for mutant in task.mutants}
    missed: list[tuple[str, str]] = []
    if summary.correct:
        for subject, outcome in zip(mutants(task), summary.outcomes, strict=True):
            if outcome != 0 and len(missed) < MISSED:
                mutant = texts[subject.id]
                missed.append((mutant.operator or ", ".join(mutant.families), _difference(task, mutant.implementation)))
    return Example(task, summary, tuple(missed))


def _difference(task: Task, changed: str) -> str:
    lines = difflib.unified_diff(task.implementation.splitlines(), changed.splitlines(), lineterm="", n=1)
    return "\n".join(list(lines)[3:])
