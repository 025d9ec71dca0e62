"""Which rows are there: as a dictionary of all of them would have it, however often they are folded."""

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from evaluation import known
from evaluation.known import Known


class NoRows:
    def batches(self, columns: list[str]) -> list[pa.Table]:
        return []


NUMBERS = [0, 1, 2, 3, 2**32, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
KEYS = st.sampled_from([f"{number:016x}" + "0" * 16 for number in NUMBERS])


@given(st.dictionaries(KEYS, st.booleans()), st.lists(KEYS), st.integers(1, 5), st.randoms(use_true_random=False))
def test_what_was_added_is_there(rows: dict[str, bool], asked: list[str], recent: int, drawn: Any) -> None:
    most, known.RECENT = known.RECENT, recent
    try:
        found = Known(NoRows())  # type: ignore[arg-type]
        again = drawn.choices(list(rows), k=len(rows)) if rows else []
        for key in [*rows, *again]:
            found.add(key, rows[key])
            assert found.passed(key) is rows[key]
        for key in asked:
            assert found.passed(key) is rows.get(key)
            assert (key in found) is (key in rows)
    finally:
        known.RECENT = most
