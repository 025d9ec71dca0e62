"""How hard mutants are to kill, and which of them are only killed along with others.

Over all correct candidates of a task: one mutant subsumes another if something kills it and everything that kills it kills the
other, too. A dominator is a mutant that no other strictly subsumes; equals stand for one. The dominator score of a candidate
is the share of dominators that it kills: what easy mutants add to the plain share is gone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.ablations import LLM, RULE
from analysis.comparison import killed
from analysis.grid import Grid, marked, unpacked
from analysis.paper import LANGUAGES, mean, share
from analysis.sheets import Cell, Sheet, Value


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Of one task's mutants: (M,) the share of correct candidates that kill each, and is it a dominator?"""

    killed: np.ndarray
    dominator: np.ndarray


def difficulty(grid: Grid) -> list[Difficulty | None]:
    """One a task; None where no candidate is correct."""
    right = grid.only(grid.correct)
    found: list[Difficulty | None] = []
    for row, task in enumerate(grid.tasks):
        alive = right.alive[right.task == row]
        count = len(task.counted)
        if not len(alive) or not count:
            found.append(None)
            continue
        kills = ~unpacked(alive, count)
        found.append(Difficulty(kills.mean(axis=0), dominators(kills)))
    return found


def dominators(kills: np.ndarray) -> np.ndarray:
    """kills: (candidates, mutants) -> (mutants,): the first of each class of equals that nothing strictly subsumes."""
    columns, first = np.unique(kills, axis=1, return_index=True)
    some = columns.any(axis=0)
    chosen = np.zeros(kills.shape[1], dtype=bool)
    counts = columns.astype(np.int64)
    shared = counts.T @ counts  # candidates that kill both
    own = counts.sum(axis=0)
    for index in np.flatnonzero(some):
        # another that is killed by some of those that kill this one, and by no others
        subsumed = some & (shared[index] == own) & (own < own[index])
        chosen[first[index]] = not subsumed.any()
    return chosen


def mutants(grid: Grid, found: Sequence[Difficulty | None]) -> Sheet:
    """By language and family: how many, killed by nobody, how often killed, dominators."""
    rows: list[tuple[Value, ...]] = []
    for language in grid.languages:
        for name, families in (("rule", {RULE}), ("LLM", {LLM}), ("both", {RULE, LLM})):
            of: list[tuple[str, float]] = []
            dominating = 0
            for task, seen in zip(grid.tasks, found, strict=True):
                if seen is None or task.language.value != language:
                    continue
                for mutant, killing, dominator in zip(task.counted, seen.killed, seen.dominator, strict=True):
                    if set(mutant.families) == families:
                        of.append((task.repository, float(killing)))
                        dominating += bool(dominator)
            repositories, ones = [repository for repository, _ in of], [1.0] * len(of)
            none = share(repositories, [float(not killing) for _, killing in of], ones)
            some = share(repositories, [killing for _, killing in of], ones)
            rows.append((LANGUAGES.get(language, language), name, len(of), none, some, dominating))
    columns = ("Language", "Family", "mutants", "killed by none", "killed by, on average", "dominators")
    notes = (
        "Over the correct candidates of all models, methods without any left out. A dominator is killed, and no other "
        "mutant is killed only by some of those that kill it; of equals one counts.",
    )
    return Sheet("mutants", "How hard mutants are", columns, tuple(rows), notes)


def scores(grid: Grid, seen: Sequence[Difficulty | None]) -> Sheet:
    """By model: the mean share of mutants killed, and of dominators."""
    chosen = [[bool(x) for x in of.dominator] if of is not None else [False] * len(task.counted)
              for task, of in zip(grid.tasks, seen, strict=True)]  # fmt: skip
    bits = marked(grid.tasks, chosen)
    total = np.bitwise_count(bits).sum(axis=1)[grid.task]
    alive = np.bitwise_count(grid.alive & bits[grid.task]).sum(axis=1)
    dominating = np.where(grid.correct & (total > 0), 1 - alive / np.maximum(1, total), 0.0)
    plain = killed(grid)
    rows: list[tuple[Value, ...]] = []
    for position, model in enumerate(grid.models):
        mine = grid.model == position
        own = grid.only(mine)
        if not len(own):
            rows.append((model, Cell(None), Cell(None)))
            continue
        rows.append((model, *(mean(own, np.bincount(own.group, weights=of[mine]) / own.sizes) for of in (plain, dominating))))
    notes = ("0 for a candidate that is not correct. Dominators are those of all models' candidates together.",)
    return Sheet(
        "dominators", "Share of mutants killed, and of dominators", ("Model", "mutants", "dominators"), tuple(rows), notes
    )
