"""The trace of an execution: what each test said, how often it called the subject, what it printed and logged, and where it
left the random numbers. A shared execution must leave the trace of a plain one."""

import sys
import zlib


class Trace:
    """One mark a test: outcome, calls of the subject, and, where `deep`, digests of captured output and random state."""

    def __init__(self, deep):
        self.deep = deep
        self.marks = []
        self._calls = 0

    def mark(self, outcome, calls, sections):
        made, self._calls = calls - self._calls, calls
        if self.deep:
            self.marks.append([outcome[:1], made, zlib.crc32(repr(sections).encode("utf-8", "replace")), randomness()])
        else:
            self.marks.append([outcome[:1], made, None, None])


def randomness():
    """A digest of the state of `random`, and of NumPy's where it is loaded."""
    import random

    digest = zlib.crc32(b"%d" % hash(random.getstate()[1]))  # of integers alone: no hash seed in it
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        state = numpy_random.get_state()
        digest = zlib.crc32(b"%d" % state[2], zlib.crc32(state[1].tobytes(), digest))
    return digest


def executable_lines(code):
    """Line numbers with code of their own, nested functions and comprehensions included, the def line left out."""
    lines = {line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno}
    for constant in code.co_consts:
        if hasattr(constant, "co_lines"):
            lines |= executable_lines(constant)
    return lines


class Coverage:
    """Calls the body and notes which of its lines run."""

    def __init__(self):
        self.seen = set()

    def call(self, body, args, kwargs):
        code = body.__code__
        first, last = code.co_firstlineno, max(executable_lines(code), default=code.co_firstlineno)

        def local(frame, event, _):
            if event == "line":
                self.seen.add(frame.f_lineno)
            return local

        def enter(frame, event, _):
            inside = frame.f_code.co_filename == code.co_filename and first <= frame.f_code.co_firstlineno <= last
            return local if inside else None

        before = sys.gettrace()
        sys.settrace(enter)
        try:
            return body(*args, **kwargs)
        finally:
            sys.settrace(before)
