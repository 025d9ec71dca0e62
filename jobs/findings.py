"""A study written down: tables, figures and the report, from run folders or published results; told to a tracker."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis import generation, paper, report, study
from analysis.ablations import TRIALS
from analysis.report import Method
from analysis.sheets import Sheet
from analysis.study import Study
from jobs import pages
from jobs.study import Run, body, labelled, of_runs, opened, published
from jobs.tracker import NoTracker, Tracker


@dataclass(frozen=True)
class Findings:
    """What is to be written: a study, its methods one by one, and what stands beside them in the report."""

    study: Study
    methods: Iterable[Method]
    title: str
    said: Sequence[str]
    drawing: Sheet | None = None
    config: str = ""

    def without_comments(self) -> "Findings":
        """Lines of code do not count the comment."""
        lines = {task.id: len(body(task).strip().splitlines()) for task in self.study.grid.tasks}
        return replace(self, study=replace(self.study, lines=lines))

    def with_empty_incomplete(self) -> "Findings":
        """Nobody is complete over no mutants."""
        lenient = self.study.lenient and replace(self.study.lenient, vacuous=False)
        return replace(self, study=replace(self.study, grid=replace(self.study.grid, vacuous=False), lenient=lenient))

    def with_labels(self, path: Path) -> "Findings":
        return replace(self, study=labelled(self.study, path))


def from_runs(paths: Sequence[Path], rule: str) -> Findings:
    """Raises InputError where there is nothing to be analyzed."""
    runs = [opened(path) for path in paths]
    found = of_runs(runs, rule)
    title = ", ".join(run.path.name for run in runs)
    config = "\n".join((run.path / "config.yaml").read_text(encoding="utf-8") for run in runs)
    told = {run.path.name: _metrics(run) for run in runs}
    said = [f"{name}: {line}" if len(runs) > 1 else line for name, item in told.items() for line in item.get("said", [])]
    drawing = generation.sheet((name, sums) for name, item in told.items() for sums in item.get("generation", []))
    return Findings(found, pages.methods(runs, rule), title, [*said, *_notes(found, rule)], drawing, config)


def from_published(path: Path, rule: str, equal: bool, leave_out: Sequence[str]) -> Findings:
    """Raises InputError."""
    found = published(path, rule, equal, leave_out)
    said = ["published results: statuses alone, and no test of ours was run", *_notes(found, rule)]
    return Findings(found, pages.published_methods(path, found.grid.tasks), f"{path.name}, published", said)


def write(
    findings: Findings, out: Path, trials: int = TRIALS, seed: int = paper.SEED, tracker: Tracker | None = None
) -> list[Sheet]:
    """Everything into `out`; gives the tables."""
    sheets = study.tables(findings.study, trials, seed)
    if findings.drawing is not None and findings.drawing.rows:
        sheets.append(findings.drawing)
    drawn = study.drawn(findings.study, sheets)
    study.write(sheets, drawn, out)
    report.write(out, findings.title, sheets, drawn, findings.methods, findings.said, findings.config)
    (tracker or NoTracker()).study(sheets, drawn)
    return sheets


def _metrics(run: Run) -> dict[str, Any]:
    """What the run's end wrote beside its rows; nothing where it has not ended."""
    path = run.path / "metrics.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _notes(found: Study, rule: str) -> list[str]:
    """What a reader has to know of all tables."""
    said = [f"rule: {rule}"]
    if found.grid.unresolved:
        count = len(found.grid.unresolved)
        said.append(f"unresolved, and in no mean: {count:,} of (method, model, setting); models are compared without them")
    return said
