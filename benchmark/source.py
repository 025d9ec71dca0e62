"""A source of tasks, and what is common to all: selection, and what happens to broken records."""

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from ensures.errors import InputError
from ensures.task import Task


@dataclass(frozen=True, slots=True)
class Tasks:
    """What a source gave: the tasks, and one line for each record that was left out."""

    tasks: tuple[Task, ...]
    skipped: tuple[str, ...] = ()


@dataclass
class Selection:
    """Of every source: `limit` takes the first n (0: all), `tasks` is a glob on task ids."""

    limit: int = 0
    tasks: str = "*"
    skip_invalid: bool = False
    repositories: dict[str, str] = field(default_factory=dict)


def read(items: Iterable[Any], make: Any, skip_invalid: bool) -> Tasks:
    """Applies `make(record, where)`; a broken record stops the run, or is left out where the user said so."""
    tasks: list[Task] = []
    skipped: list[str] = []
    for record, where in items:
        try:
            tasks.append(make(record, where))
        except InputError as error:
            if not skip_invalid:
                raise InputError(f"{error} (dataset.skip_invalid=true leaves such records out)") from error
            skipped.append(str(error))
    return Tasks(tuple(tasks), tuple(skipped))


class Named(Protocol):
    @property
    def id(self) -> str: ...


N = TypeVar("N", bound=Named)


def select(tasks: Sequence[N], selection: Selection, name: str) -> tuple[N, ...]:
    """Tasks, or what tasks are made from. Raises InputError where nothing is left, or two have one id."""
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise InputError(f"dataset={name}: two tasks are called {task.id}")
        seen.add(task.id)
    chosen = [task for task in tasks if fnmatch.fnmatchcase(task.id, selection.tasks)]
    if not chosen:
        some = ", ".join(sorted(seen)[:3])
        raise InputError(f"dataset.tasks={selection.tasks!r} matches none of the {len(tasks)} tasks of {name} ({some}, ...)")
    return tuple(chosen[: selection.limit] if selection.limit else chosen)
