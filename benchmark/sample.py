"""dataset=sample: methods of packages on the index, by a manifest of facts (sample.json): which package, which method, which
tests. The code itself is fetched, checked and mutated on the user's machine (`construction.sample`)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.schema import Record
from benchmark.schema import package as read_package
from benchmark.source import Selection
from ensures.errors import InputError
from ensures.task import Package

MANIFEST = Path(__file__).with_name("sample.json")


@dataclass
class SampleConfig(Selection):
    kind: str = "sample"
    manifest: str = ""  # default: the one that comes with the project
    mutants: int = 25  # valid mutants a method, drawn by hash (0: all)


@dataclass(frozen=True, slots=True)
class Entry:
    """One method of the manifest."""

    package: Package
    file: str
    qualname: str
    tests: tuple[str, ...]
    line_coverage: float

    @property
    def id(self) -> str:
        return f"{self.package.name}/{self.qualname}"


def entries(config: SampleConfig) -> tuple[Entry, ...]:
    """The manifest's methods. Raises InputError naming the place and the field."""
    path = Path(config.manifest) if config.manifest else MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"dataset.manifest={path} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    if not isinstance(data, dict) or not isinstance(data.get("packages"), list) or not isinstance(data.get("methods"), list):
        raise InputError(f"{path}: a manifest holds two lists, 'packages' and 'methods'")
    packages: dict[str, Package] = {}
    for index, item in enumerate(data["packages"]):
        record = Record(item, f"{path}, packages[{index}]")
        packages[record.text("name")] = read_package(record)
    found = []
    for index, item in enumerate(data["methods"]):
        record = Record(item, f"{path}, methods[{index}]")
        package = packages.get(record.text("package"))
        if package is None:
            raise InputError(f"{record.where}: the package {record.text('package')!r} is not in 'packages'")
        found.append(
            Entry(
                package,
                record.text("file"),
                record.text("qualname"),
                record.texts("tests", ...),
                float(record.number("line_coverage", 0.0)),
            )
        )
    return tuple(found)


def to_manifest(entries: list[Entry]) -> dict[str, Any]:
    """The manifest's form, packages and methods in order of name."""
    packages = {entry.package.name: entry.package for entry in entries}
    return {
        "packages": [
            {
                "name": package.name,
                "version": package.version,
                "sha256": package.sha256,
                "licence": package.licence,
                "date": package.date,
                "requires": list(package.requires),
                "paths": list(package.paths),
                "pytest_args": list(package.pytest_args),
            }
            for _, package in sorted(packages.items())
        ],
        "methods": [
            {
                "package": entry.package.name,
                "file": entry.file,
                "qualname": entry.qualname,
                "line_coverage": entry.line_coverage,
                "tests": list(entry.tests),
            }
            for entry in sorted(entries, key=lambda entry: entry.id)
        ],
    }
