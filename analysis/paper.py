"""The tables of PostcondBench's evaluation, from a grid. Each is a pure function; the rules of its figures are its notes."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from analysis import ablations
from analysis.ablations import LLM, RULE, Operators, Trials
from analysis.grid import Bits, Grid
from analysis.sheets import Cell, Sheet, Value
from ensures.task import Task
from evaluation.metrics import DRAWS, interval

SEED = 0
Values = Sequence[float] | np.ndarray
LANGUAGES = {"python": "Python", "java": "Java"}
_WORD = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*")


def mean(grid: Grid, values: np.ndarray) -> Cell:
    """Of one value a group, with an interval clustered by repository."""
    if not len(values):
        return Cell(None)
    _, cluster = np.unique(grid.repository[grid.first], return_inverse=True)
    ((low, high),) = interval(values[:, None], cluster, SEED)
    return Cell(float(values.mean()), low, high)


def ratio(grid: Grid, over: np.ndarray, under: np.ndarray, digits: int = 3) -> Cell:
    """The sum of `over` by that of `under`, one value of each a candidate, with an interval clustered by repository."""
    return share(grid.repository, over, under, digits)


def share(repository: Sequence[object] | np.ndarray, over: Values, under: Values, digits: int = 3) -> Cell:
    """The same, of values that are no candidates, each of a repository."""
    if not np.sum(under):
        return Cell(None)
    _, cluster = np.unique(np.asarray(repository), return_inverse=True)
    sums = np.stack([np.bincount(cluster, weights=of) for of in (over, under)])
    drawn = np.random.default_rng(SEED).integers(0, sums.shape[1], size=(DRAWS, sums.shape[1]))
    above, below = sums[:, drawn].sum(axis=2)
    low, high = np.percentile(above[below > 0] / below[below > 0], [2.5, 97.5])
    return Cell(float(np.sum(over) / np.sum(under)), float(low), float(high), digits=digits)


def _pair(grid: Grid, k: int) -> tuple[Cell, Cell, Cell, Cell]:
    """Corr@k, Comp@k, their gap and their ratio."""
    if not len(grid) or int(grid.sizes.min()) < k:
        return (Cell(None),) * 4
    corr, comp = grid.at_k(grid.correct, k), grid.at_k(grid.complete(), k)
    gap = mean(grid, corr - comp)
    return mean(grid, corr), mean(grid, comp), gap, share(grid.repository[grid.first], comp, corr)


def statistics(tasks: Sequence[Task], lines: Mapping[str, int]) -> Sheet:
    """Table 1. `lines`: of code, by task."""
    languages = sorted({task.language.value for task in tasks}, reverse=True)
    parts = [[task for task in tasks if task.language.value == language] for language in languages]

    def average(what: str, of: list[list[float]], digits: int = 1) -> tuple[Value, ...]:
        return (what, *(Cell(float(np.mean(values)), digits=digits) if values else Cell(None) for values in of))

    counted = [[float(len(task.counted)) for task in part] for part in parts]
    rows: list[tuple[Value, ...]] = [
        ("Methods", *(len(part) for part in parts)),
        ("Repositories", *(len({task.repository for task in part}) for part in parts)),
        average("Comment word length", [[float(len(_WORD.findall(task.comment))) for task in part] for part in parts]),
        average("Test cases", [[float(len(task.tests)) for task in part] for part in parts]),
        average("Line coverage (%)", [[100 * task.line_coverage for task in part] for part in parts]),
        average("Lines of code", [[float(lines[task.id]) for task in part] for part in parts]),
        average("Cyclomatic complexity", [[float(task.complexity) for task in part] for part in parts]),
        average("Mutants", counted),
        average("Postconditions", [[float(_clauses(task.reference)) for task in part if task.reference] for part in parts]),
    ]
    notes = (
        "Averages by method. Lines of code count the comment, unless --code-lines is given; mutants are those that count.",
    )
    return Sheet("statistics", "Benchmark", ("", *(LANGUAGES.get(x, x) for x in languages)), tuple(rows), notes)


def _clauses(reference: str) -> int:
    return len(re.findall(r"\bensures?\b\s*\(|\bensures\b", reference))


def overall(grid: Grid, ks: Sequence[int]) -> Sheet:
    """Table 2: by model, languages and settings together."""
    rows = []
    for position, model in enumerate(grid.models):
        own = grid.only(grid.model == position)
        rows += [(model, k, *_pair(own, k), len(own.first)) for k in ks]
    columns = ("Model", "k", "Corr@k", "Comp@k", "Δ", "ρ", "n")
    return Sheet("overall", "Correctness and completeness", columns, tuple(rows), (_INTERVALS, "n: methods times settings."))


_INTERVALS = "95 % intervals by a bootstrap over repositories."


def by_setting(grid: Grid) -> Sheet:
    """Table 5."""
    rows: list[tuple[Value, ...]] = []
    for position, model in enumerate(grid.models):
        for number, language in enumerate(grid.languages):
            for setting, name in enumerate(grid.settings):
                chosen = (grid.model == position) & (grid.language == number) & (grid.setting == setting)
                own = grid.only(chosen)
                rows.append((model, LANGUAGES.get(language, language), name.upper(), *_pair(own, 1), len(own.first)))
    columns = ("Model", "Language", "Setting", "Corr@1", "Comp@1", "Δ", "ρ", "n")
    return Sheet("by-setting", "By language and setting", columns, tuple(rows), (_INTERVALS,))


def dependence(grid: Grid, needs: Mapping[str, Sequence[str]], labels: str = "") -> tuple[Sheet, Sheet]:
    """Tables 3 and 10. `needs`: task -> the names that it needs from elsewhere; none: it stands alone. `labels`: what is
    said of them."""
    alone = np.array([not needs.get(task.id) for task in grid.tasks])[grid.task]
    known = np.array([task.id in needs for task in grid.tasks])[grid.task]

    def figures(chosen: np.ndarray) -> list[Value]:
        groups = [grid.only(chosen & known & part) for part in (~alone, alone)]
        corr = [mean(own, own.at_k(own.correct, 1)) for own in groups]
        comp = [mean(own, own.at_k(own.complete(), 1)) for own in groups]
        return [*corr, *comp, *(len(set(own.task.tolist())) for own in groups)]

    columns = ("Corr@1 Dep.", "Corr@1 Solo.", "Comp@1 Dep.", "Comp@1 Solo.", "methods Dep.", "methods Solo.")
    told = labels or "Told by imports and names."
    notes = (f"Solo.: runs with built-in names and the standard library. {told}", _INTERVALS)
    short: list[tuple[Value, ...]] = []
    long: list[tuple[Value, ...]] = []
    for number, language in enumerate(grid.languages):
        name = LANGUAGES.get(language, language)
        short.append((name, *figures(grid.language == number)))
        for position, model in enumerate(grid.models):
            for setting, shown in enumerate(grid.settings):
                chosen = (grid.language == number) & (grid.model == position) & (grid.setting == setting)
                long.append((name, model, shown.upper(), *figures(chosen)))
    title = "Methods that stand alone and methods that do not"
    return (
        Sheet("dependence", title, ("Language", *columns), tuple(short), notes),
        Sheet(
            "dependence-by-setting",
            f"{title}, each model and setting",
            ("Language", "Model", "Setting", *columns),
            tuple(long),
            notes,
        ),
    )


def discovery(grid: Grid) -> Sheet:
    """Table 6: if only one family had been there, how many of the complete would not be complete."""
    rows: list[tuple[Value, ...]] = []
    for position, model in enumerate(grid.models):
        for number, language in enumerate(grid.languages):
            for setting, name in enumerate(grid.settings):
                own = grid.only((grid.model == position) & (grid.language == number) & (grid.setting == setting))
                figures = [ratio(own, *ablations.false_discoveries(own, family)) for family in (RULE, LLM)]
                rows.append((model, LANGUAGES.get(language, language), name.upper(), *figures))
    notes = ("A mutant of both families counts in both; methods that lack a family are left out.", _INTERVALS)
    columns = ("Model", "Language", "Setting", "only rule", "only LLM")
    return Sheet("false-discovery", "False discovery rate of each mutation family", columns, tuple(rows), notes)


def _under(grid: Grid, subset: Bits) -> list[Cell]:
    """Comp@1 by model over a subset."""
    found = []
    for position in range(len(grid.models)):
        own = grid.only(grid.model == position)
        found.append(mean(own, own.at_k(own.complete(subset), 1)) if len(own) else Cell(None))
    return found


def families(grid: Grid) -> Sheet:
    """Table 7."""
    rows: list[tuple[Value, ...]] = [("all mutants", *_under(grid, grid.full))]
    rows.append(("without LLM", *_under(grid, ablations.without_family(grid, LLM))))
    rows.append(("without rule", *_under(grid, ablations.without_family(grid, RULE))))
    notes = ("What is of one family alone is left out with it. " + _VACUOUS, _INTERVALS)
    return Sheet("families", "Comp@1 without one mutation family", ("Mutants", *grid.models), tuple(rows), notes)


_VACUOUS = "Where nothing is left of a method's mutants, correct is complete (with --empty-is-incomplete: never)."


def perturbed(grid: Grid, operators: Operators, seed: int = SEED, count: int = ablations.TRIALS) -> tuple[Sheet, Sheet]:
    """Table 8; and the budget sweep with both deviations."""
    sweep = {share: ablations.trials(grid, ablations.budget(grid, share), seed, count) for share in ablations.BUDGETS}
    others = {
        "5 operators out": ablations.trials(grid, ablations.five_operators_out(grid, operators), seed, count),
        "half of LLM out": ablations.trials(grid, ablations.half_of_llm(grid), seed, count),
    }
    columns = {**others, **{f"budget {share:.0%}": found for share, found in sweep.items()}}

    def cell(found: Trials) -> Cell:
        return Cell(found.mean, deviation=found.published_deviation)

    rows: tuple[tuple[Value, ...], ...] = tuple(
        (model, *(cell(found[model]) for found in columns.values())) for model in grid.models
    )
    notes = (
        f"Mean and deviation over {count} trials, seed {seed}. The deviation is the published one, the slices' (a language in "
        "a setting) weighted by their size; that of the overall mean is in budget.csv. " + _VACUOUS,
    )
    table = Sheet("perturbations", "Comp@1 under large changes of the mutants", ("Model", *columns), rows, notes)
    lines = tuple(
        (
            model,
            Cell(share, digits=1),
            Cell(found[model].mean),
            Cell(found[model].published_deviation),
            Cell(found[model].deviation),
        )
        for model in grid.models
        for share, found in sweep.items()
    )
    names = ("Model", "share", "Comp@1", "deviation (published)", "deviation (of the mean)")
    return table, Sheet("budget", "Comp@1 by mutant budget", names, lines, notes)


def each_operator(grid: Grid, operators: Operators, matched: float | None = None) -> Sheet:
    """Table 9: each operator out in turn, averaged over models. `matched`: of how many rule mutants the operator was found."""
    rows: list[tuple[Value, ...]] = []
    for number, language in enumerate(grid.languages):
        own = grid.only(grid.language == number)
        if not len(own):
            continue
        name = LANGUAGES.get(language, language)
        rows.append((name, "none", _average(own, own.full), 0))
        for operator in ablations.operators_in(grid, operators)[language]:
            subset = ablations.without_operators(own, {language: (operator,)}, operators)
            gone = int(sum(_bits(own.full ^ subset, row) for row in np.unique(own.task)))
            rows.append((name, operator, _average(own, subset), gone))
    notes = ["Averaged over models. A mutant that a model made as well stays. " + _VACUOUS, _INTERVALS]
    if matched is not None:
        notes.append(f"Operators were found by making rule mutants anew: {matched:.1%} have the same text.")
    columns = ("Language", "Without", "Comp@1", "mutants left out")
    return Sheet("operators", "Comp@1 without one operator", columns, tuple(rows), tuple(notes))


def _average(grid: Grid, subset: Bits) -> Cell:
    """Over models, each of the same weight."""
    if not len(grid):
        return Cell(None)
    values = grid.at_k(grid.complete(subset), 1)
    weight = 1 / np.bincount(grid.model[grid.first], minlength=len(grid.models))[grid.model[grid.first]]
    return share(grid.repository[grid.first], values * weight, weight, digits=4)


def _bits(masks: Bits, row: int) -> int:
    return sum(int(word).bit_count() for word in masks[row])
