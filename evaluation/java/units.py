"""From candidates and bodies to compiled units: together where they compile together, without those that do not compile.

javac's errors are mapped back to whose text they stand in. That one gets them, and the rest is compiled again. An error that
stands in nobody's text (a method too large for the class format) is found by halving.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ensures.errors import PreparationFailed
from evaluation.java.translate import Translated
from evaluation.java.weave import Woven

MOST_ROUNDS = 30  # each leaves somebody out
Problems = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Unit:
    """One compiled class. `bodies` and `candidates`: whose number in it is which."""

    name: str
    bodies: dict[int, int]
    candidates: dict[int, int]


@dataclass
class Built:
    """`wrong`: what javac said of a candidate; `broken`: of a body."""

    units: list[Unit] = field(default_factory=list)
    wrong: dict[int, str] = field(default_factory=dict)
    broken: dict[int, str] = field(default_factory=dict)

    def unit(self, candidate: int | None, body: int) -> Unit | None:
        """One that holds both; `candidate` None: any with the body."""
        return next(
            (u for u in self.units if body in u.bodies and (candidate is None or candidate in u.candidates)),
            None,
        )


def build(
    compiled: Callable[[str, Woven, int], Problems],
    woven: Callable[[Sequence[int], Sequence[int]], Woven],
    bodies: Sequence[int],
    candidates: Sequence[Translated],
    name: str,
) -> Built:
    """`woven` makes the text of some bodies and some candidates, by position; `compiled` takes it under a name.

    Raises PreparationFailed where a single body without candidates does not compile for a reason that is not its own.
    """
    found = Built()
    _build(found, compiled, woven, list(bodies), list(range(len(candidates))), name)
    return found


def _build(
    found: Built,
    compiled: Callable[[str, Woven, int], Problems],
    woven: Callable[[Sequence[int], Sequence[int]], Woven],
    bodies: list[int],
    candidates: list[int],
    name: str,
) -> None:
    for _ in range(MOST_ROUNDS):
        if not bodies:
            return
        text = woven(bodies, candidates)
        problems = compiled(name, text, len(candidates))
        if not problems:
            found.units.append(Unit(name, _numbered(bodies), _numbered(candidates)))
            return
        guilty: dict[tuple[str, int], str] = {}
        for problem in problems:
            owner = text.at(problem["at"])
            if owner is not None:
                guilty.setdefault(owner, str(problem["message"]))
        if not guilty:
            break
        for (kind, number), message in guilty.items():
            (found.wrong if kind == "candidate" else found.broken)[(candidates if kind == "candidate" else bodies)[number]] = (
                message
            )
        candidates = [one for one in candidates if one not in found.wrong]
        bodies = [one for one in bodies if one not in found.broken]
    message = str(problems[0]["message"])
    if len(candidates) > 1:
        half = len(candidates) // 2
        _build(found, compiled, woven, bodies, candidates[:half], name + "a")
        _build(found, compiled, woven, bodies, candidates[half:], name + "b")
    elif len(bodies) > 1:
        half = len(bodies) // 2
        _build(found, compiled, woven, bodies[:half], candidates, name + "a")
        _build(found, compiled, woven, bodies[half:], candidates, name + "b")
    elif candidates:
        found.wrong[candidates[0]] = message
    else:
        raise PreparationFailed(f"the method does not compile here: {message}")


def _numbered(given: list[int]) -> dict[int, int]:
    return {one: number for number, one in enumerate(given)}
