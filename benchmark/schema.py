"""Tasks as Parquet and JSON. One flat record a task, readable by Hugging Face `datasets`; broken records name their field."""

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ensures.errors import InputError
from ensures.task import Language, Mutant, Package, Program, Release, Repository, Script, Source, Task

_TEXTS = pa.list_(pa.string())
_SOURCE = pa.struct(
    [
        ("kind", pa.string()),  # package | repository | release | program | script
        ("name", pa.string()),
        ("version", pa.string()),  # a package's version, a repository's commit
        ("sha256", pa.string()),
        ("url", pa.string()),
        ("licence", pa.string()),
        ("date", pa.string()),
        ("environment", pa.string()),
        ("requires", _TEXTS),
        ("paths", _TEXTS),
        ("pytest_args", _TEXTS),
        ("benchmark", pa.string()),
        ("inputs", _TEXTS),
        ("tolerance", pa.float64()),
        ("outputs", _TEXTS),
        ("seconds", pa.float64()),
        ("memory_mb", pa.int64()),
        ("digest", pa.string()),
        ("package", pa.string()),
        ("archive", pa.string()),
        ("sources", _TEXTS),
        ("tests", _TEXTS),
        ("jars", _TEXTS),
        ("arguments", _TEXTS),
    ]
)
_MUTANT = pa.struct(
    [("implementation", pa.string()), ("families", _TEXTS), ("operator", pa.string()), ("excluded", pa.string())]
)
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("language", pa.string()),
        ("source", _SOURCE),
        ("file", pa.string()),
        ("qualname", pa.string()),
        ("start_line", pa.int32()),
        ("end_line", pa.int32()),
        ("signature", pa.string()),
        ("comment", pa.string()),
        ("implementation", pa.string()),
        ("tests", _TEXTS),
        ("excluded_tests", _TEXTS),
        ("mutants", pa.list_(_MUTANT)),
        ("reference", pa.string()),
        ("complexity", pa.int32()),
        ("line_coverage", pa.float64()),
        ("test_seconds", pa.float64()),
        ("notes", _TEXTS),
    ]
)


def to_record(task: Task) -> dict[str, Any]:
    record = {field.name: getattr(task, field.name) for field in dataclasses.fields(task)}
    record["language"] = task.language.value
    record["source"] = _source_record(task.source)
    record["mutants"] = [
        {name: getattr(mutant, name) for name in ("implementation", "families", "operator", "excluded")}
        for mutant in task.mutants
    ]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in record.items()}


_KINDS = {Package: "package", Repository: "repository", Release: "release", Program: "program", Script: "script"}


def _source_record(source: Source) -> dict[str, Any]:
    record: dict[str, Any] = {"kind": _KINDS[type(source)]}
    for field in dataclasses.fields(source):
        value = getattr(source, field.name)
        record["version" if field.name == "commit" else field.name] = list(value) if isinstance(value, tuple) else value
    return record


class Record:
    """Reads typed fields out of a mapping; every complaint names the place and the field."""

    def __init__(self, record: Any, where: str) -> None:
        if not isinstance(record, dict):
            raise InputError(f"{where}: a task must be a record of named fields, not {type(record).__name__}")
        self.record, self.where = record, where

    def _get(self, name: str, kinds: type | tuple[type, ...], default: Any) -> Any:
        value = self.record.get(name)
        if value is None:
            if default is ...:
                raise InputError(f"{self.where}: the field {name!r} is missing")
            return default
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise InputError(f"{self.where}: the field {name!r} holds a {type(value).__name__}")
        return value

    def text(self, name: str, default: Any = ...) -> Any:
        return self._get(name, str, default)

    def number(self, name: str, default: Any = ...) -> Any:
        return self._get(name, (int, float), default)

    def line(self, name: str) -> int:
        value = self._get(name, int, ...)
        if value < 1:
            raise InputError(f"{self.where}: the field {name!r} is {value}; lines count from 1")
        return value

    def texts(self, name: str, default: Any = ()) -> tuple[str, ...]:
        values = self._get(name, (list, tuple), default)
        if not all(isinstance(value, str) for value in values):
            raise InputError(f"{self.where}: the field {name!r} must be a list of texts")
        return tuple(values)

    def inner(self, name: str) -> "Record":
        return Record(self._get(name, dict, ...), f"{self.where}, {name}")


