"""From a list of packages to a manifest: fetch, cover, search, choose. What `python -m jobs.build` runs."""

import hashlib
import tarfile
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from benchmark.sample import Entry
from construction import cover, environment, mine
from containers.sandbox import Sandbox
from ensures.keys import content_key
from ensures.task import Package, Release
from evaluation.python.session import IcontractChecker


def describe(wanted: dict[str, Any]) -> Package:
    """The package with the hash, licence and date of the source distribution that the index gives now."""
    with tempfile.TemporaryDirectory(prefix="ensures-") as folder:
        archive = environment.fetch(wanted["name"], wanted["version"], Path(folder))
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        with tarfile.open(archive) as tar:
            members = tar.getmembers()
            facts = next(m for m in members if m.name.count("/") == 1 and m.name.endswith("/PKG-INFO"))
            handle = tar.extractfile(facts)
            assert handle is not None
            headers = HeaderParser().parsestr(handle.read().decode("utf-8", "replace"))
    classified = [c.rpartition(" :: ")[2] for c in headers.get_all("Classifier", []) if c.startswith("License")]
    licence = headers.get("License-Expression") or (classified or [headers.get("License") or ""])[0]
    return Package(
        wanted["name"],
        wanted["version"],
        digest,
        licence.split("\n")[0],
        _day(max(member.mtime for member in members)),
        tuple(wanted.get("requires", ())),
        tuple(wanted.get("paths", (".",))),
        tuple(wanted.get("pytest_args", ())),
    )


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def search(
    wanted: dict[str, Any], sandbox: Sandbox, checker: IcontractChecker, say: Callable[[str], None]
) -> list[mine.Eligible]:
    """Every eligible method of one package."""
    package = describe(wanted)
    workspace = environment.package_workspace(package, cover.REQUIRES)
    measured = cover.measure(sandbox, workspace)
    failed = sum(outcome == "failed" for outcome in measured.outcomes.values())
    say(f"{package.name}: {len(measured.outcomes)} tests, {failed} failed")
    return list(mine.search(workspace, package, measured, lambda task: checker.prepare(task, workspace), say))


def choose(found: Sequence[mine.Eligible], per_package: int) -> list[Entry]:
    """At most so many methods a package: one of each kind first, then on; within a kind in an order drawn by hash."""
    packages: dict[str, list[mine.Eligible]] = defaultdict(list)
    for eligible in found:
        packages[eligible.task.repository].append(eligible)
    chosen: list[Entry] = []
    for _, group in sorted(packages.items()):
        kinds: dict[str, list[mine.Eligible]] = defaultdict(list)
        for eligible in sorted(group, key=lambda item: content_key(item.task.id)):
            kinds[eligible.kind].append(eligible)
        taken: list[mine.Eligible] = []
        while len(taken) < per_package and any(kinds.values()):
            for kind in sorted(kinds, key=lambda kind: (len(kinds[kind]) == 0, kind)):
                if kinds[kind] and len(taken) < per_package:
                    taken.append(kinds[kind].pop(0))
        for eligible in taken:
            task = eligible.task
            assert isinstance(task.source, (Package, Release))
            line = task.start_line if task.id.endswith(f":{task.start_line}") else None  # of overloaded methods
            chosen.append(Entry(task.source, task.file, task.qualname, task.tests, task.line_coverage, line))
    return chosen
