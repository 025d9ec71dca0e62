"""The icontract checker: verdicts for postcondition sets in Python, many candidates to an execution.

Candidates that the static gate passes share one execution of a subject, in which nothing is raised; each of the others
runs alone under icontract's real behaviour. What sharing can't tell exactly is repeated alone: an execution that ended
abnormally, one in which an iterator passed by, an original whose tests said something else than without candidates, a
condition that called the subject, and a violation of which a probe could not tell if somebody swallowed it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from containers.sandbox import Limits, Sandbox
from ensures.errors import PreparationFailed, WorkerLost
from ensures.keys import content_key
from ensures.subject import Kind, Subject, original
from ensures.task import Task
from ensures.verdict import Ending, Observed, Outcome, Reason, Verdict, decide
from ensures.view import View
from evaluation.checker import Plain, Session, Submission
from evaluation.python import definition
from evaluation.python.purity import may_consume, plainly_pure
from evaluation.python.worker import Definition, Worker, harness_version
from evaluation.workspace import Workspace, module_text, with_implementation

HASH_SEEDS = (0, 1, 2)  # the first is the one that verdicts are given under
# What this process found out before: a worker may open a task more than once, and the seeds are tried the first time.
_UNSTABLE: dict[str, tuple[str, ...]] = {}
RULES = "2"  # raised when what this module decides changes


@dataclass
class IcontractConfig:
    name: str = "icontract"
    memory_mb: int = 4096
    file_mb: int = 64
    processes: int = 256


@dataclass(frozen=True)
class IcontractChecker:
    """`seconds` limits one whole execution of a subject's covering tests, as in the published runs."""

    sandbox: Sandbox
    limits: Limits = field(default_factory=Limits)
    seconds: float = 30.0
    name: str = "icontract"

    @property
    def version(self) -> str:
        return content_key(self.name, RULES, harness_version(), self.limits, self.seconds)

    def prepare(self, task: Task, workspace: Workspace) -> "IcontractSession":
        return IcontractSession(self, task, workspace)


