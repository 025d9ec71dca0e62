"""From a list of releases to a manifest: fetch, cover, search. What `python -m jobs.build --language java` runs.

The filters are `construction.mine`'s (PostcondBench 3.2.1). Left out as the paper's experts did: what takes or gives
iterators, streams and readers, which a condition would use up, and methods of local classes.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from benchmark import schema
from construction import mine
from construction.java import build, cover, parse, release
from containers.sandbox import Sandbox
from ensures.task import Release, Task
from evaluation.java.session import JmlChecker
from evaluation.java.workspace import JavaWorkspace

_PASSING_BY = re.compile(
    r"\b(Iterator|ListIterator|Stream|IntStream|Enumeration|\w*Reader|\w*Writer|\w*InputStream|\w*OutputStream)\b"
)


def describe(wanted: dict[str, Any]) -> Release:
    """The release with the digest of the sources that are there now."""
    found = schema.release(schema.Record({"digest": "", **wanted}, wanted.get("name", "a release")))
    tree = release.tree(found)
    return replace(found, digest=release.digest(tree, (*found.sources, *found.tests)))


def statically_eligible(method: parse.Method) -> bool:
    return (
        method.comment_words >= mine.LEAST_WORDS
        and (method.lines >= mine.LEAST_LINES or method.complexity >= mine.LEAST_COMPLEXITY)
        and method.kind != "local"
        and not any(_PASSING_BY.search(type_) for type_ in (*method.parameters, method.result))
    )


def candidates(workspace: JavaWorkspace, given: Release, coverage: cover.Coverage) -> Iterator[tuple[Task, str]]:
    """Methods that pass every filter which needs no execution of their own, with their kind."""
    for file in sorted(coverage.files):
        found = list(parse.methods((workspace.root / file).read_text(encoding="utf-8").replace("\r\n", "\n")))
        names = Counter(method.qualname for method in found)
        for method in found:
            if not statically_eligible(method):
                continue
            share, tests = coverage.of_lines(file, method.body_start_line, method.end_line)
            if share < mine.LEAST_COVERAGE or not tests:
                continue
            seconds = sum(coverage.seconds.get(test, 0.0) for test in tests)
            line = method.start_line if names[method.qualname] > 1 else None
            yield mine.task_of(given, file, method, tests, share, seconds, line), method.kind


def search(
    wanted: dict[str, Any], sandbox: Sandbox, checker: JmlChecker, say: Callable[[str], None], most_tests: int = 60
) -> Iterator[mine.Eligible]:
    """Every eligible method of one release."""
    given = describe(wanted)
    workspace = build.release_workspace(given, release.tree(given))
    coverage = cover.measure(sandbox, workspace, given.sources)
    failed = sum(outcome == "f" for outcome in coverage.outcomes.values())
    say(f"{given.name}: {len(coverage.outcomes)} tests, {failed} failed")
    for task, kind in candidates(workspace, given, coverage):
        if len(task.tests) <= most_tests:
            yield from mine.eligible(task, kind, lambda task: checker.prepare(task, workspace), say)
