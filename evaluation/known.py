"""Which rows are there already, in nine bytes a row: the driver's memory must not grow with the number of verdicts."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ensures.verdict import Outcome
from evaluation.rows import Shards

RECENT = 50_000  # rows kept in a dictionary before they are folded into the arrays


def passes(row: Mapping[str, Any]) -> bool:
    """Under either rule: such candidates go on to the mutants."""
    return bool(row["outcome"] == Outcome.HOLDS or row["status"] == "passed")


class Known:
    """Keys (their first 64 bits) and one flag each: did the candidate pass on this subject?"""

    def __init__(self, shards: Shards) -> None:
        self._keys = np.empty(0, np.uint64)
        self._flags = np.empty(0, np.bool_)
        self._recent: dict[int, bool] = {}
        for table in shards.batches(["key", "outcome", "status"]):
            for row in table.to_pylist():
                self.add(row["key"], passes(row))
        self._fold()

    def __contains__(self, key: str) -> bool:
        return self.passed(key) is not None

    def passed(self, key: str) -> bool | None:
        """None for a row that is not there."""
        short = int(key[:16], 16)
        if short in self._recent:
            return self._recent[short]
        at = int(np.searchsorted(self._keys, np.uint64(short)))
        if at < len(self._keys) and int(self._keys[at]) == short:
            return bool(self._flags[at])
        return None

    def add(self, key: str, passed: bool) -> None:
        self._recent[int(key[:16], 16)] = passed
        if len(self._recent) >= RECENT:
            self._fold()

    def _fold(self) -> None:
        """Into their places one by one: to sort it all anew would take several times the memory of what is kept."""
        keys = np.fromiter(self._recent, np.uint64, len(self._recent))
        flags = np.fromiter(self._recent.values(), np.bool_, len(self._recent))
        order = np.argsort(keys)
        keys, flags = keys[order], flags[order]
        at = np.searchsorted(self._keys, keys)
        new = np.searchsorted(self._keys, keys, side="right") == at
        self._keys = np.insert(self._keys, at[new], keys[new])
        self._flags = np.insert(self._flags, at[new], flags[new])
        self._recent = {}
