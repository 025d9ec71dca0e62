"""The run folder's rows: Parquet shards, written to a temporary name and renamed, never changed afterwards.

A process may be killed at any moment: what was renamed is whole, what was not is ignored. A shard that can't be read (a
disk that lied, a copy cut off) is set aside under the name *.broken, and its rows are made again.
"""

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ensures.errors import InputError

COMPLETIONS = pa.schema(
    [
        ("key", pa.string()),
        ("task_id", pa.string()),
        ("model", pa.string()),
        ("setting", pa.string()),
        ("sample", pa.int32()),
        ("seed", pa.int64()),
        ("prompt_hash", pa.string()),  # of the prompt that was sent
        ("rendered_hash", pa.string()),  # of what the chat template made of it
        ("left_out", pa.int32()),  # parts of the file that were left out so that the prompt fits
        ("text", pa.string()),
        ("thinking", pa.string()),
        ("finish_reason", pa.string()),
        ("prompt_tokens", pa.int32()),
        ("cached_tokens", pa.int32()),  # of the prompt's, as the engine said for the whole request
        ("completion_tokens", pa.int32()),
        ("thinking_tokens", pa.int32()),  # of the completion's
        ("cost", pa.float64()),
        ("halved", pa.bool_()),
        ("seconds", pa.float64()),
        ("origin", pa.string()),  # what made it: versions, revision, hashes, device, as JSON
    ]
)
PROMPTS = pa.schema(
    [
        ("key", pa.string()),
        ("task_id", pa.string()),
        ("setting", pa.string()),
        ("hash", pa.string()),
        ("text", pa.string()),
        ("left_out", pa.list_(pa.string())),
    ]
)
VERDICTS = pa.schema(
    [
        ("key", pa.string()),
        ("task_id", pa.string()),
        ("repository", pa.string()),
        ("language", pa.string()),
        ("candidate_id", pa.string()),
        ("model", pa.string()),
        ("setting", pa.string()),
        ("sample", pa.int32()),
        ("view", pa.string()),
        ("subject", pa.string()),
        ("kind", pa.string()),
        ("outcome", pa.int8()),
        ("reason", pa.string()),
        ("surfaced", pa.bool_()),
        ("status", pa.string()),  # what the published runs would have said
        ("ending", pa.string()),
        ("clause", pa.int32()),
        ("message", pa.string()),
        ("seconds", pa.float64()),
        ("shared", pa.bool_()),  # given by an execution that served other candidates as well
        ("isolated", pa.bool_()),  # of a task whose audit found a disagreement
        ("limit", pa.string()),
        # where a subject is a set of (input, wrong output) pairs
        ("pairs", pa.int32()),
        ("pairs_killed", pa.int32()),
        ("pairs_raised", pa.int32()),
    ]
)
BASELINES = pa.schema([("key", pa.string()), ("task_id", pa.string()), ("text", pa.string())])
AUDITS = pa.schema(
    [
        ("key", pa.string()),
        ("verdict", pa.string()),
        ("task_id", pa.string()),
        ("candidate_id", pa.string()),
        ("subject", pa.string()),
        ("how", pa.string()),
        ("expected", pa.string()),
        ("found", pa.string()),
        ("agrees", pa.bool_()),
        ("seconds", pa.float64()),
    ]
)
TURNS = pa.schema(
    [
        ("key", pa.string()),
        ("request", pa.string()),  # of the sample's conversation
        ("task_id", pa.string()),
        ("model", pa.string()),
        ("setting", pa.string()),
        ("sample", pa.int32()),
        ("number", pa.int32()),
        ("kind", pa.string()),
        ("text", pa.string()),
        ("said", pa.string()),
        ("thought", pa.string()),
        ("proposal", pa.string()),
        ("observation", pa.string()),
        ("correct", pa.bool_()),
        ("score", pa.float64()),
        ("caught", pa.list_(pa.string())),
        ("mutants", pa.int32()),
        ("feedback", pa.string()),
        ("left_out", pa.list_(pa.string())),
        ("prompt_tokens", pa.int32()),
        ("cached_tokens", pa.int32()),
        ("completion_tokens", pa.int32()),
        ("thinking", pa.string()),
        ("thinking_tokens", pa.int32()),
        ("cost", pa.float64()),
        ("seconds", pa.float64()),
        ("finish_reason", pa.string()),
    ]
)
REASONING = pa.schema(
    [("key", pa.string()), ("turn", pa.string()), ("model", pa.string()), ("text", pa.string()), ("category", pa.string())]
)
DIAGNOSES = pa.schema(
    [
        ("key", pa.string()),
        ("task_id", pa.string()),
        ("candidate_id", pa.string()),
        ("insensitive", pa.bool_()),
        ("unused", pa.list_(pa.int32())),
    ]
)


