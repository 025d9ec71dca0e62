"""Whose time is it? A few words of memory that the supervisor shares with the executions below it.

An execution writes down which candidate's condition is being evaluated, since when, and how long all of them took so far.
The supervisor reads it: a limit that is reached in a condition is that candidate's, one in the body is the subject's, and
the body gets its whole limit whatever the conditions take. A subject that writes lies here harms itself alone: its
deadline is put off by what the candidates may take at most, and what is blamed on a candidate is tried again without it.
"""

import mmap
import time

NOBODY = 0
clock = time.monotonic_ns  # the same for all processes


class Meter:
    def __init__(self):
        self._words = memoryview(mmap.mmap(-1, 4096)).cast("q")

    def reset(self):
        self._words[0] = self._words[1] = self._words[2] = 0

    def enter(self, index, now):
        self._words[1] = now
        self._words[0] = index + 1

    def leave(self, spent):
        self._words[2] += spent
        self._words[0] = NOBODY

    def read(self):
        """(index of the candidate at work or None, seconds that it has been, seconds of all before)."""
        who, since, spent = self._words[0], self._words[1], self._words[2]
        if who <= NOBODY:
            return None, 0.0, max(0, spent) / 1e9
        return who - 1, max(0, clock() - since) / 1e9, max(0, spent) / 1e9
