"""As many inputs as a published run must have had, where the benchmark's present version has fewer.

A run can't have more (mutant, input) pairs than programs times inputs. Where the published number says that it did, the inputs
of the present version are grown by EvalPlus's way of mutating strings (Liu et al. 2023, section 2.2): a part is removed or
repeated, or a part of another input put in, as often as it takes, and what the task's own contract forbids is thrown away.
"""

import ast
import random
from dataclasses import replace

from ensures.task import Program, Task
from tests.programs import contract_of

LONGEST = 400  # characters


def too_few(task: Task, published_pairs: int) -> bool:
    return published_pairs > len(task.mutants) * len(task.tests)


def grown(task: Task, contract: str, count: int, seed: int = 1) -> Task:
    """The task with `count` inputs, the present ones first. Raises ValueError where its inputs are not single strings."""
    assert isinstance(task.source, Program)
    pool = [arguments[0] for arguments in map(ast.literal_eval, task.source.inputs) if len(arguments) == 1]
    if len(pool) != len(task.tests) or not all(isinstance(text, str) for text in pool):
        raise ValueError(f"the inputs of {task.id} are no single strings")
    check, drawn, seen = contract_of(task, contract), random.Random(seed), set(pool)

    def allowed(text: str) -> bool:
        try:
            check(text)
        except AssertionError:
            return False
        return True

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
