"""Shards: nothing torn, nothing doubled; what is damaged is set aside."""

from pathlib import Path

import pyarrow as pa
import pytest

from ensures.errors import InputError
from evaluation.rows import Shards

SCHEMA = pa.schema([("key", pa.string()), ("value", pa.int32())])


def rows(*values: int) -> list[dict[str, object]]:
    return [{"key": f"k{value}", "value": value} for value in values]


def test_rows_come_back_once_and_in_order(tmp_path: Path) -> None:
    shards = Shards(tmp_path / "t", SCHEMA, patience=0)
    shards.append(rows(2, 1))
    shards.append(rows(1, 3))
    again = Shards(tmp_path / "t", SCHEMA)
    assert [row["value"] for row in again.rows()] == [2, 1, 3]
    assert [row["key"] for row in again.rows(["value"])] == ["k2", "k1", "k3"]


def test_waiting_rows_are_read_too(tmp_path: Path) -> None:
    shards = Shards(tmp_path / "t", SCHEMA, patience=999)
    shards.append(rows(1))
    assert not list((tmp_path / "t").iterdir())
    assert len(list(shards.rows())) == 1


def test_a_truncated_shard_is_set_aside(tmp_path: Path) -> None:
    shards = Shards(tmp_path / "t", SCHEMA, patience=0)
    shards.append(rows(1))
    shards.append(rows(2))
    first = sorted((tmp_path / "t").glob("*.parquet"))[0]
    first.write_bytes(first.read_bytes()[:-9])
    again = Shards(tmp_path / "t", SCHEMA)
    assert [row["value"] for row in again.rows()] == [2]
    assert [path.suffix for path in again.broken] == [".broken"]


def test_leftovers_of_a_killed_writer_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    """And removed, if they were this one's: another may be at work on its own."""
    for name in ("1-whole", "2-1-of-3"):
        (tmp_path / "t" / f"{name}.tmp").write_bytes(b"half")
    shards = Shards(tmp_path / "t", SCHEMA)
    assert not list(shards.rows())
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["2-1-of-3.tmp"]


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a file")
    with pytest.raises(InputError, match="can't be written"):
        Shards(tmp_path / "t", SCHEMA)