def from_record(record: Any, where: str) -> Task:
    """A task out of a record. Raises InputError naming the file and the field."""
    fields = Record(record, where)
    language = fields.text("language")
    if language not in list(Language):
        raise InputError(f"{where}: the field 'language' is {language!r}; known: {', '.join(Language)}")
    mutants = []
    for index, item in enumerate(fields._get("mutants", (list, tuple), ())):
        mutant = Record(item, f"{where}, mutants[{index}]")
        mutants.append(
            Mutant(
                mutant.text("implementation"),
                mutant.texts("families"),
                mutant.text("operator", None),
                mutant.text("excluded", None),
            )
        )
    task = Task(
        id=fields.text("id"),
        language=Language(language),
        source=_source(fields.inner("source")),
        file=fields.text("file"),
        qualname=fields.text("qualname"),
        start_line=fields.line("start_line"),
        end_line=fields.line("end_line"),
        signature=fields.text("signature"),
        comment=fields.text("comment"),
        implementation=fields.text("implementation"),
        tests=fields.texts("tests", ...),
        excluded_tests=fields.texts("excluded_tests"),
        mutants=tuple(mutants),
        reference=fields.text("reference", None),
        complexity=int(fields.number("complexity", 0)),
        line_coverage=float(fields.number("line_coverage", 0.0)),
        test_seconds=float(fields.number("test_seconds", 0.0)),
        notes=fields.texts("notes"),
    )
    if not task.tests:
        raise InputError(f"{where}: the field 'tests' is empty")
    path = Path(task.file)
    if path.is_absolute() or ".." in path.parts:
        raise InputError(f"{where}: the field 'file' is {task.file!r}; it must stay inside the workspace")
    return task


def package(fields: Record) -> Package:
    return Package(
        fields.text("name"),
        fields.text("version"),
        fields.text("sha256"),
        fields.text("licence", ""),
        fields.text("date", ""),
        fields.texts("requires"),
        fields.texts("paths", (".",)),
        fields.texts("pytest_args"),
    )


def release(fields: Record) -> Release:
    return Release(
        fields.text("name"),
        fields.text("version"),
        fields.text("digest"),
        fields.text("licence", ""),
        fields.text("date", ""),
        fields.text("package", ""),
        fields.text("archive", ""),
        fields.texts("sources", ("src/main/java",)),
        fields.texts("tests", ("src/test/java",)),
        fields.texts("jars"),
        fields.texts("arguments"),
    )


def _source(fields: Record) -> Source:
    kind = fields.text("kind")
    if kind == "package":
        return package(fields)
    if kind == "release":
        return release(fields)
    if kind == "repository":
        return Repository(
            fields.text("name"),
            fields.text("version"),
            fields.text("url", ""),
            fields.text("licence", ""),
            fields.text("date", ""),
            fields.text("environment", ""),
        )
    if kind in ("program", "script"):
        program = (
            fields.text("name"),
            fields.text("benchmark"),
            fields.text("version", ""),
            fields.text("licence", ""),
            fields.texts("inputs", ...),
            float(fields.number("tolerance", 0.0)),
        )
        if kind == "program":
            return Program(*program)
        limits = (float(fields.number("seconds", 15.0)), int(fields.number("memory_mb", 5120)))
        return Script(*program, fields.texts("outputs", ...), *limits)
    raise InputError(f"{fields.where}: the field 'kind' is {kind!r}; known: {', '.join(_KINDS.values())}")


def write(tasks: Iterable[Task], path: Path) -> None:
    """All tasks as one Parquet file, written to a temporary name and renamed; a file that says the same stays."""
    table = pa.Table.from_pylist([to_record(task) for task in tasks], schema=SCHEMA)
    temporary = path.with_name(path.name + ".tmp")
    pq.write_table(table, temporary, compression="zstd")
    if path.is_file() and path.read_bytes() == temporary.read_bytes():
        temporary.unlink()
    else:
        temporary.replace(path)


def records(path: Path) -> Iterable[tuple[Any, str]]:
    """(record, where it stands) out of .parquet, .json (one record or a list) or .jsonl. Raises InputError."""
    if path.suffix == ".parquet":
        try:
            table = pq.read_table(path)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{path} is not a readable Parquet file: {error}") from error
        for row, record in enumerate(table.to_pylist()):
            yield record, f"{path}, row {row}"
        return
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {error}") from error
    if path.suffix == ".jsonl":
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield _json(line, f"{path}, line {number}"), f"{path}, line {number}"
        return
    found = _json(text, str(path))
    for index, record in enumerate(found if isinstance(found, list) else [found]):
        yield record, f"{path}, record {index}" if isinstance(found, list) else str(path)


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(f"{where}: not JSON: {error}") from error
