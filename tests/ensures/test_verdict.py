"""The strict rule's order and the published precedence, case by case."""

import itertools

import pytest

from ensures.verdict import Ending, Observed, Outcome, Reason, Verdict, decide, published_outcome, published_status


@pytest.mark.parametrize(
    ("seen", "outcome", "reason"),
    [
        (Observed(Ending.PASSED), Outcome.HOLDS, Reason.PASSED),
        (Observed(Ending.FAILED), Outcome.ERROR, Reason.TEST_FAILED),
        (Observed(Ending.PASSED, violated=True), Outcome.VIOLATED, Reason.POSTCONDITION_VIOLATED),
        (Observed(Ending.PASSED, raised=True), Outcome.ERROR, Reason.CONDITION_RAISED),
        (Observed(Ending.FAILED, raised=True), Outcome.ERROR, Reason.CONDITION_RAISED),
        (Observed(Ending.TIMEOUT, raised=True), Outcome.ERROR, Reason.TIMEOUT),
        (Observed(Ending.TAMPERED), Outcome.ERROR, Reason.TAMPERED),
        (Observed(Ending.OUT_OF_MEMORY), Outcome.ERROR, Reason.OUT_OF_MEMORY),
        (Observed(Ending.CRASHED), Outcome.ERROR, Reason.CRASHED),
        (Observed(Ending.PASSED, evaluated=0), Outcome.ERROR, Reason.NOT_EVALUATED),
        (Observed(Ending.STOPPED), Outcome.ERROR, Reason.TEST_FAILED),
    ],
)
def test_order(seen: Observed, outcome: Outcome, reason: Reason) -> None:
    verdict = decide(seen)
    assert (verdict.outcome, verdict.reason) == (outcome, reason)


def test_violated_beats_everything_that_comes_after() -> None:
    for ending, raised in itertools.product(Ending, (False, True)):
        assert decide(Observed(ending, violated=True, raised=raised)).outcome is Outcome.VIOLATED


def test_only_a_clean_run_holds() -> None:
    for ending, violated, raised in itertools.product(Ending, (False, True), (False, True)):
        holds = decide(Observed(ending, violated, raised)).outcome is Outcome.HOLDS
        assert holds == (ending is Ending.PASSED and not violated and not raised)


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        (decide(Observed(Ending.PASSED)), "passed"),
        (decide(Observed(Ending.FAILED)), "failed"),
        (decide(Observed(Ending.FAILED, raised=True)), "failed"),
        (decide(Observed(Ending.TIMEOUT)), "timeout"),
        (decide(Observed(Ending.FAILED, violated=True, surfaced=True, message="ViolationError: x")), "icontract_fail"),
        (
            decide(Observed(Ending.FAILED, violated=True, surfaced=True, message="RuntimeError: Failed to recompute the")),
            "icontract_fail",
        ),
        # a timeout comes before the violation there, and after it here
        (decide(Observed(Ending.TIMEOUT, violated=True, surfaced=True, message="ViolationError: x")), "timeout"),
        # swallowed: what the tests said
        (decide(Observed(Ending.PASSED, violated=True, surfaced=False, message="ViolationError: x")), "passed"),
        (decide(Observed(Ending.FAILED, violated=True, surfaced=False, message="ViolationError: x")), "failed"),
        # an error of the clause's own making is not icontract's
        (decide(Observed(Ending.FAILED, violated=True, surfaced=True, message="ValueError: x")), "failed"),
        (Verdict(Outcome.ERROR, Reason.SYNTAX_ERROR), "syntax_error"),
        (Verdict(Outcome.ERROR, Reason.COMPILE_ERROR), "failed"),
    ],
)
def test_published_status(verdict: Verdict, status: str) -> None:
    ending = verdict.ending.value if verdict.ending else None
    assert published_status(verdict.reason, ending, verdict.surfaced, verdict.message) == status


def test_published_outcome() -> None:
    assert published_outcome("passed") is Outcome.HOLDS
    assert published_outcome("icontract_fail") is Outcome.VIOLATED
    assert {published_outcome(s) for s in ("failed", "timeout", "syntax_error")} == {Outcome.ERROR}
