"""Makes the sample's tasks from its manifest: fetch, check, unpack, parse, mutate, keep the mutants that count.

What was made is cached, with its baseline, by the content that it depends on: the manifest's entry, the rules of mutation,
the checker.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmark import schema
from benchmark.sample import Entry
from construction import environment, mine, mutate, parse
from construction.java import build as java_build
from construction.java import mutate as java_mutate
from construction.java import parse as java_parse
from construction.java import release as java_release
from ensures.errors import PreparationFailed, WorkerLost
from ensures.keys import content_key
from ensures.task import Language, Mutant, Package, Program, Release, Repository, Task
from evaluation.baseline import Baseline
from evaluation.baseline import from_record as baseline_from
from evaluation.checker import Tested
from evaluation.java.workspace import JavaWorkspace
from evaluation.pool import Pool
from evaluation.station import Work
from evaluation.workspace import Workspace


def program_workspace() -> Workspace:
    return environment.program_workspace()


def program_mutants(program: str, entry: str) -> list[Mutant]:
    """By the rule operators, each the whole program with one node of the entry point's body changed."""
    method = parse.find(program, entry)
    if method is None:
        return []
    lines = program.split("\n")
    before, after = lines[: method.start_line - 1], lines[method.end_line :]
    return [
        Mutant("\n".join([*before, made.implementation.rstrip("\n"), *after]), ("rule",), made.operators[0])
        for made in mutate.mutants(method.implementation)
    ]


def workspace(task: Task, given: dict[str, str]) -> Workspace | JavaWorkspace:
    """Any task's workspace."""
    if isinstance(task.source, Program):
        return environment.program_workspace()
    if isinstance(task.source, Package):
        return environment.package_workspace(task.source)
    if isinstance(task.source, Release):
        return java_build.release_workspace(task.source, java_release.tree(task.source))
    assert isinstance(task.source, Repository)
    if task.language is Language.JAVA:
        return java_build.repository_workspace(environment.repository_tree(task.source, given), task.file, task.source.commit)
    return environment.repository_workspace(task.source, given)


def _rules() -> str:
    digest = hashlib.sha256()
    for module in (mutate, mine, parse, java_mutate, java_parse):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()


def _cached(key: str) -> Path:
    return environment.cache_root() / "tasks" / f"{key}.json"


def fetched(entry: Entry) -> Path:
    """The tree that holds the entry's method."""
    if isinstance(entry.source, Release):
        return java_release.tree(entry.source)
    return environment.unpacked(entry.source)


def bare(entry: Entry) -> Task:
    """The task without mutants. Fetches its source. Raises InputError for a hash that does not match."""
    tree = fetched(entry)
    path = tree / entry.file
    try:
        text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except OSError as error:
        raise PreparationFailed(f"{entry.id}: {entry.file} is not in the distribution: {error.strerror}") from error
    method: parse.Method | java_parse.Method | None
    if isinstance(entry.source, Release):
        method = java_parse.find(text, entry.qualname, entry.line)
    else:
        method = parse.find(text, entry.qualname)
    if method is None:
        raise PreparationFailed(f"{entry.id}: {entry.file} holds no {entry.qualname}")
    return mine.task_of(entry.source, entry.file, method, entry.tests, entry.line_coverage, 0.0, entry.line)


def add_mutants(session: Tested, task: Task, most: int) -> tuple[Task, Baseline]:
    """At a station."""
    made = mine.with_mutants(task, session, most)
    return made, session.survey(made)


async def build(
    entries: Sequence[Entry],
    most: int,
    version: Callable[[Language], str],
    pool: Callable[[], Pool],
    keep: Callable[[Task, Baseline], None],
    done: Callable[[str], None],
    failed: Callable[[str, str], None],
    fetching: int = 4,
) -> list[Task]:
    """The tasks, in the manifest's order. `pool` is asked for only where something has to be made; `keep` gets the
    baseline of each task, `failed` the name of a method that can't be had here, and why."""
    rules = _rules()
    gate = asyncio.Semaphore(fetching)

    async def one(entry: Entry) -> Task:
        language = Language.JAVA if isinstance(entry.source, Release) else Language.PYTHON
        key = content_key(entry, most, version(language), rules)
        cached = _cached(key)
        if cached.is_file():
            stored = json.loads(cached.read_text(encoding="utf-8"))
            task = schema.from_record(stored["task"], str(cached))
            keep(task, baseline_from(stored["baseline"]))
            done(entry.id)
            return task
        async with gate:
            await asyncio.to_thread(fetched, entry)
        task = await asyncio.to_thread(bare, entry)
        made, baseline = await pool().submit(Work(task, add_mutants, most, 5.0 + 0.1 * len(entry.tests)))
        if len(made.mutants) < mine.LEAST_MUTANTS:
            raise PreparationFailed(f"{entry.id}: only {len(made.mutants)} mutants are valid on this machine")
        keep(made, baseline)
        await asyncio.to_thread(_keep, cached, {"task": schema.to_record(made), "baseline": baseline.record()})
        done(entry.id)
        return made

    async def unless_failed(entry: Entry) -> Task | None:
        try:
            return await one(entry)
        except (PreparationFailed, WorkerLost) as error:
            failed(entry.id, str(error))
            return None

    running = [asyncio.ensure_future(unless_failed(entry)) for entry in entries]
    try:
        return [task for task in await asyncio.gather(*running) if task is not None]
    finally:
        for future in running:
            future.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _keep(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(record), encoding="utf-8")
    temporary.replace(path)
