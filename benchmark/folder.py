"""dataset=folder: Parquet, JSON or JSON lines of our own schema (`benchmark.schema`), a file or a folder of files."""

from dataclasses import dataclass
from pathlib import Path

from benchmark.schema import from_record, records
from benchmark.source import Selection, Tasks, read
from ensures.errors import InputError


@dataclass
class FolderConfig(Selection):
    kind: str = "folder"
    path: str = ""


def load(config: FolderConfig) -> Tasks:
    if not config.path:
        raise InputError("dataset=folder needs dataset.path: a file or folder of Parquet or JSON in our schema")
    path = Path(config.path)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".parquet", ".json", ".jsonl"))
        if not files:
            raise InputError(f"dataset.path={path} holds no .parquet, .json or .jsonl file")
    elif path.is_file():
        files = [path]
    else:
        raise InputError(f"dataset.path={path} does not exist")
    return read((item for file in files for item in records(file)), from_record, config.skip_invalid)