MOST_WAITING = 20_000


class Shards:
    """An append-only table of one schema, each row with a `key`. Rows wait in memory for at most `patience` seconds.

    `writer`: several processes may write to one folder, each under a name of its own.
    """

    def __init__(self, folder: Path, schema: pa.Schema, patience: float = 2.0, writer: str = "whole") -> None:
        self.folder, self.schema, self.patience, self.writer = folder, schema, patience, writer
        self.broken: list[Path] = []
        self._waiting: list[dict[str, Any]] = []
        self._since = time.monotonic()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"the run folder {folder} can't be written: {error.strerror}; choose another with out="
            ) from error
        for leftover in folder.glob(f"*-{writer}.tmp"):
            leftover.unlink(missing_ok=True)

    def append(self, rows: Sequence[dict[str, Any]]) -> None:
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting += rows
        if len(self._waiting) >= MOST_WAITING or time.monotonic() - self._since >= self.patience:
            self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        name = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}"
        temporary = self.folder / f"{name}-{self.writer}.tmp"
        try:
            # by columns: five times faster than from_pylist
            columns = [pa.array([row.get(field.name) for row in self._waiting], field.type) for field in self.schema]
            pq.write_table(pa.Table.from_arrays(columns, schema=self.schema), temporary, compression="zstd")
            os.replace(temporary, self.folder / f"{name}.parquet")
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise InputError(f"{self.folder} can't be written: {error.strerror or error}; make room and run again") from error
        self._waiting = []

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """One table a shard; unreadable shards are set aside."""
        return (table for _, table in self._read(columns))

    def columns(self, name: str) -> Iterator[tuple[Path, list[Any]]]:
        """One column of every shard, with the shard's path."""
        return ((path, table[name].to_pylist()) for path, table in self._read([name]))

    def column(self, name: str) -> Iterator[Any]:
        return (value for _, values in self.columns(name) for value in values)

    def _read(self, columns: list[str] | None) -> Iterator[tuple[Path, pa.Table]]:
        self.flush()
        for path in sorted(self.folder.glob("*.parquet")):
            try:
                table = pq.read_table(path, columns=columns, schema=self.schema)  # older rows lack columns
            except (OSError, pa.ArrowException, ValueError):
                aside = path.with_suffix(".broken")
                path.rename(aside)
                self.broken.append(aside)
                continue
            yield path, table

    def rows(self, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
        """Every row once, in the order of writing."""
        seen: set[str] = set()
        wanted = None if columns is None else list(dict.fromkeys(["key", *columns]))
        for table in self.batches(wanted):
            for row in table.to_pylist():
                if row["key"] not in seen:
                    seen.add(row["key"])
                    yield row


def stored(folder: Path, schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
    """The rows of a folder that another process may be writing to, each once; nothing is changed there. Raises InputError
    for a shard that can't be read."""
    wanted = list(dict.fromkeys(["key", *columns]))
    found = [schema.empty_table().select(wanted)]
    for path in sorted(folder.glob("*.parquet")):
        try:
            found.append(pq.read_table(path, columns=wanted, schema=schema))
        except (OSError, pa.ArrowException, ValueError) as error:
            raise InputError(f"{path} can't be read; the run, started again, makes its rows anew") from error
    table = pa.concat_tables(found)
    if pc.count_distinct(table["key"]).as_py() == table.num_rows:
        return table
    _, first = np.unique(table["key"].to_numpy(zero_copy_only=False).astype(str), return_index=True)
    return table.take(np.sort(first))
