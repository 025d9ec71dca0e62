"""A verdict: does this specification hold for this subject, is it violated, or does it fail to say?

The rule (ours, called `strict`), over all covering tests of one subject, none skipped because another failed:

0. `tampered`, an error (-1), if the candidate looked at what is none of a specification's business: the subject's source or
   code object, the harness, the process. Whatever it said then is no specification.
1. `violated` (0) if any call's condition was falsy. That includes conditions for which icontract could not build its
   message, and violations that the code under test or the test itself swallowed. Nothing that comes later undoes it.
2. Otherwise `error` (-1), with the first that applies of: `tampered`, `timeout`, `out_of_memory`, `crashed`,
   `condition_raised` (a condition or snapshot raised; the candidate sits out the rest of that test, which the exception
   would have ended, and resumes with the next), `test_failed`.
3. Otherwise `holds` (1), if its conditions were evaluated on at least one call. What was never asked has said nothing:
   that is `error`, `not_evaluated`.

Before any execution a candidate can already be an error: `syntax_error`, `compile_error`, `unsupported`.

eval(m, p) of PostcondBench (3.2.4) is the outcome's value. The published runs decided by text in a fixed order of
precedence; `published_status` gives that status from the same row (the rule called `paper`): timeout, syntax error,
icontract_fail, then what the tests said. There a violation counts only where it surfaced, i.e. was printed.
"""

import enum
from dataclasses import dataclass


class Outcome(enum.IntEnum):
    HOLDS = 1
    VIOLATED = 0
    ERROR = -1


class Reason(enum.StrEnum):
    PASSED = "passed"
    POSTCONDITION_VIOLATED = "postcondition_violated"
    TAMPERED = "tampered"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    CONDITION_RAISED = "condition_raised"
    TEST_FAILED = "test_failed"
    SYNTAX_ERROR = "syntax_error"
    COMPILE_ERROR = "compile_error"
    UNSUPPORTED = "unsupported"
    NOT_EVALUATED = "not_evaluated"


class Ending(enum.StrEnum):
    """How the tests' execution ended, whatever the conditions said. `stopped`: ended early because all was decided."""

    PASSED = "passed"
    FAILED = "failed"
    STOPPED = "stopped"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    TAMPERED = "tampered"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`clause` counts the ensures of the candidate's text from 0. `surfaced` is None unless violated: did the violation
    reach a test's report, or did something swallow it? `ending` is what the tests did."""

    outcome: Outcome
    reason: Reason
    clause: int | None = None
    message: str = ""
    surfaced: bool | None = None
    ending: Ending | None = None
    seconds: float = 0.0
    tests_failed: tuple[str, ...] = ()
    shared: bool = False  # given by an execution that served other candidates as well
    # where a subject is a set of (input, wrong output) pairs: how many there are, on how many it was false, or raised
    pairs: int | None = None
    pairs_killed: int | None = None
    pairs_raised: int | None = None
    published: str | None = None  # the status under the published rule, where the checker's is another than icontract's

    @property
    def status(self) -> str:
        """Under the published rule."""
        if self.published is not None:
            return self.published
        return published_status(self.reason, self.ending, self.surfaced, self.message)


@dataclass(frozen=True, slots=True)
class Observed:
    """What one execution saw of one candidate in one view: the facts that the rule decides over."""

    ending: Ending
    violated: bool = False
    raised: bool = False
    clause: int | None = None
    message: str = ""
    surfaced: bool | None = None
    seconds: float = 0.0
    tests_failed: tuple[str, ...] = ()
    looked: bool = False  # at the subject's code, the harness or the process
    evaluated: int = 1  # calls on which its conditions were asked
    shared: bool = False


_ABNORMAL = {
    Ending.TAMPERED: Reason.TAMPERED,
    Ending.TIMEOUT: Reason.TIMEOUT,
    Ending.OUT_OF_MEMORY: Reason.OUT_OF_MEMORY,
    Ending.CRASHED: Reason.CRASHED,
}


def decide(seen: Observed) -> Verdict:
    """The strict rule above."""
    if seen.looked:
        outcome, reason = Outcome.ERROR, Reason.TAMPERED
    elif seen.violated:
        outcome, reason = Outcome.VIOLATED, Reason.POSTCONDITION_VIOLATED
    elif seen.ending in _ABNORMAL:
        outcome, reason = Outcome.ERROR, _ABNORMAL[seen.ending]
    elif seen.raised:
        outcome, reason = Outcome.ERROR, Reason.CONDITION_RAISED
    elif seen.ending is Ending.PASSED and not seen.evaluated:
        outcome, reason = Outcome.ERROR, Reason.NOT_EVALUATED
    elif seen.ending is Ending.PASSED:
        outcome, reason = Outcome.HOLDS, Reason.PASSED
    else:
        outcome, reason = Outcome.ERROR, Reason.TEST_FAILED
    return Verdict(
        outcome,
        reason,
        seen.clause,
        seen.message,
        seen.surfaced if seen.violated else None,
        seen.ending,
        seen.seconds,
        seen.tests_failed,
        seen.shared,
    )


# How icontract's own exceptions begin in the published runs' output (a condition that was false and whose message could
# not be built counts as well); a clause with an `error=` of its own raises something else, which they took for a failure.
_PUBLISHED_VIOLATIONS = ("ViolationError", "RuntimeError: Failed to recompute")


def published_status(reason: str, ending: str | None, surfaced: bool | None, message: str) -> str:
    """The status that the published runs would have given (see the data's description in docs/fidelity.md).

    Python's precedence: timeout, syntax error, icontract_fail (also when swallowed, if printed), no report, passed, failed.
    """
    if reason == Reason.TIMEOUT or ending == Ending.TIMEOUT:
        return "timeout"
    if reason == Reason.SYNTAX_ERROR:
        return "syntax_error"
    if reason == Reason.POSTCONDITION_VIOLATED:
        if surfaced and message.startswith(_PUBLISHED_VIOLATIONS):
            return "icontract_fail"
        return "passed" if ending == Ending.PASSED else "failed"
    if reason in (Reason.PASSED, Reason.NOT_EVALUATED):
        return "passed"
    if reason in (Reason.CRASHED, Reason.TAMPERED, Reason.OUT_OF_MEMORY):
        return "reports_not_exist"
    return "failed"


def published_outcome(status: str) -> Outcome:
    """The published statuses as eval(m, p): exactly icontract_fail and jml_fail are kills, and nl2postcond's assert_fail."""
    if status == "passed":
        return Outcome.HOLDS
    return Outcome.VIOLATED if status in ("icontract_fail", "jml_fail", "assert_fail") else Outcome.ERROR
