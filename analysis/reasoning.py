"""Reasoning of multi-turn strategies by category (SpecMind, Table 2 and Figure 5)."""

import re
from collections import Counter
from collections.abc import Sequence

from matplotlib.figure import Figure

from analysis.figures import COLOURS, MARKERS, Drawn
from analysis.sheets import Cell, Sheet, Value

# name -> what it is, in the paper's words
CATEGORIES = {
    "Return Value Type & Range": "Checking the type and range of the return value.",
    "Check Base Cases": "Checking the base cases of a function.",
    "Check Edge Cases": "Adding postconditions checking edge cases: empty inputs or boundary values.",
    "Postcondition Combination": "Combining multiple postconditions into one.",
    "Refine Assertions": "Refining assertions to make them more concise, meaningful, or comprehensive.",
    "Verify Function Behavior": "Adding assertions to verify correctness of calculations.",
    "Submit Final Solution": "Submitting assertions as the final solution without further refining.",
}
Thought = tuple[str, int, str | None]  # strategy, turn, category; None: the classifier named none


def named(text: str) -> str | None:
    """The category that a classifier's answer names last; None where it names none."""
    places = {name: text.lower().rfind(name.lower()) for name in CATEGORIES}
    name, place = max(places.items(), key=lambda item: item[1])
    if place >= 0:
        return name
    number = re.fullmatch(r"\D*([1-7])\D*", text.strip())
    return list(CATEGORIES)[int(number[1]) - 1] if number else None


def table(thoughts: Sequence[Thought]) -> Sheet:
    rows: list[tuple[Value, ...]] = []
    for strategy in dict.fromkeys(thought[0] for thought in thoughts):
        counted = Counter(category for model, _, category in thoughts if model == strategy)
        for name in (*CATEGORIES, None):
            rows.append((strategy, name or "none named", counted[name], Cell(counted[name] / counted.total())))
    notes = ("By a model that reads each thought: see python -m jobs.classify for its agreement with labels given by hand.",)
    return Sheet("reasoning", "What thoughts are about", ("Strategy", "Category", "thoughts", "share"), tuple(rows), notes)


def by_turn(thoughts: Sequence[Thought]) -> Drawn:
    counted = Counter((category, turn) for _, turn, category in thoughts if category)
    last = max((turn for _, turn, _ in thoughts), default=1)
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (name, turn, counted[name, turn]) for name in CATEGORIES for turn in range(1, last + 1)
    )

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for number, name in enumerate(CATEGORIES):
            values = [counted[name, turn] for turn in range(1, last + 1)]
            marker, colour = MARKERS[number], COLOURS[number]
            axes.plot(range(1, last + 1), values, label=name, linewidth=1, markersize=3, marker=marker, color=colour)
        axes.set_xlabel("turn")
        axes.set_ylabel("thoughts")
        axes.legend(frameon=False, fontsize=5)

    data = Sheet("reasoning-by-turn", "What thoughts are about, by turn", ("Category", "turn", "thoughts"), rows)
    return Drawn("reasoning-by-turn", data.title, draw, data)
