"""The search for eligible methods (PostcondBench 3.2.1), and the mutants that count (3.2.2).

A method is eligible with a comment of more than 15 English words, at least 15 lines (comment included) or a cyclomatic
complexity of 3, line coverage of 90 % or more by its covering tests, no exception that leaves it in normal execution, and
at least 5 valid mutants. A mutant is valid if a covering test fails on it, in time, and no exception leaves the body.
Generators, coroutines and functions inside functions are left out, as the paper's experts did.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from construction import parse
from construction.cover import Coverage
from construction.mutate import RuleMutant, mutants
from ensures.errors import EnsuresError
from ensures.keys import content_key
from ensures.subject import Expect, Kind, Subject
from ensures.task import Language, Mutant, Package, Task
from ensures.verdict import Ending
from evaluation.checker import Tested
from evaluation.workspace import Workspace

LEAST_WORDS = 16
LEAST_LINES = 15
LEAST_COMPLEXITY = 3
LEAST_COVERAGE = 0.9
LEAST_MUTANTS = 5
# A mutant that takes longer than this is taken for one that does not end (the published runs gave every one 20 s).
LEAST_SECONDS, SLOWER = 2.0, 20


@dataclass(frozen=True, slots=True)
class Eligible:
    task: Task
    kind: str
    mutants: int


def statically_eligible(method: parse.Method) -> bool:
    return (
        method.comment_words >= LEAST_WORDS
        and (method.lines >= LEAST_LINES or method.complexity >= LEAST_COMPLEXITY)
        and not method.is_async
        and not method.is_generator
        and method.kind != "nested"
        and "result" not in method.parameters
    )


def task_of(
    package: Package, file: str, method: parse.Method, tests: tuple[str, ...], coverage: float, seconds: float
) -> Task:
    """A task without mutants yet."""
    return Task(
        id=f"{package.name}/{method.qualname}",
        language=Language.PYTHON,
        source=package,
        file=file,
        qualname=method.qualname,
        start_line=method.start_line,
        end_line=method.end_line,
        signature=method.signature,
        comment=method.comment,
        implementation=method.implementation,
        tests=tests,
        complexity=method.complexity,
        line_coverage=round(coverage, 4),
        test_seconds=round(seconds, 3),
    )


def candidates(workspace: Workspace, package: Package, coverage: Coverage) -> Iterator[tuple[Task, str]]:
    """Methods that pass every filter which needs no execution of their own, with their kind."""
    for file in sorted(coverage.files):
        if not file.endswith(".py") or file.rsplit("/", 1)[-1].startswith(("test_", "conftest")) or "test" in file:
            continue
        text = (workspace.root / file).read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        try:
            found = list(parse.methods(text))
        except SyntaxError:
            continue
        for method in found:
            if not statically_eligible(method) or parse.find(text, method.qualname) != method:
                continue
            share, tests = coverage.of_lines(file, method.body_start_line, method.end_line)
            if share < LEAST_COVERAGE or not tests:
                continue
            seconds = sum(coverage.seconds.get(test, 0.0) for test in tests)
            yield task_of(package, file, method, tests, share, seconds), method.kind


def valid(session: Tested, mutant: RuleMutant) -> bool:
    """A covering test fails, the limit was not reached, and no exception left the body."""
    subject = Subject(_mutant(mutant).id, Kind.MUTANT, Expect.VIOLATED, mutant.implementation)
    plain = session.plain(subject, max(LEAST_SECONDS, SLOWER * session.baseline.original.seconds))
    return plain.ending is Ending.FAILED and plain.calls > 0 and plain.body_raised == 0


def with_mutants(task: Task, session: Tested, most: int, progress: Callable[[int], None] = lambda done: None) -> Task:
    """The task with its valid rule mutants: all of them (most=0), or the first `most` in an order drawn by hash."""
    drawn = sorted(mutants(task.implementation), key=lambda mutant: content_key(task.id, mutant.implementation))
    kept: list[RuleMutant] = []
    for done, mutant in enumerate(drawn):
        if most and len(kept) == most:
            break
        if valid(session, mutant):
            kept.append(mutant)
        progress(done)
    kept.sort(key=lambda mutant: (mutant.line, mutant.operators, mutant.implementation))
    return replace(task, mutants=tuple(map(_mutant, kept)))


def _mutant(mutant: RuleMutant) -> Mutant:
    return Mutant(mutant.implementation, ("rule",), mutant.operators[0])


def search(
    workspace: Workspace,
    package: Package,
    coverage: Coverage,
    prepare: Callable[[Task], Tested],
    say: Callable[[str], None],
    most: int = 25,
    most_tests: int = 60,
) -> Iterator[Eligible]:
    """Every eligible method of the package with at most `most_tests` covering tests, and its number of valid mutants."""
    for task, kind in candidates(workspace, package, coverage):
        if len(task.tests) > most_tests:
            continue
        try:
            session = prepare(task)
        except EnsuresError as error:
            say(f"{task.id}: {error}")
            continue
        try:
            if session.baseline.excluded or session.baseline.original.body_raised:
                say(f"{task.id}: left out, an exception leaves it or a test does not pass")
                continue
            made = with_mutants(task, session, most)
        except EnsuresError as error:
            say(f"{task.id}: {error}")
            continue
        finally:
            session.close()
        if len(made.mutants) < LEAST_MUTANTS:
            say(f"{task.id}: left out, {len(made.mutants)} valid mutants")
            continue
        say(f"{task.id}: {kind}, {len(task.tests)} tests, {len(made.mutants)} mutants")
        yield Eligible(task, kind, len(made.mutants))
