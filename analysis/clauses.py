"""Which clauses of a postcondition set fail, kill, or add nothing: from verdicts on every clause alone.

A set is violated where one of its clauses is, so its kills are the union of theirs; where a clause raises on a mutant the set
may say less. What is left after the clauses that fail on the original are dropped is correct if anything is left: an upper
bound on what repair by dropping could give.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from analysis.grid import Grid
from analysis.paper import mean, ratio
from analysis.sheets import Cell, Sheet, Value
from ensures.candidate import CLAUSE

EXACT = 12  # clauses up to which the smallest subset is searched for exactly


@dataclass(frozen=True)
class Parts:
    """One candidate's clauses, in order. `holds`: on the original; `kills`: bits of the task's mutants, 0 where it fails."""

    holds: tuple[bool, ...]
    kills: tuple[int, ...]

    @cached_property
    def together(self) -> int:
        """The kills of all clauses that hold."""
        union = 0
        for bits in self.kills:
            union |= bits
        return union

    def redundant(self, position: int) -> bool:
        """It holds, and without it the same mutants are killed."""
        others = 0
        for number, bits in enumerate(self.kills):
            others |= bits if number != position else 0
        return self.holds[position] and others == self.together

    @cached_property
    def smallest(self) -> tuple[int, ...]:
        """A smallest set of clauses with the same kills; beyond EXACT useful clauses, one found greedily."""
        useful = [number for number, bits in enumerate(self.kills) if bits]
        if len(useful) <= EXACT:
            for size in range(len(useful) + 1):
                for chosen in combinations(useful, size):
                    if self._union(chosen) == self.together:
                        return chosen
        found: list[int] = []
        while self._union(found) != self.together:
            left = self.together & ~self._union(found)
            found.append(max(useful, key=lambda number: ((self.kills[number] & left).bit_count(), -number)))
        return tuple(sorted(found))

    def _union(self, chosen: Sequence[int]) -> int:
        union = 0
        for number in chosen:
            union |= self.kills[number]
        return union


def parts(clauses: Grid) -> dict[str, Parts]:
    """By candidate, from a grid of its clauses (keys: the candidate's, CLAUSE, position)."""
    found: dict[str, dict[int, tuple[bool, int]]] = {}
    kills = clauses.full[clauses.task] & ~clauses.alive
    for key, holds, bits in zip(clauses.key, clauses.correct, kills, strict=True):
        name, _, position = str(key).rpartition(CLAUSE)
        packed = int.from_bytes(bits.tobytes(), "little") if holds else 0
        found.setdefault(name, {})[int(position)] = (bool(holds), packed)
    return {
        name: Parts(tuple(of[n][0] for n in sorted(of)), tuple(of[n][1] for n in sorted(of))) for name, of in found.items()
    }


def _each(of: Sequence[Parts], count: Callable[[Parts], int]) -> np.ndarray:
    return np.array([count(part) for part in of], dtype=float)


def clauses(grid: Grid, known: Mapping[str, Parts]) -> Sheet:
    """By model, over the candidates whose clauses were judged."""
    rows: list[tuple[Value, ...]] = []
    whole = [int.from_bytes(bits.tobytes(), "little") for bits in grid.full]
    for position, model in enumerate(grid.models):
        mine = grid.only(grid.model == position)
        own = mine.only(np.array([str(key) in known for key in mine.key], dtype=bool))
        if not len(own):
            rows.append((model, 0, *(Cell(None),) * 9))
            continue
        of = [known[str(key)] for key in own.key]
        holds = _each(of, lambda part: sum(part.holds))
        counts = _each(of, lambda part: len(part.holds))
        left = holds > 0
        complete = np.array([bool(right) and part.together == whole[task]
                             for part, right, task in zip(of, left, own.task, strict=True)])  # fmt: skip
        cells = [
            ratio(own, counts, np.ones(len(own)), digits=1),
            ratio(own, counts - holds, counts),
            ratio(own, _each(of, lambda part: sum(bits > 0 for bits in part.kills)), holds),
            ratio(own, _each(of, lambda part: sum(map(part.redundant, range(len(part.holds))))), holds),
            ratio(own, _each(of, lambda part: len(part.smallest)) * own.correct, own.correct, digits=1),
        ]
        rates = [mean(own, own.at_k(success, 1)) for success in (own.correct, left, own.complete(), complete)]
        rows.append((model, len(own), *cells, *rates))
    columns = ("Model", "candidates", "clauses", "fail", "kill", "redundant", "needed", "Corr@1", "after dropping")
    notes = (
        "Every clause judged alone. fail: on the original; of those that hold, kill: any mutant, redundant: without it the "
        "same mutants are killed; needed: clauses of a smallest subset of a correct candidate with the same kills. After "
        "dropping the failing clauses: an upper bound on what repair by dropping could give.",
    )
    return Sheet("clauses", "What single clauses do", (*columns, "Comp@1", "after dropping "), tuple(rows), notes)
