"""Small projects for tests: a folder with a module and its tests, a task for one of its methods, candidates as text."""

import textwrap
from dataclasses import replace
from pathlib import Path

from construction import environment, mutate, parse
from ensures.candidate import Clauses, Malformed
from ensures.task import Language, Mutant, Repository, Task
from evaluation.checker import Submission
from evaluation.workspace import Workspace
from inference.dialects import icontract

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def write(folder: Path, files: dict[str, str]) -> Path:
    folder.chmod(0o755)  # as root, the sandbox reads as an ordinary user
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return folder


def task(folder: Path, file: str, qualname: str, tests: tuple[str, ...], name: str = "demo/demo", most: int = 0) -> Task:
    """The task of one method, with its first `most` rule mutants, valid or not."""
    text = (folder / file).read_text(encoding="utf-8")
    method = parse.find(text, qualname)
    assert method is not None
    made = mutate.mutants(method.implementation)[:most] if most else []
    return Task(
        id=f"{name.replace('/', '--')}--{qualname}",
        language=Language.PYTHON,
        source=Repository(name, "0" * 40),
        file=file,
        qualname=qualname,
        start_line=method.start_line,
        end_line=method.end_line,
        signature=method.signature,
        comment=method.comment,
        implementation=method.implementation,
        tests=tests,
        mutants=tuple(Mutant(m.implementation, ("rule",), m.operators[0]) for m in made),
    )


def workspace(folder: Path) -> Workspace:
    import sys

    home = environment.environment("tests", ())
    return Workspace(folder, home / "bin" / "python", (folder,), (home, Path(sys.base_prefix)))


def clauses(text: str) -> Clauses:
    parsed = icontract.parse(textwrap.dedent(text))
    assert not isinstance(parsed, Malformed), parsed
    return parsed


def submission(text: str) -> Submission:
    return Submission(clauses(text))


def with_mutants(given: Task, *implementations: str) -> Task:
    return replace(given, mutants=tuple(Mutant(text, ("rule",)) for text in implementations))
