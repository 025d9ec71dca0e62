"""How a task's baseline is found (see `evaluation.baseline`): hash seeds, exclusions, what is checked again after them."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ensures.errors import PreparationFailed
from ensures.subject import Subject, mutants, original
from ensures.task import Task
from ensures.verdict import Ending
from evaluation.baseline import HASH_SEEDS, Baseline, Calls, Mark, Plain, fingerprints, indistinguishable

if TYPE_CHECKING:
    from evaluation.python.session import IcontractSession

MOST_EXPECTED = 2000  # calls of the original that travel with each mutant
LEAST_COVERAGE = 0.9  # of the method's lines by its covering tests (PostcondBench 3.2.1)


def baseline(session: "IcontractSession") -> Baseline:
    """The tests on the plain original under each hash seed, the one of the verdicts last, and once more after exclusions.

    What differs from one plain execution to the next (output with a time in it) is no part of the trace. Raises
    PreparationFailed where no test is left, none calls the method, or what is left covers too little of it.
    """
    task = session.task
    runs: list[Plain] = []
    names: list[tuple[str, ...]] = []
    unstable: dict[str, None] = {}
    collected: tuple[str, ...] = ()
    seeds = HASH_SEEDS[::-1]
    for seed, then in zip(seeds, (*seeds[1:], None), strict=True):
        collected = session.start(seed, then)
        runs.append(session.plain(original(task)))
        _ended(task, runs[-1])
        names.append(collected)
        unstable |= {test: None for test, letter in zip(collected, runs[-1].outcomes, strict=True) if letter == "f"}
    kept = tuple(test for test in collected if test not in unstable)
    if unstable:
        if not kept:
            raise PreparationFailed(f"{task.id}: none of its {len(unstable)} covering tests passes here")
        before = coverage(session)
        session.take(kept)
        runs, names = [session.plain(original(task)), session.plain(original(task))], [kept, kept]
        _ended(task, runs[-1])
        after = coverage(session)
        if after < min(before, LEAST_COVERAGE):
            lost = f"{len(unstable)} tests do not pass here, and"
            raise PreparationFailed(f"{task.id}: {lost} the others cover {after:.0%} of its lines")
    if runs[-1].ending is not Ending.PASSED:
        raise PreparationFailed(f"{task.id}: its tests do not pass on the original here ({runs[-1].ending})")
    if not runs[-1].calls:
        raise PreparationFailed(f"{task.id}: none of its covering tests calls the method")
    return Baseline(kept, tuple(unstable), replace(runs[-1], trace=_common(runs, names)))


def with_mutants(session: "IcontractSession", task: Task) -> Baseline:
    """The baseline with each mutant's plain outcomes, and without the mutants that don't count here.

    Where the task has no reference, the differential oracle (harness, `fingerprint`) is asked of each mutant.
    """
    found = session.baseline
    outcomes: dict[str, str] = {}
    left_out: dict[str, str] = {}
    expected = None if task.reference is not None else calls(session, original(task))
    told = _first(expected or {})
    for mutant in mutants(task):
        plain = session.plain(mutant)
        outcomes[mutant.id] = plain.outcomes if plain.ending in (Ending.PASSED, Ending.FAILED) else ""
        if plain.ending is Ending.PASSED:
            left_out[mutant.id] = "no covering test fails on it here"
        elif expected and indistinguishable(expected, calls(session, mutant, told), set(plain.failed)):
            left_out[mutant.id] = "not_observable"
    return replace(found, mutants=outcomes, left_out=left_out)


def calls(session: "IcontractSession", subject: Subject, expected: Calls | None = None) -> Calls | None:
    """The fingerprints of the subject's calls, up to the first that is not as expected in a test that is expected; None
    where its tests did not end normally."""
    answer = session.execute(subject, fingerprints=True, expected=expected or {}, whole=True, seconds=session.short)
    if answer.ending not in (Ending.PASSED, Ending.FAILED):
        return None
    return fingerprints(answer.events)


def _first(expected: Calls) -> Calls:
    """Of whole tests, as much as travels with each mutant."""
    told: Calls = {}
    room = MOST_EXPECTED
    for test, made in expected.items():
        if len(made) <= room:
            told[test] = made
            room -= len(made)
    return told


def coverage(session: "IcontractSession") -> float:
    """The share of the method's lines that the session's tests run."""
    lines = session.execute(original(session.task), coverage=True, whole=True).last("lines")
    return float(lines["seen"] / lines["of"]) if lines.get("of") else 1.0


def _ended(task: Task, plain: Plain) -> None:
    if plain.ending not in (Ending.PASSED, Ending.FAILED):
        raise PreparationFailed(f"{task.id}: its tests do not pass on the original here ({plain.ending})")


def _common(runs: list[Plain], names: list[tuple[str, ...]]) -> tuple[Mark, ...]:
    """The last run's trace, where the others agree. A test that has another name under another seed is left out there."""
    marks = dict(zip(names[-1], runs[-1].trace, strict=True))
    for run, tests in zip(runs[:-1], names[:-1], strict=True):
        for test, mark in zip(tests, run.trace, strict=True):
            if test in marks:
                marks[test] = marks[test].common(mark)
    return tuple(marks.values())