class IcontractSession(Session):
    """Owns the worker of one task. A lost worker is started again once for each request; then the fault is passed on."""

    def __init__(self, checker: IcontractChecker, task: Task, workspace: Workspace) -> None:
        self.checker, self.task, self.workspace = checker, task, workspace
        self.text = module_text(workspace, task)
        found = definition.first_line(task)
        self.definition = Definition(workspace.root / task.file, task.qualname.rpartition(".")[2], found, task.implementation)
        self.tests = tuple(test for test in task.tests if test not in task.excluded_tests)
        self.excluded: tuple[str, ...] = ()
        self.executions = 0
        self.peak_kb = 0  # of the largest execution
        self.iterators = False  # does the original take or give iterators?
        self.worker: Worker | None = None
        self.baseline = self._baseline()

    # Life

    def _start(self, hash_seed: int = HASH_SEEDS[0]) -> None:
        self.close()
        self.worker = Worker(
            self.checker.sandbox, self.workspace, self.task, self.definition, self.tests, self.checker.limits, hash_seed
        )
        facts = self._collect()
        preload = facts.get("preload")
        if preload and not facts.get("exact"):
            # fresh imports are forked from the first level: let it have what does not belong to the project
            self._collect(preload=preload)

    def _collect(self, **config: Any) -> dict[str, Any]:
        assert self.worker is not None
        facts = self.worker.request({"do": "start", "config": config}, 300)
        if not facts.get("ready"):
            raise PreparationFailed(f"{self.task.id}: the covering tests can't be collected: {_short(facts)}")
        if facts["missing"]:
            raise PreparationFailed(f"{self.task.id}: covering tests not found: {', '.join(facts['missing'][:3])}")
        return facts

    def _baseline(self) -> Plain:
        """The tests on the plain original, under several hash seeds, the last of which is kept.

        Tests that do not pass under all of them are excluded and named, and the rest run again.
        """
        known = content_key(self.checker.version, self.task.id, self.task.implementation, self.tests, str(self.workspace.root))
        unstable: dict[str, None] = dict.fromkeys(_UNSTABLE.get(known, ()))
        for seed in HASH_SEEDS[:1] if known in _UNSTABLE else reversed(HASH_SEEDS):
            self._start(seed)
            baseline = self.plain(original(self.task))
            unstable |= dict.fromkeys(test for test, outcome in baseline.outcomes.items() if outcome == "failed")
        _UNSTABLE[known] = tuple(unstable)
        if unstable:
            self.excluded = tuple(unstable)
            self.tests = tuple(test for test in baseline.outcomes if test not in unstable)
            if not self.tests:
                raise PreparationFailed(f"{self.task.id}: none of its {len(unstable)} covering tests passes here")
            self._collect(tests=list(self.tests))
            baseline = self.plain(original(self.task))
        if baseline.ending is not Ending.PASSED:
            raise PreparationFailed(f"{self.task.id}: its tests do not pass on the original here ({baseline.ending})")
        if not baseline.calls:
            raise PreparationFailed(f"{self.task.id}: none of its covering tests calls the method")
        return baseline

    def close(self) -> None:
        if self.worker is not None:
            self.worker.close()
            self.worker = None

    # Requests

    def _execute(self, subject: Subject, **command: Any) -> dict[str, Any]:
        text = None
        if subject.kind is not Kind.ORIGINAL:
            text = with_implementation(self.text, self.task, subject.payload)
        self.executions += 1
        request = {"do": "execute", "text": text, "implementation": subject.payload, **command}
        request.setdefault("seconds", self.checker.seconds)
        for last in (False, True):
            try:
                if self.worker is None:
                    self._start()
                assert self.worker is not None
                answer = self.worker.request(request, self.checker.seconds + 60)
                _raise_fault(answer)
                self.peak_kb = max(self.peak_kb, answer["peak_kb"])
                return answer
            except WorkerLost:
                self.close()
                if last:
                    raise
        raise AssertionError("unreachable")

    def plain(self, subject: Subject, seconds: float | None = None) -> Plain:
        """The subject's tests without candidates; `seconds` is a shorter limit than the checker's."""
        limit = {} if seconds is None else {"seconds": min(seconds, self.checker.seconds)}
        answer = self._execute(subject, tests=True, whole=True, **limit)
        end = _last(answer, "end")
        if subject.kind is Kind.ORIGINAL:
            self.iterators = bool(end.get("iterators"))
        tests = {event["id"]: event["outcome"] for event in answer["events"] if event["e"] == "test"}
        return Plain(
            _ending(answer),
            tuple(end.get("failed", ())),
            end.get("calls", 0),
            end.get("body_raised", 0),
            answer["seconds"],
            tests,
        )

    def describe(self) -> list[dict[str, Any]]:
        """One record a call of the original: what it was given, what it gave back, what it changed."""
        answer = self._execute(original(self.task), observe=True, whole=True)
        return [event for event in answer["events"] if event["e"] == "seen"]

    def truths(self, clauses: Sequence[Submission]) -> list[tuple[str, int, str | None]]:
        """For each call of the original (test, number, truths): a character a clause set, 1 held, 0 false, x raised."""
        specs = [_spec(submission, submission.views) for submission in clauses]
        answer = self._execute(original(self.task), candidates=specs, every_call=True, whole=True, messages=False)
        return [(event["test"], event["n"], event["truths"]) for event in answer["events"] if event["e"] == "call"]

    # Verdicts

    def check(self, subject: Subject, submissions: Sequence[Submission]) -> list[tuple[Verdict, ...]]:
        if definition.is_async(self.task):
            verdict = Verdict(Outcome.ERROR, Reason.UNSUPPORTED, message="async methods are not supported")
            return [(verdict,) * len(submission.views) for submission in submissions]
        verdicts: list[tuple[Verdict, ...] | None] = [None] * len(submissions)
        together = [index for index, submission in enumerate(submissions) if plainly_pure(submission.clauses)]
        if self.iterators:
            together = self._leave_alone(together, submissions)
        while together:
            chosen = [submissions[index] for index in together]
            shared, iterators = self._shared(subject, chosen)
            if iterators and not self.iterators and len(together) > 1:
                # one of them may have run dry what others were given: those that could go alone, the rest again
                kept = self._leave_alone(together, submissions)
                if kept != together:
                    together = kept
                    continue
            for index, found in zip(together, shared, strict=True):
                verdicts[index] = found
            break
        return [
            verdict if verdict is not None else self._alone(subject, submission)
            for verdict, submission in zip(verdicts, submissions, strict=True)
        ]

    def _leave_alone(self, together: list[int], submissions: Sequence[Submission]) -> list[int]:
        return [index for index in together if not may_consume(submissions[index].clauses)]

    def _shared(self, subject: Subject, submissions: Sequence[Submission]) -> tuple[list[tuple[Verdict, ...] | None], bool]:
        """Verdicts of one execution for all, None for those that it can't tell exactly; and if an iterator passed by."""
        answer = self._execute(
            subject,
            candidates=[_spec(submission, submission.views) for submission in submissions],
            messages=subject.kind is Kind.ORIGINAL,
            pure=True,
        )
        end = _last(answer, "end")
        ending = _ending(answer)
        unsure = ending in (Ending.TIMEOUT, Ending.CRASHED, Ending.OUT_OF_MEMORY, Ending.TAMPERED)
        unsure = unsure or (subject.kind is Kind.ORIGINAL and ending is Ending.FAILED)
        if unsure:
            return [None] * len(submissions), False
        results: list[tuple[Verdict, ...] | None] = []
        for index, submission in enumerate(submissions):
            doubtful = any(event["e"] == "reentrant" and event["c"] == index for event in answer["events"])
            doubtful = doubtful or "unknown" in end["surfaced"][index]
            results.append(None if doubtful else _verdicts(answer, index, len(submission.views)))
        return results, bool(end.get("iterators"))

    def _alone(self, subject: Subject, submission: Submission) -> tuple[Verdict, ...]:
        """An execution for each view, with icontract's real behaviour: what it would raise is raised."""
        verdicts: list[Verdict] = []
        for view in submission.views:
            command = {"candidates": [_spec(submission, (view,))], "raising": True, "whole": True}
            answer = self._execute(subject, **command)
            if _last(answer, "lost"):  # once may be the machine's doing, twice is the candidate's
                answer = self._execute(subject, **command)
            verdicts += _verdicts(answer, 0, 1)
        return tuple(verdicts)


