"""dataset=sample and dataset=sample-java: methods of packages on the index, and of Java projects' releases, by a manifest of
facts: which package, which method, which tests. The code itself is fetched, checked and mutated on the user's machine
(`construction.sample`)."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmark.schema import Record
from benchmark.schema import package as read_package
from benchmark.schema import release as read_release
from benchmark.source import Selection
from ensures.errors import InputError
from ensures.task import Package, Release

MANIFEST = Path(__file__).with_name("sample.json")
JAVA_MANIFEST = Path(__file__).with_name("sample-java.json")


@dataclass
class SampleConfig(Selection):
    kind: str = "sample"
    manifest: str = ""  # default: the one that comes with the project
    mutants: int = 25  # valid mutants a method, drawn by hash (0: all)


@dataclass
class JavaSampleConfig(SampleConfig):
    kind: str = "sample-java"


@dataclass(frozen=True, slots=True)
class Entry:
    """One method of the manifest. `line` tells overloaded ones apart, where there are any."""

    source: Package | Release
    file: str
    qualname: str
    tests: tuple[str, ...]
    line_coverage: float
    line: int | None = None

    @property
    def id(self) -> str:
        return f"{self.source.name}/{self.qualname}" + (f":{self.line}" if self.line else "")


def entries(config: SampleConfig) -> tuple[Entry, ...]:
    """The manifest's methods. Raises InputError naming the place and the field."""
    path = Path(config.manifest) if config.manifest else JAVA_MANIFEST if isinstance(config, JavaSampleConfig) else MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"dataset.manifest={path} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    if not isinstance(data, dict) or not isinstance(data.get("methods"), list):
        raise InputError(f"{path}: a manifest holds a list of 'methods', and one of 'packages' or 'releases'")
    sources: dict[str, Package | Release] = {}
    for kind, reader in (("packages", read_package), ("releases", read_release)):
        for index, item in enumerate(data.get(kind) or ()):
            record = Record(item, f"{path}, {kind}[{index}]")
            sources[record.text("name")] = reader(record)
    found = []
    for index, item in enumerate(data["methods"]):
        record = Record(item, f"{path}, methods[{index}]")
        source = sources.get(record.text("package"))
        if source is None:
            raise InputError(f"{record.where}: {record.text('package')!r} is neither in 'packages' nor in 'releases'")
        found.append(
            Entry(
                source,
                record.text("file"),
                record.text("qualname"),
                record.texts("tests", ...),
                float(record.number("line_coverage", 0.0)),
                record.number("line", None),
            )
        )
    return tuple(found)


def to_manifest(entries: list[Entry]) -> dict[str, Any]:
    """The manifest's form, sources and methods in order of name."""
    sources = {entry.source.name: entry.source for entry in entries}
    found: dict[str, Any] = {}
    for kind, type_ in (("packages", Package), ("releases", Release)):
        records = [asdict(source) for _, source in sorted(sources.items()) if isinstance(source, type_)]
        if records:
            found[kind] = records
    found["methods"] = [
        {
            "package": entry.source.name,
            "file": entry.file,
            "qualname": entry.qualname,
            **({"line": entry.line} if entry.line else {}),
            "line_coverage": entry.line_coverage,
            "tests": list(entry.tests),
        }
        for entry in sorted(entries, key=lambda entry: entry.id)
    ]
    return found
