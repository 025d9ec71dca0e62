"""Would an exception raised here reach the test's report for certain? Told from the frames, without raising it."""

import dis
import os

from . import handlers


def surely_surfaces(frame, test_code, error, altered):
    """True if nobody from here up to the test function could keep an exception from the test's report.

    `error()` makes the exception, `altered(code)` tells whether a function's file says something else than what runs.
    False means only that somebody might: then a probe finds out. Exception tables exist from Python 3.11 on; before it
    nothing is sure.
    """
    if test_code is None or not hasattr(frame.f_code, "co_exceptiontable"):
        return False
    other = False  # may another one have been raised in its place, on the way?
    while frame is not None:
        code = frame.f_code
        if _covered(code, frame.f_lasti):
            if altered(code):
                return False
            through, other = handlers.lets_through(handlers.place_of(frame), error, other)
            if not through:
                return False
        if code is test_code:
            return True
        frame = frame.f_back
    return False


_tables = {}


def _covered(code, at):
    table = _tables.get(code)
    if table is None:
        if not code.co_exceptiontable:
            table = ()
        else:
            table = tuple((entry.start, entry.end) for entry in dis._parse_exception_table(code))
        _tables[code] = table
    return any(start <= at < end for start, end in table)


def test_code_of(item):
    """The code object of a pytest item's function, through unittest's methods and decorators; None where unknown."""
    function = getattr(item, "function", None) or getattr(item, "obj", None)
    function = getattr(function, "__func__", function)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return code if code is not None and os.path.isabs(code.co_filename) else None
