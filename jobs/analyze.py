"""All tables and figures from run folders, or from published results.

usage: python -m jobs.analyze RUN [RUN ...] [--out FOLDER] [--rule strict|paper] [--trials N] [--seed N]
       python -m jobs.analyze --published FOLDER [--out FOLDER]      (a clone's data/step, or files with `results`)
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis import paper
from analysis.report import PAGE
from ensures.errors import EnsuresError, InputError
from evaluation.metrics import RULES
from jobs.findings import from_published, from_runs, write


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m jobs.analyze", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", type=Path, help="run folders")
    parser.add_argument("--published", type=Path, help="published results in place of runs")
    parser.add_argument("--out", type=Path, help="default: the first run's folder, or ./analysis-published")
    parser.add_argument("--rule", choices=RULES, help="default: strict for runs, paper for published results")
    parser.add_argument("--trials", type=int, default=50, help="of each random subset of mutants")
    parser.add_argument("--seed", type=int, default=paper.SEED)
    parser.add_argument("--labels", type=Path, help="CSV with task_id, standalone: in place of our own analysis of dependence")
    parser.add_argument(
        "--leave-out", nargs="+", default=[], metavar="TASK", help="published results: tasks that do not count"
    )
    parser.add_argument("--unequal", action="store_true", help="published results: languages are not cut to equal length")
    parser.add_argument("--code-lines", action="store_true", help="lines of code do not count the comment")
    parser.add_argument("--empty-is-incomplete", action="store_true", help="over no mutants nobody is complete")
    chosen = parser.parse_args(arguments)
    try:
        if bool(chosen.runs) == bool(chosen.published):
            raise InputError("name run folders, or --published FOLDER")
        if chosen.trials < 1:
            raise InputError(f"--trials={chosen.trials}: at least one")
        if chosen.published:
            found = from_published(chosen.published, chosen.rule or "paper", not chosen.unequal, chosen.leave_out)
            out = chosen.out or Path("analysis-published")
        else:
            found = from_runs(chosen.runs, chosen.rule or "strict")
            out = chosen.out or chosen.runs[0]
        if chosen.labels:
            found = found.with_labels(chosen.labels)
        if chosen.code_lines:
            found = found.without_comments()
        if chosen.empty_is_incomplete:
            found = found.with_empty_incomplete()
        sheets = write(found, out, chosen.trials, chosen.seed)
    except (EnsuresError, OSError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    grid = found.study.grid
    print(f"{len(grid):,} candidates of {len(grid.models)} models on {len(set(grid.task.tolist()))} methods")
    if grid.unresolved:
        print(f"unresolved, and in no mean: {len(grid.unresolved):,} of (method, model, setting)")
    for sheet in sheets:
        print(f"  {out / 'tables' / sheet.name}.md  {sheet.title}")
    print(f"figures: {out / 'figures'}")
    print(f"report: {out / PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
