"""MBPP+ is published as JSON, which has no tuples, sets or complex numbers: which arguments of which task are meant as such.

The table is EvalPlus's own (its `mbpp_deserialize_inputs`). That it is right can be checked: each task's published contract
holds for all of its inputs.
"""

from collections.abc import Callable
from typing import Any

Input = list[Any]


def _tuples(value: Any) -> Any:
    """All lists, at any depth."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _each(given: Input) -> Input:
    return [tuple(argument) for argument in given]


def _inner(given: Input) -> Input:
    return [[tuple(item) for item in argument] for argument in given]


def _inner_of_first(given: Input) -> Input:
    return [[tuple(item) for item in given[0]], given[1]]


def _second(given: Input) -> Input:
    return [given[0], tuple(given[1])]


def _sets(given: Input) -> Input:
    return [[set(item) if isinstance(item, list) and item else {} for item in given[0]]]


def _first(given: Input) -> Input:
    return [tuple(given[0]), *given[1:]]


def _both(given: Input) -> Input:
    return [tuple(tuple(item) for item in argument) for argument in given]


def _mixed(given: Input) -> Input:
    return [tuple(tuple(item) if isinstance(item, list) else item for item in given[0])]


def _dictionary(given: Input) -> Input:
    return [{key: tuple(value) for key, value in given[0].items()}, *given[1:]]


_RULES: list[tuple[Callable[[Input], Input], tuple[int, ...]]] = [
    (
        _each,
        (2, 116, 132, 143, 222, 261, 273, 394, 399, 421, 424, 429, 470, 560, 579, 596, 616, 630, 726, 740, 744, 809),
    ),
    (_inner, (63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780)),
    (_inner_of_first, (75, 413, 444, 753)),
    (_second, (106, 750)),
    (_sets, (115,)),
    (lambda given: [float(given[0]), complex(given[1])], (124,)),
    (_first, (250, 405, 446, 617, 720, 763, 808, 307)),
    (_both, (259, 401, 445)),
    (_mixed, (278,)),
    (_dictionary, (722,)),
    (lambda given: [complex(given[0])], (252,)),
    (lambda given: [_tuples(argument) for argument in given], (580, 615, 791)),
]
_BY_TASK = {number: rule for rule, numbers in _RULES for number in numbers}


def as_meant(task_id: str, given: Input) -> Input:
    """The arguments of one input of task Mbpp/N."""
    rule = _BY_TASK.get(int(task_id.rpartition("/")[2]))
    return given if rule is None else rule(given)
