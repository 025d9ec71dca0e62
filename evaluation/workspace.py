"""A workspace: a task's source tree at its version, with its environment built, ready to run its tests."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ensures.errors import PreparationFailed
from ensures.task import Task


@dataclass(frozen=True, slots=True)
class Workspace:
    """`interpreter` is the environment's Python; `paths` go on its import path; `readable` is all that it needs to see."""

    root: Path
    interpreter: Path
    paths: tuple[Path, ...]
    readable: tuple[Path, ...]
    pytest_args: tuple[str, ...] = ()


class Tree(Protocol):
    """Any language's workspace."""

    @property
    def root(self) -> Path: ...


def module_text(workspace: Tree, task: Task) -> str:
    """The text of the file that holds the task's method, checked to hold it. Raises PreparationFailed."""
    path = workspace.root / task.file
    try:
        text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise PreparationFailed(f"{task.id}: {path} can't be read: {error}") from error
    lines = text.split("\n")
    found = "\n".join(lines[task.start_line - 1 : task.end_line])
    if found.rstrip() != task.implementation.rstrip():
        raise PreparationFailed(
            f"{task.id}: lines {task.start_line} to {task.end_line} of {path} are not the task's method; "
            "the workspace is at another version"
        )
    return text
