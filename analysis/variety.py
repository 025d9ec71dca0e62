"""How much the k candidates of one request differ, and what correct ones are worth: some say nothing, some the code again."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.grid import Grid
from analysis.paper import LANGUAGES, mean, ratio
from analysis.sheets import Cell, Sheet, Value

RESTATED = 0.5  # of the body's runs of tokens
RUN = 4  # tokens
LEAST = 8  # runs: a shorter body can hardly be said otherwise
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|[^\s\w]")


@dataclass(frozen=True, slots=True)
class Said:
    """One candidate's text. `shape`: equal for candidates that differ in layout and order of clauses alone. `restates`: does
    it repeat the method's body? `insensitive`: would it have noticed no other result? None: not looked at."""

    shape: str
    restates: bool = False
    insensitive: bool | None = None


def restates(text: str, body: str) -> bool:
    """Half of the body's runs of four tokens stand in the text."""
    runs = _runs(body)
    return len(runs) >= LEAST and len(runs & _runs(text)) >= RESTATED * len(runs)


def _runs(text: str) -> set[tuple[str, ...]]:
    tokens = _TOKEN.findall(text)
    return {tuple(tokens[at : at + RUN]) for at in range(len(tokens) - RUN + 1)}


def variety(grid: Grid, said: Mapping[str, Said]) -> Sheet:
    """By model. Texts that are not known (published results of another form) give dashes."""
    rows: list[tuple[Value, ...]] = []
    full = grid.full[grid.task]
    behaviour = [bytes(row) for row in np.where(grid.correct[:, None], grid.alive & full, ~np.uint64(0))]
    for position, model in enumerate(grid.models):
        mine = np.flatnonzero(grid.model == position)
        own = grid.only(mine)
        if not len(own):
            rows.append((model, *(Cell(None),) * 6))
            continue
        vectors = _distinct(own, [behaviour[at] for at in mine])
        texts = [said.get(str(key)) for key in own.key]
        shapes = _distinct(own, [text.shape for text in texts if text]) if all(texts) else None
        idle = own.correct & ~(full[mine] & ~own.alive).any(axis=1)
        asked = np.array([text is not None and text.insensitive is not None for text in texts]) & own.correct
        silent = np.array([bool(text and text.insensitive) for text in texts]) & asked & idle
        known = np.array([text is not None for text in texts]) & own.correct
        again = np.array([bool(text and text.restates) for text in texts]) & known
        cells = [
            mean(own, shapes) if shapes is not None else Cell(None),
            mean(own, vectors),
            ratio(own, idle, own.correct),
            ratio(own, silent, asked),
            ratio(own, again, known),
        ]
        rows.append((model, Cell(float(own.sizes.mean()), digits=1), *cells))
    columns = (
        "Model",
        "candidates",
        "distinct texts",
        "distinct behaviours",
        "kill nothing",
        "say nothing",
        "say the code again",
    )
    notes = (
        "Of the candidates of one method and setting: how many differ in more than layout and order of clauses, and in "
        "what they kill (all that are not correct are one). Then shares of the correct ones: without a kill; without a "
        f"kill and with nothing that they would have noticed in the result's place; with {RESTATED:.0%} of the body's runs "
        f"of {RUN} tokens in their own text.",
    )
    return Sheet("variety", "How much candidates differ, and what they say", columns, tuple(rows), notes)


def _distinct(grid: Grid, values: list[bytes] | list[str]) -> np.ndarray:
    """For each group how many different values it has."""
    code = {value: number for number, value in enumerate(dict.fromkeys(values))}
    pairs = np.unique(np.stack([grid.group, [code[value] for value in values]], axis=1), axis=0)  # type: ignore[index]
    return np.bincount(pairs[:, 0]).astype(float)


def by_date(grid: Grid, cutoffs: Mapping[str, str]) -> Sheet:
    """Methods of releases or commits before and after each model's cutoff, where both are known."""
    rows: list[tuple[Value, ...]] = []
    dates = np.array([getattr(task.source, "date", "") for task in grid.tasks])[grid.task]
    for position, model in enumerate(grid.models):
        cutoff = cutoffs.get(model, "")
        for number, language in enumerate(grid.languages):
            mine = (grid.model == position) & (grid.language == number) & (dates != "")
            for name, part in (("before", dates <= cutoff), ("after", dates > cutoff)):
                own = grid.only(mine & part) if cutoff else grid.only(np.zeros(len(grid), dtype=bool))
                cells = [mean(own, own.at_k(own.correct, 1)), mean(own, own.at_k(own.complete(), 1))]
                methods = len(set(own.task.tolist()))
                rows.append((model, LANGUAGES.get(language, language), name, cutoff or "not known", *cells, methods))
    columns = ("Model", "Language", "Dated", "cutoff", "Corr@1", "Comp@1", "methods")
    notes = ("A method's date is that of its release or commit: its text may well be older, so that before says little.",)
    return Sheet("by-date", "Before and after the model's cutoff", columns, tuple(rows), notes)
