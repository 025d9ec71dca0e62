"""Equality of what programs give, as EvalPlus has it: exact, or close where floats are expected."""

import math
from typing import Any

RELATIVE = 1e-7
FLOATS = 1e-6  # absolute, where floats are expected and the benchmark names no tolerance


def same(found: Any, expected: Any, tolerance: float = 0.0) -> bool:
    """Exactly equal; or, for a float or a list or tuple of floats, all close (numpy.allclose: 1e-7 relative)."""
    try:
        if found == expected:
            return True
    except RecursionError:
        return False
    if tolerance == 0.0 and _floats(expected):
        tolerance = FLOATS
    return tolerance != 0.0 and _close(found, expected, tolerance)


def same_printed(found: Any, expected: Any) -> bool:
    """Lists of lines that programs printed: equal word by word; a word with a decimal point, or in exponents, may be as close
    as floats are."""
    if not isinstance(found, list) or len(found) != len(expected):
        return False
    for line, other in zip(found, expected, strict=True):
        words, others = str(line).split(), str(other).split()
        if len(words) != len(others) or not all(map(_same_word, words, others)):
            return False
    return True


def _same_word(word: str, expected: str) -> bool:
    if word == expected:
        return True
    if not set(".eE") & set(expected):
        return False
    try:
        return _close(float(word), float(expected), FLOATS)
    except ValueError:
        return False


def _floats(value: Any) -> bool:
    if isinstance(value, (list, tuple)) and value:
        return all(isinstance(item, float) for item in value)
    return isinstance(value, float)


def _close(found: Any, expected: Any, tolerance: float) -> bool:
    if isinstance(expected, (list, tuple)):
        if not isinstance(found, (list, tuple)) or len(found) != len(expected):
            return False
        return all(_close(one, other, tolerance) for one, other in zip(found, expected, strict=True))
    numbers = (int, float)
    if not isinstance(found, numbers) or not isinstance(expected, numbers):
        return bool(found == expected)
    if math.isnan(found) and math.isnan(expected):
        return True
    if found == expected:
        return True
    try:
        return abs(found - expected) <= tolerance + RELATIVE * abs(expected) < math.inf
    except OverflowError:
        return False
