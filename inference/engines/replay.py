"""model=replay: recorded completions from JSON lines or Parquet, with the columns task_id, setting, sample, text.

A column `model` names the model they came from. Records as nl2postcond published them (task_id, n, postcondition) are read as
well, all under `model.setting`. A folder in the published benchmark's format is read too, if its samples
were written out first (`benchmark.postcondbench.published_samples`).
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ensures.errors import InputError
from ensures.task import PROMPTED, Setting, Task
from inference.engine import Completion, Request

COLUMNS = ("task_id", "setting", "sample", "text")


@dataclass
class ReplayConfig:
    engine: str = "replay"
    name: str = ""  # as it appears in tables; default: the file's name
    path: str = ""
    setting: str = "f2p"  # of records that name none

    @property
    def label(self) -> str:
        return self.name or Path(self.path).stem


class Replay:
    hostile = True
    setting: Setting | None = None
    capacity = 64
    origin: dict[str, str] = {}

    def __init__(self, config: ReplayConfig) -> None:
        if not config.path:
            raise InputError("model=replay needs model.path: JSON lines or Parquet with task_id, setting, sample, text")
        path = Path(config.path)
        self.name = config.label
        self._texts: dict[tuple[str, str], dict[int, str]] = {}
        for row, record in enumerate(_records(path), 1):
            if "postcondition" in record and "n" in record:
                record = {**record, "setting": config.setting, "sample": record["n"], "text": record["postcondition"]}
            for column in COLUMNS:
                if record.get(column) is None:
                    raise InputError(f"{path}, row {row}: the column {column!r} is missing")
            if record["setting"] not in PROMPTED:
                raise InputError(f"{path}, row {row}: setting {record['setting']!r} is not one of {', '.join(PROMPTED)}")
            samples = self._texts.setdefault((str(record["task_id"]), str(record["setting"])), {})
            samples[int(record["sample"])] = str(record["text"])
        content = sorted((key, sorted(samples.items())) for key, samples in self._texts.items())
        self.identity: Any = hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def covers(self, task: Task, setting: Setting) -> bool:
        return (task.id, setting.value) in self._texts

    def samples(self, task: Task, setting: Setting) -> int:
        """How many samples are recorded."""
        return len(self._texts.get((task.id, setting.value), ()))

    async def complete(self, request: Request) -> list[Completion]:
        recorded = self._texts.get((request.task.id, request.setting.value), {})
        return [Completion(sample, recorded[sample]) for sample in request.samples if sample in recorded]

    def stop(self) -> None: ...

    async def close(self) -> None: ...


def _records(path: Path) -> list[dict[str, Any]]:
    try:
        if path.suffix == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            try:
                return pq.read_table(path).to_pylist()
            except pa.ArrowException as error:
                raise InputError(f"model.path={path} is not a readable Parquet file: {error}") from error
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"model.path={path} can't be read: {error}") from error
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                record = json.loads(line)
            except ValueError as error:
                raise InputError(f"{path}, line {number}: not JSON: {error}") from error
            if not isinstance(record, dict):
                raise InputError(f"{path}, line {number}: not a record of named fields")
            found.append(record)
    return found
