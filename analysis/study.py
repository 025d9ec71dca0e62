"""All tables and figures of a study: candidates of one or several runs, with what is known about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analysis import clauses, comparison, failures, figures, paper, reasoning, subsumption, turns, uncertainty, variety
from analysis.ablations import TRIALS, Operators
from analysis.clauses import Parts
from analysis.failures import Tally
from analysis.figures import Drawn
from analysis.grid import Grid
from analysis.reasoning import Thought
from analysis.sheets import Sheet
from analysis.turns import Conversation
from analysis.variety import Said

REPORTED = (1, 3, 5)


@dataclass(frozen=True)
class Study:
    """`lenient`: the same candidates with a raise taken for a kill, and `on_mutants` the reasons of verdicts on mutants by
    model; None where rows do not tell (published results). `needs`: task -> names that its method needs. `said`: by
    candidate. `incorrect`: by model, section 5.2's categories."""

    grid: Grid
    lenient: Grid | None = None
    on_mutants: Tally = field(default_factory=dict)
    incorrect: Tally = field(default_factory=dict)
    operators: Operators = field(default_factory=dict)
    matched: float | None = None
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    said: Mapping[str, Said] = field(default_factory=dict)
    parts: Mapping[str, Parts] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)  # of code by task; default: the comment counts, as published
    thoughts: Sequence[Thought] = ()  # classified
    conversations: Sequence[Conversation] = ()  # of multi-turn strategies
    cutoffs: Mapping[str, str] = field(default_factory=dict)
    labels: str = ""  # where `needs` are another's labels: a line about them


def lines_of(study: Study) -> dict[str, int]:
    return {task.id: study.lines.get(task.id, task.lines) for task in study.grid.tasks}


def tables(study: Study, trials: int = TRIALS, seed: int = paper.SEED) -> list[Sheet]:
    """Every table. What there is nothing to say about has dashes, or no rows."""
    whole, by = study.grid, study.operators
    grid = whole.fair()
    ks = [k for k in REPORTED if k <= int(grid.sizes.min(initial=REPORTED[-1]))] or [1]
    hard = subsumption.difficulty(grid)
    perturbed, sweep = paper.perturbed(grid, by, seed, trials)
    found = [
        paper.statistics(grid.tasks, lines_of(study)),
        paper.overall(grid, ks),
        uncertainty.intervals(whole),
        paper.by_setting(grid),
        *paper.dependence(grid, study.needs, study.labels),
        paper.discovery(grid),
        paper.families(grid),
        perturbed,
        sweep,
        paper.each_operator(grid, by, study.matched),
        comparison.guidance(grid),
        comparison.models(grid),
        comparison.settings(grid),
        uncertainty.sizes(grid),
        failures.reasons(grid),
        failures.survivors(grid, by),
        subsumption.mutants(grid, hard),
        subsumption.scores(grid, hard),
        variety.variety(grid, study.said),
        variety.by_date(grid, study.cutoffs),
    ]
    if study.incorrect:
        found.append(failures.categories(study.incorrect))
    if study.lenient is not None:
        found.append(failures.causes(grid, study.lenient.fair(), study.on_mutants))
    if study.conversations:
        found += [turns.attempts(study.conversations), turns.tokens(study.conversations)]
        found += [sheet for sheet in (turns.draws(study.conversations), turns.bugs(study.conversations)) if sheet.rows]
    if study.thoughts:
        found.append(reasoning.table(study.thoughts))
    if study.parts:
        found.append(clauses.clauses(grid, study.parts))
    return found


def drawn(study: Study, sheets: Sequence[Sheet]) -> list[Drawn]:
    """Every figure. `sheets`: the study's tables, some of which are drawn."""
    grid = study.grid.fair()
    lines = lines_of(study)
    by_name = {sheet.name: sheet for sheet in sheets}
    found = [figures.gaps(grid, split, keep) for split in ("setting", "model", "language") for keep in (False, True)]
    found += [figures.by_lines(grid, lines, False), figures.by_lines(grid, lines, True), figures.budget(by_name["budget"])]
    found += [figures.kill_matrix(grid), figures.bars(by_name["reasons"], 2, "share of candidates")]
    if "categories" in by_name:
        found.append(figures.bars(by_name["categories"], 2, "share of candidates that are not correct"))
    if "causes" in by_name:
        found.append(figures.bars(by_name["causes"], 5, "share of correct candidates' verdicts on mutants"))
    found.append(figures.lengths(by_name["survivors"]))
    if study.conversations:
        found.append(turns.by_submission(study.conversations))
    if study.thoughts:
        found.append(reasoning.by_turn(study.thoughts))
    return found


def write(sheets: Sequence[Sheet], drawings: Sequence[Drawn], out: Path) -> None:
    """Markdown, LaTeX and CSV into tables/, PNG, SVG and CSV into figures/."""
    for folder in ("tables", "figures"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    for sheet in sheets:
        for ending, text in (("md", sheet.markdown()), ("tex", sheet.latex()), ("csv", sheet.comma_separated())):
            (out / "tables" / f"{sheet.name}.{ending}").write_text(text, encoding="utf-8")
    for figure in drawings:
        figures.write(figure, out / "figures")
