"""The search for eligible methods (PostcondBench 3.2.1), and the mutants that count (3.2.2).

A method is eligible with a comment of more than 15 English words, at least 15 lines (comment included) or a cyclomatic
complexity of 3, line coverage of 90 % or more by its covering tests, no exception that leaves it in normal execution, and
at least 5 valid mutants. A mutant is valid if a covering test fails on it, in time, and no exception leaves the body.
Generators, coroutines and functions inside functions are left out, as the paper's experts did.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from construction import parse
from construction.cover import Coverage
from construction.java.mutate import JavaMutant
from construction.java.mutate import mutants as java_mutants
from construction.java.parse import Method as JavaMethod
from construction.mutate import RuleMutant, mutants
from ensures.errors import EnsuresError
from ensures.keys import content_key
from ensures.subject import Expect, Kind, Subject
from ensures.task import Language, Mutant, Package, Release, Task
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
    source: Package | Release,
    file: str,
    method: parse.Method | JavaMethod,
    tests: tuple[str, ...],
    coverage: float,
    seconds: float,
    line: int | None = None,
) -> Task:
    """A task without mutants yet. `line`, of overloaded methods, is part of its name."""
    return Task(
        id=f"{source.name}/{method.qualname}" + (f":{line}" if line else ""),
        language=Language.JAVA if isinstance(source, Release) else Language.PYTHON,
        source=source,
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


def rule_mutants(task: Task) -> Sequence[RuleMutant]:
    """By the operators of the task's language."""
    return java_mutants(task.implementation) if task.language is Language.JAVA else mutants(task.implementation)


def valid(session: Tested, mutant: RuleMutant) -> bool:
    """A covering test fails, the limit was not reached, and no exception left the body."""
    if isinstance(mutant, JavaMutant) and mutant.probe and not session.broken(mutant.probe):
        return False  # it leaves out a call that gives something
    subject = Subject(_mutant(mutant).id, Kind.MUTANT, Expect.VIOLATED, mutant.implementation)
    plain = session.plain(subject, max(LEAST_SECONDS, SLOWER * session.baseline.original.seconds))
    return plain.ending is Ending.FAILED and plain.calls > 0 and plain.body_raised == 0


def with_mutants(task: Task, session: Tested, most: int, progress: Callable[[int], None] = lambda done: None) -> Task:
    """The task with its valid rule mutants: all of them (most=0), or the first `most` in an order drawn by hash."""
    drawn = sorted(rule_mutants(task), key=lambda mutant: content_key(task.id, mutant.implementation))
    session.expect([text for mutant in drawn for text in (mutant.implementation, getattr(mutant, "probe", "")) if text])
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
        if len(task.tests) <= most_tests:
            yield from eligible(task, kind, prepare, say, most)


def eligible(
    task: Task, kind: str, prepare: Callable[[Task], Tested], say: Callable[[str], None], most: int = 25
) -> Iterator[Eligible]:
    """The task, if it passes the filters that need executions."""
    try:
        session = prepare(task)
    except EnsuresError as error:
        say(f"{task.id}: {error}")
        return
    try:
        if session.baseline.excluded or session.baseline.original.body_raised:
            say(f"{task.id}: left out, an exception leaves it or a test does not pass")
            return
        made = with_mutants(task, session, most)
        counted = len(session.survey(made).counted(made))
    except EnsuresError as error:
        say(f"{task.id}: {error}")
        return
    finally:
        session.close()
    if counted < LEAST_MUTANTS:
        say(f"{task.id}: left out, {counted} valid mutants")
        return
    say(f"{task.id}: {kind}, {len(task.tests)} tests, {counted} mutants")
    yield Eligible(task, kind, counted)
