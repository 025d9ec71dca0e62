"""A Java task's workspace: its source tree, the classes built from it, and the JVM and harness that run its tests."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class JavaWorkspace:
    """`folder` is where its tests run: the module's, of a project of several. `classes` are folders with the project's own
    classes and resources, `jars` what it depends on. `harness` is the class path of ours, with JUnit. `arguments` are those
    of the project's compiler that matter."""

    root: Path
    folder: Path
    java: Path  # the JDK's home
    harness: tuple[Path, ...]
    classes: tuple[Path, ...]
    jars: tuple[Path, ...]
    readable: tuple[Path, ...]
    arguments: tuple[str, ...] = ()


def jdk_folders(home: Path) -> tuple[Path, ...]:
    """What a JVM has to see of its JDK: distributions keep the settings elsewhere."""
    return home, (home / "conf" / "security" / "java.security").resolve().parent.parent
