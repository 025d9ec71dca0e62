"""A task: one benchmark instance x = (sig, nl, impl, T, M, P) of PostcondBench (3.1), with where it comes from."""

import enum
from dataclasses import dataclass, field, replace

from ensures.keys import content_key


class Language(enum.StrEnum):
    PYTHON = "python"
    JAVA = "java"


class Setting(enum.StrEnum):
    """What the engine is shown. The last two are for engines that read no prompt and are never ranked among models."""

    C2P = "c2p"
    N2P = "n2p"
    F2P = "f2p"
    EXECUTIONS = "executions"
    REFERENCE = "reference"


PROMPTED = (Setting.C2P, Setting.N2P, Setting.F2P)


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository at a commit."""

    name: str
    commit: str
    url: str = ""
    licence: str = ""
    date: str = ""
    environment: str = ""  # text of the project's own configuration (pyproject.toml, pom.xml), where the benchmark has it


@dataclass(frozen=True, slots=True)
class Package:
    """A source distribution on the package index, and how its tests are run."""

    name: str
    version: str
    sha256: str
    licence: str = ""
    date: str = ""
    requires: tuple[str, ...] = ()  # pinned requirements of the tests' environment, beside icontract and pytest
    paths: tuple[str, ...] = (".",)  # folders of the unpacked tree that go on the import path
    pytest_args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Release:
    """A Java project's source release. `digest` is of its Java files, whoever packed them: distributions and archives do
    that in ways of their own. `arguments` are the compiler's."""

    name: str
    version: str
    digest: str
    licence: str = ""
    date: str = ""
    package: str = ""  # a Linux distribution's source package
    archive: str = ""  # where the project keeps it
    sources: tuple[str, ...] = ("src/main/java",)
    tests: tuple[str, ...] = ("src/test/java",)
    jars: tuple[str, ...] = ()  # that its tests need beside JUnit
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """A program at function level, with inputs in place of tests (HumanEval+, MBPP+). `name` is the task's own.

    An input is the list of its arguments, as a Python expression. The task's `implementation` is the whole
    reference program, its `qualname` the entry point, its `tests` name the inputs one by one.
    """

    name: str
    benchmark: str
    version: str
    licence: str
    inputs: tuple[str, ...]
    tolerance: float = 0.0  # absolute, for floats in what the program gives


@dataclass(frozen=True, slots=True)
class Script(Program):
    """A whole program over standard input and output (FixEval): its one argument is the list of the lines that it reads, its
    result the list of those that it prints.

    `outputs`: for each input what its test expects, as a Python expression. `seconds` limits one input, `memory_mb` the
    process: both are the benchmark's.
    """

    outputs: tuple[str, ...] = ()
    seconds: float = 15.0
    memory_mb: int = 5120


Source = Repository | Package | Release | Program | Script


@dataclass(frozen=True, slots=True)
class Mutant:
    """A defective implementation (3.2.2). `families` holds `rule`, `llm`, or both where both made the same text."""

    implementation: str
    families: tuple[str, ...]
    operator: str | None = None
    excluded: str | None = None  # why it does not count, e.g. the reference does not kill it

    @property
    def id(self) -> str:
        return "m-" + content_key(self.implementation)[:12]


@dataclass(frozen=True, slots=True)
class Task:
    """One method with its comment, tests, mutants and, where there is one, its reference postconditions.

    Lines are 1-based and inclusive; `implementation` is exactly the text of `file` from `start_line` to `end_line`
    (decorators, signature, comment and body, with the file's own indentation).
    """

    id: str
    language: Language
    source: Source
    file: str
    qualname: str
    start_line: int
    end_line: int
    signature: str
    comment: str
    implementation: str
    tests: tuple[str, ...]
    mutants: tuple[Mutant, ...] = ()
    reference: str | None = None
    excluded_tests: tuple[str, ...] = ()
    complexity: int = 0
    line_coverage: float = 0.0
    test_seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())

    @property
    def repository(self) -> str:
        """What intervals are clustered by."""
        return self.source.name

    @property
    def lines(self) -> int:
        """Lines of code, the comment included (as published)."""
        return self.end_line - self.start_line + 1

    @property
    def counted(self) -> tuple[Mutant, ...]:
        """The mutants that count, in the task's order."""
        return tuple(mutant for mutant in self.mutants if mutant.excluded is None)

    @property
    def key(self) -> str:
        return content_key(self)


def halves(task: Task, salt: str) -> tuple[Task, Task]:
    """The task with one half of its tests and mutants, and with the other: what gives feedback must not score.

    A single bug (FixEval's) only scores: feedback is on tests alone. Raises ValueError where there are fewer than two tests,
    or of other tasks' mutants.
    """
    counted = task.counted
    if len(task.tests) < 2 or len(counted) < (1 if isinstance(task.source, Script) else 2):
        raise ValueError(f"{len(task.tests)} tests and {len(counted)} mutants can't be split in two")
    tests = sorted(range(len(task.tests)), key=lambda at: content_key(salt, task.tests[at]))
    mutants = sorted(range(len(counted)), key=lambda at: content_key(salt, counted[at].id))

    def part(of_tests: list[int], of_mutants: list[int]) -> Task:
        source = task.source
        if isinstance(source, Script):
            source = replace(source, outputs=tuple(source.outputs[at] for at in sorted(of_tests)))
        if isinstance(source, Program):
            source = replace(source, inputs=tuple(source.inputs[at] for at in sorted(of_tests)))
        kept = tuple(counted[at] for at in sorted(of_mutants))
        return replace(task, source=source, tests=tuple(task.tests[at] for at in sorted(of_tests)), mutants=kept)

    half_tests, half_mutants = len(tests) // 2, len(mutants) // 2
    return part(tests[:half_tests], mutants[:half_mutants]), part(tests[half_tests:], mutants[half_mutants:])
