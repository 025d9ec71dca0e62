"""The miner: from calls to clauses, without seeing the half that scores it."""

import asyncio
from collections.abc import Sequence
from typing import Any

from ensures.candidate import Clauses
from ensures.task import Language, Repository, Setting, Task
from ensures.view import Part, part_of_call
from evaluation.python.harness.ensures_harness.observe import describe
from evaluation.python.purity import plainly_pure
from inference.engine import Call, Request
from inference.engines.invariants import Invariants, InvariantsConfig

TASK = Task("t", Language.PYTHON, Repository("r", "0"), "m.py", "f", 1, 2, "def f(values):", "", "", ("t",))


class Recorded:
    """An observer of a Python function, evaluated right here: the clauses are the miner's own."""

    def __init__(self, function: Any, inputs: list[list[Any]]) -> None:
        self.function, self.inputs = function, inputs
        self.tried: list[str] = []

    def _run(self, number: int) -> tuple[Any, Any, Any]:
        value = self.inputs[number]
        before = list(value)
        return before, value, self.function(value)

    async def calls(self, task: Task) -> list[Call]:
        found = []
        for number in range(len(self.inputs)):
            value = list(self.inputs[number])
            before = {"values": describe(list(value))}
            result = self.function(value)
            same = ("values",) if result is value else ()
            found.append(Call("t", number, before, {"values": describe(value)}, describe(result), same))
        return found

    async def truths(self, task: Task, clauses: Sequence[Clauses]) -> list[tuple[str, int, str | None]]:
        import re

        rows: list[tuple[str, int, str | None]] = []
        self.tried += [item.text for item in clauses]
        for number in range(len(self.inputs)):
            value = list(self.inputs[number])
            old = type("Old", (), {"values": list(value)})()
            result = self.function(value)
            names = {"values": value, "result": result, "OLD": old}
            text = ""
            for item in clauses:
                found = re.match(r"@icontract.ensure\(lambda ([\w, ]*): (.*)\)$", item.ensures[0])
                assert found, item.ensures[0]
                try:
                    text += "1" if eval(found.group(2), {}, names) else "0"
                except Exception:
                    text += "x"
            rows.append(("t", number, text))
        return rows


def mine(function: Any, inputs: list[list[Any]], samples: int = 1, **config: Any) -> list[str]:
    engine = Invariants(
        InvariantsConfig(**{"share_of_templates": 1.0, "most_clauses": 30, **config}), Recorded(function, inputs)
    )
    request = Request(TASK, Setting.EXECUTIONS, range(samples), seed=1)
    completions = asyncio.run(engine.complete(request))
    assert all(completion.halved for completion in completions)
    return [completion.text for completion in completions]


LISTS = [[3, 1, 2], [5, 4], [9], [2, 2, 1], [7, 8, 6, 5], [1, 3, 2], [10, 2], [4, 4, 3, 9], [6, 1], [8, 3, 5]]


def test_sorting_is_seen() -> None:
    (text,) = mine(sorted, LISTS)
    assert "all(x <= y for x, y in zip(result, result[1:]))" in text
    assert "sorted(result) == sorted(values)" in text
    assert "values == OLD.values" in text
    assert "isinstance(result, list)" in text


def test_a_weaker_clause_on_the_same_topic_is_dropped() -> None:
    (text,) = mine(len, LISTS)
    assert "result == len(values)" in text
    assert "result <= len(values)" not in text


def test_changes_are_seen() -> None:
    (text,) = mine(lambda values: values.append(1), LISTS)
    assert "len(values) == len(OLD.values) + 1" in text
    assert "result is None" in text


def test_implications_on_the_observed_cases() -> None:
    inputs = [*LISTS, *([] for _ in range(8))]
    (text,) = mine(lambda values: max(values) if values else None, inputs)
    assert "not (len(values) == 0) or (result is None)" in text
    assert "(len(values) == 0) or (isinstance(result, int))" in text or "(len(values) == 0) or (result in values)" in text


def test_only_calls_in_sight_count() -> None:
    """A clause that is false only where the miner does not look is kept."""
    seed = 1
    hidden = [n for n in range(len(LISTS)) if part_of_call(str(seed), "t", n) is Part.UNSEEN]
    assert hidden
    assert len(hidden) < len(LISTS)
    inputs = [[1] if n in hidden else [1, 2] for n in range(len(LISTS))]
    (text,) = mine(len, inputs)
    assert "result == 2" in text


def test_samples_differ_and_repeat() -> None:
    first = mine(sorted, LISTS, samples=3, share_of_templates=0.5)
    assert len(set(first)) > 1
    assert first == mine(sorted, LISTS, samples=3, share_of_templates=0.5)


def test_all_clauses_may_share_an_execution() -> None:
    from inference.dialects.icontract import parse

    for text in mine(sorted, LISTS, samples=2) + mine(len, LISTS):
        parsed = parse(text)
        assert isinstance(parsed, Clauses)
        assert plainly_pure(parsed), text
