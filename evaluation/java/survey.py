"""How a Java task's baseline is found (see `evaluation.baseline`): the tests twice, exclusions, and what counts after them.

A JVM's hash codes of strings are fixed, so there are no seeds to vary; two executions show what differs by itself.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from ensures.errors import PreparationFailed
from ensures.subject import Subject, mutants, original
from ensures.task import Task
from ensures.verdict import Ending
from evaluation.baseline import Baseline, Calls, Plain, fingerprints, indistinguishable

if TYPE_CHECKING:
    from evaluation.java.session import JmlSession

RUNS = 2


def baseline(session: "JmlSession") -> Baseline:
    """The tests on the plain original, and again without those that do not pass each time.

    Raises PreparationFailed where the method does not compile, no test is left, or none calls the method.
    """
    task, collected = session.task, session.tests
    runs = _runs(session)
    unstable = {test: None for run in runs for test, mark in zip(collected, run.trace, strict=True) if mark.outcome == "f"}
    kept = tuple(test for test in collected if test not in unstable)
    if unstable:
        if not kept:
            raise PreparationFailed(f"{task.id}: none of its {len(unstable)} covering tests passes here")
        session.take(kept)
        runs = _runs(session)
    last = runs[-1]
    if last.ending is not Ending.PASSED:
        raise PreparationFailed(f"{task.id}: its tests do not pass on the original here ({last.ending})")
    if not last.calls:
        raise PreparationFailed(f"{task.id}: none of its covering tests calls the method")
    trace = last.trace
    for run in runs[:-1]:
        trace = tuple(mine.common(theirs) for mine, theirs in zip(trace, run.trace, strict=True))
    # the last run's seconds: by then the JVM is warm
    return Baseline(kept, tuple(unstable), replace(last, trace=trace))


def _runs(session: "JmlSession") -> list[Plain]:
    found = []
    for _ in range(RUNS):
        answer = session.bare(original(session.task), look="iterators")
        if answer is None:
            raise PreparationFailed(f"{session.task.id}: {session.broken(session.task.implementation)}")
        if answer.end.get("missing"):
            missing = ", ".join(answer.end["missing"][:3])
            raise PreparationFailed(f"{session.task.id}: covering tests not found: {missing}")
        plain = answer.plain()
        if plain.ending not in (Ending.PASSED, Ending.FAILED):
            raise PreparationFailed(f"{session.task.id}: its tests do not pass on the original here ({plain.ending})")
        found.append(plain)
    return found


def with_mutants(session: "JmlSession", task: Task) -> Baseline:
    """The baseline with each mutant's plain outcomes, and without the mutants that don't count here.

    Where the task has no reference, the differential oracle (harness, `Fingerprint`) is asked of each mutant.
    """
    outcomes: dict[str, str] = {}
    left_out: dict[str, str] = {}
    expected = None if task.reference is not None else calls(session, original(task))
    for mutant in mutants(task):
        plain = session.plain(mutant)
        outcomes[mutant.id] = plain.outcomes if plain.ending in (Ending.PASSED, Ending.FAILED) else ""
        if session.broken(mutant.payload):
            left_out[mutant.id] = "it does not compile here"
        elif plain.ending is Ending.PASSED:
            left_out[mutant.id] = "no covering test fails on it here"
        elif expected and indistinguishable(expected, calls(session, mutant), set(plain.failed)):
            left_out[mutant.id] = "not_observable"
    return replace(session.baseline, mutants=outcomes, left_out=left_out)


def calls(session: "JmlSession", subject: Subject) -> Calls | None:
    """The fingerprints of the subject's calls; None where its tests did not end normally."""
    answer = session.bare(subject, look="fingerprints", seconds=session.short)
    if answer is None or answer.ending not in (Ending.PASSED, Ending.FAILED):
        return None
    return fingerprints(answer.events)