def _spec(submission: Submission, views: Sequence[View]) -> dict[str, Any]:
    return {
        "text": submission.clauses.text,
        "preamble": list(submission.clauses.preamble),
        "salt": views[0].salt,
        "views": [view.part.value for view in views],
    }


def _verdicts(answer: dict[str, Any], index: int, views: int) -> tuple[Verdict, ...]:
    """What the execution saw of candidate `index`, decided view by view."""
    events = [event for event in answer["events"] if event.get("c") == index]
    end = _last(answer, "end")
    ending = _ending(answer)
    reported = {event["test"] for event in answer["events"] if event["e"] == "surfaced"}
    broken = next((event for event in events if event["e"] == "broken"), None)
    if broken is not None:
        verdict = Verdict(Outcome.ERROR, Reason(broken["reason"]), message=broken["message"])
        return (verdict,) * views
    verdicts = []
    for view in range(views):
        violated = next((e for e in events if e["e"] == "violated" and e["v"] == view), None)
        raised = next((e for e in events if e["e"] == "raised" and e["v"] == view), None)
        said = violated or raised or {}
        looked = next((f"looked ({event['what']})" for event in events if event["e"] == "looked"), "")
        late = next((e["text"] for e in events if e["e"] == "message" and e["v"] == view), "")
        surfaced, ended = None, ending
        if violated is not None:
            surfaced = bool(reported) or ("surfaced" in end and end["surfaced"][index][view] is True)
            if surfaced or ("failed_after" in end and end["failed_after"][index][view]):
                ended = Ending.FAILED  # where it is really raised, that test fails
        verdicts.append(
            decide(
                Observed(
                    ending=ended,
                    violated=violated is not None,
                    raised=raised is not None,
                    clause=said.get("clause"),
                    message=looked or late or said.get("message", ""),
                    surfaced=surfaced,
                    seconds=answer["seconds"],
                    tests_failed=tuple(end.get("failed", ())),
                    looked=bool(looked),
                    evaluated=end["evaluated"][index][view] if "evaluated" in end else 0,
                )
            )
        )
    return tuple(verdicts)


def _ending(answer: dict[str, Any]) -> Ending:
    if answer["ending"] != "finished":
        return Ending(answer["ending"])
    end = _last(answer, "end")
    if end.get("failed"):
        return Ending.OUT_OF_MEMORY if end.get("memory") else Ending.FAILED
    if any(event["e"] == "stopped" for event in answer["events"]):
        return Ending.STOPPED
    return Ending.PASSED


def _last(answer: dict[str, Any], kind: str) -> dict[str, Any]:
    return next((event for event in reversed(answer["events"]) if event.get("e") == kind), {})


def _raise_fault(answer: dict[str, Any]) -> None:
    """A fault of the harness itself is ours: never a verdict."""
    fault = _last(answer, "fault")
    if fault:
        raise WorkerLost(f"the harness failed: {fault['message']}")


def _short(facts: dict[str, Any]) -> str:
    errors = facts.get("errors") or [f"pytest ended with status {facts.get('status')}"]
    return " ".join(str(errors[0]).split())[-300:]
