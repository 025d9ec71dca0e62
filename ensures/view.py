"""A view: which of the subject's calls a verdict is about. Part of the verdict's key.

Models are judged on all calls. What was inferred from executions (the invariant miner) is judged on the calls that it did
not see: calls are numbered in each test, and a salted hash of test and number puts each into one half.
"""

import enum
import zlib
from dataclasses import dataclass


class Part(enum.StrEnum):
    ALL = "all"
    UNSEEN = "unseen"
    SEEN = "seen"


@dataclass(frozen=True, slots=True)
class View:
    part: Part = Part.ALL
    salt: str = ""


ALL = View()


def halves(salt: str) -> tuple[View, View]:
    """The view that scores, then the one that stands beside it."""
    return View(Part.UNSEEN, salt), View(Part.SEEN, salt)


def part_of_call(salt: str, test: str, number: int) -> Part:
    """Which half the `number`-th call of `test` belongs to. The harness computes the same, tested to agree."""
    return Part.SEEN if zlib.crc32(f"{salt}:{test}:{number}".encode()) & 1 else Part.UNSEEN
