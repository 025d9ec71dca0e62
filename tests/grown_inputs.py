"""As many inputs as a published run must have had, where the benchmark's present version has fewer.

A run can't have more (mutant, input) pairs than programs times inputs. Where the published number says that it did, the inputs
of the present version are grown by EvalPlus's way of mutating strings (Liu et al. 2023, section 2.2): a part is removed or
repeated, or a part of another input put in, as often as it takes, and what the task's own contract forbids is thrown away.
"""

import ast
import random
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ensures.task import Program, Task

LONGEST = 400  # characters


def too_few(task: Task, published_pairs: int) -> bool:
    return published_pairs > len(task.mutants) * len(task.tests)


def grown(task: Task, contract: str, count: int, seed: int = 1) -> Task:
    """The task with `count` inputs, the present ones first. Raises ValueError where its inputs are not single strings."""
    assert isinstance(task.source, Program)
    pool = [arguments[0] for arguments in map(ast.literal_eval, task.source.inputs) if len(arguments) == 1]
    if len(pool) != len(task.tests) or not all(isinstance(text, str) for text in pool):
        raise ValueError(f"the inputs of {task.id} are no single strings")
    allowed, drawn, seen = _allowed(task, contract), random.Random(seed), set(pool)
    while len(pool) < count:
        text = _mutated(drawn.choice(pool), drawn.choice(pool), drawn)
        if text not in seen and len(text) <= LONGEST and allowed(text):
            seen.add(text)
            pool.append(text)
    names = (*task.tests, *(f"grown/{index}" for index in range(count - len(task.tests))))
    return replace(task, tests=names, source=replace(task.source, inputs=tuple(repr([text]) for text in pool)))


def _mutated(text: str, other: str, drawn: random.Random) -> str:
    first, last = _part(text, drawn)
    match drawn.randrange(3):
        case 0:
            return text[:first] + text[last:]
        case 1:
            return text[:last] + text[first:last] + text[last:]
        case _:
            begin, end = _part(other, drawn)
            return text[:first] + other[begin:end] + text[first:]


def _part(text: str, drawn: random.Random) -> tuple[int, int]:
    if not text:
        return 0, 0
    first = drawn.randrange(len(text))
    return first, drawn.randint(first + 1, len(text))


def _allowed(task: Task, contract: str) -> Callable[[str], bool]:
    """The benchmark's contract: asserts over the parameters, in the words of its authors."""
    head = next(node for node in ast.parse(task.implementation).body if getattr(node, "name", "") == task.qualname)
    assert isinstance(head, ast.FunctionDef)
    body = textwrap.indent(textwrap.dedent(contract.strip("\n")) + "\npass", "    ")
    scope: dict[str, Any] = {}
    exec(f"def contract({head.args.args[0].arg}):\n{body}", scope)

    def allowed(text: str) -> bool:
        try:
            scope["contract"](text)
        except AssertionError:
            return False
        return True

    return allowed
