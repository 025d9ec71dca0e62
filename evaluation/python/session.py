"""The icontract checker: verdicts for postcondition sets in Python, many candidates to an execution.

Candidates that the static gate passes share one execution of a subject, in which nothing is raised; each of the others
runs alone under icontract's real behaviour. What sharing can't tell exactly is repeated alone: an execution that ended
abnormally, one in which an iterator passed by, an original whose tests said something else than without candidates, a
condition that called the subject, and a violation of which a probe could not tell if somebody swallowed it. A shared
execution must leave the trace of a plain one (on a mutant: the same outcomes of tests), or all run alone.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from containers.sandbox import Limits, Sandbox
from ensures.errors import PreparationFailed
from ensures.keys import content_key
from ensures.subject import Kind, Subject, original
from ensures.task import Task
from ensures.verdict import Ending, Outcome, Reason, Verdict
from ensures.view import ALL, View
from evaluation import implications
from evaluation.answer import Answer, ask
from evaluation.baseline import HASH_SEEDS, Baseline, Plain
from evaluation.checker import Limit, Submission, Tested, measured
from evaluation.diagnosis import Diagnosis
from evaluation.python import cold, definition, survey, worker
from evaluation.python.purity import may_consume, plainly_pure
from evaluation.python.worker import harness_version
from evaluation.worker import Worker
from evaluation.workspace import Workspace, module_text

RULES = "3"  # raised when what this module decides changes
CANDIDATE_SHARE = 30  # each candidate's conditions get this part of the limit in a shared execution, else they run alone


@dataclass
class IcontractConfig:
    name: str = "icontract"
    memory_mb: int = 4096
    file_mb: int = 64
    processes: int = 256


@dataclass(frozen=True)
class IcontractChecker:
    """`seconds` limits one whole execution of a subject's covering tests, as in the published runs (`limit=paper`);
    `limit=measured` takes a multiple of what the plain original took, if that is less."""

    sandbox: Sandbox
    limits: Limits = field(default_factory=Limits)
    seconds: float = 30.0
    limit: Limit = Limit.PAPER
    name: str = "icontract"

    @property
    def version(self) -> str:
        return content_key(self.name, RULES, harness_version(), self.limits, self.seconds)

    def prepare(self, task: Task, workspace: Workspace, baseline: Baseline | None = None) -> "IcontractSession":
        return IcontractSession(self, task, workspace, baseline)


class IcontractSession(Tested):
    """Owns the worker of one task. A lost worker is started again once for each request; then the fault is passed on."""

    def __init__(self, checker: IcontractChecker, task: Task, workspace: Workspace, baseline: Baseline | None = None) -> None:
        self.checker, self.task, self.workspace = checker, task, workspace
        self.text = module_text(workspace, task)
        self.tests = tuple(test for test in task.tests if test not in task.excluded_tests)
        self.executions = 0
        self.peak_kb = 0  # of the largest execution
        self.conditions = 0.0  # seconds that candidates' conditions took in shared executions
        self.probing = True  # may a fork of an execution find out if a violation is swallowed?
        self.worker: Worker | None = None
        self._ahead: dict[int, Worker] = {}  # hash seed -> begun, and not asked for yet
        self._plain: dict[str, Plain] = {}  # subject -> its tests without candidates
        if baseline is not None:
            self.tests = baseline.tests
        self.baseline = baseline or survey.baseline(self)

    @property
    def seconds(self) -> float:
        """The limit of one execution."""
        return self.checker.seconds if self.checker.limit is Limit.PAPER else self.short

    @property
    def short(self) -> float:
        """A multiple of what the plain original took."""
        return measured(self.checker.seconds, self.baseline)

    # Life

    def start(self, hash_seed: int = HASH_SEEDS[0], then: int | None = None) -> tuple[str, ...]:
        """Starts the worker. The tests that it collected, parametrized ones apart.

        `then`: the hash seed of the next; its sandbox, which may be a container, starts while this one is at work.
        """
        begun = self._ahead.pop(hash_seed, None)
        self.close()
        self.worker = begun or self._begin(hash_seed)
        if then is not None:
            self._ahead[then] = self._begin(then)
        facts = self._collect()
        preload = facts.get("preload")
        if preload and not facts.get("exact"):
            # fresh imports are forked from the first level: let it have what does not belong to the project
            facts = self._collect(preload=preload)
        return tuple(facts["tests"])

    def _begin(self, hash_seed: int) -> Worker:
        subject = {
            "tests": list(self.tests),
            "path": str(self.workspace.root / self.task.file),
            "name": self.task.qualname.rpartition(".")[2],
            "line": definition.first_line(self.task),
            "implementation": self.task.implementation,
            "text": self.text,
            "span": [self.task.start_line, self.task.end_line],
        }
        return worker.start(self.checker.sandbox, self.workspace, subject, self.checker.limits, hash_seed)

    def take(self, tests: tuple[str, ...]) -> None:
        """From now on these tests and no others."""
        self.tests = tests
        if self.worker is not None:
            self._collect(tests=list(tests))

    def _collect(self, **config: Any) -> dict[str, Any]:
        assert self.worker is not None
        facts = self.worker.request({"do": "start", "config": config}, 300)
        if not facts.get("ready"):
            raise PreparationFailed(f"{self.task.id}: the covering tests can't be collected: {_short(facts)}")
        if facts["missing"]:
            raise PreparationFailed(f"{self.task.id}: covering tests not found: {', '.join(facts['missing'][:3])}")
        return facts

    def close(self) -> None:
        for begun in (self.worker, *self._ahead.values()):
            if begun is not None:
                begun.close()
        self.worker, self._ahead = None, {}

    # Requests

    def execute(self, subject: Subject, **command: Any) -> Answer:
        """One execution of the subject (harness, `warm`). Raises WorkerLost."""
        self.executions += 1
        implementation = None if subject.kind is Kind.ORIGINAL else subject.payload
        request = {"do": "execute", "implementation": implementation, **command}
        request.setdefault("seconds", self.checker.seconds)
        longest = request["seconds"] + len(command.get("candidates", ())) * command.get("budget", 0) / 1e9
        answer = ask(self, request, longest)
        self.peak_kb = max(self.peak_kb, answer.peak_kb)
        self.conditions += sum(answer.end.get("spent", ())) / 1e9
        return answer

    def plain(self, subject: Subject, seconds: float | None = None) -> Plain:
        """The subject's tests without candidates; `seconds` is a shorter limit than the checker's."""
        limit = {} if seconds is None else {"seconds": min(seconds, self.checker.seconds)}
        if subject.id not in self._plain or subject.kind is Kind.ORIGINAL:
            self._plain[subject.id] = self.execute(subject, trace=subject.kind is Kind.ORIGINAL, whole=True, **limit).plain()
        return self._plain[subject.id]

    def expect(self, implementations: Sequence[str]) -> None:
        """Nothing is made of several."""

    def broken(self, implementation: str) -> str:
        try:
            compile(textwrap.dedent(implementation), "<subject>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return str(error)
        return ""

    def survey(self, task: Task) -> Baseline:
        """The baseline with the task's mutants in it."""
        self.baseline = survey.with_mutants(self, task)
        return self.baseline

    def describe(self) -> list[dict[str, Any]]:
        """One record a call of the original: what it was given, what it gave back, what it changed."""
        answer = self.execute(original(self.task), observe=True, whole=True)
        return [event for event in answer.events if event["e"] == "seen"]

    def truths(self, clauses: Sequence[Submission]) -> list[tuple[str, int, str | None]]:
        """For each call of the original (test, number, truths): a character a clause set, 1 held, 0 false, x raised."""
        specs = [_spec(submission, submission.views) for submission in clauses]
        pure = all(plainly_pure(submission.clauses) for submission in clauses)
        answer = self.execute(original(self.task), candidates=specs, every_call=True, whole=True, messages=False, pure=pure)
        return [(event["test"], event["n"], event["truths"]) for event in answer.events if event["e"] == "call"]

    def diagnose(self, submissions: Sequence[Submission]) -> list[Diagnosis | None]:
        """For candidates that hold on the original: what they leave unsaid. None where they can't share an execution."""
        pure = [index for index, submission in enumerate(submissions) if plainly_pure(submission.clauses)]
        if self.baseline.original.iterators:
            pure = _not_consuming(pure, submissions)
        answer = self.execute(
            original(self.task),
            candidates=[_spec(submissions[index], (ALL,)) for index in pure],
            every_call=True,
            perturb=True,
            whole=True,
        )
        columns = _columns(answer, len(pure))
        parts = [(index, *part) for index in pure for part in implications.of_icontract(submissions[index].clauses)]
        used = self.truths([Submission(clauses) for _, _, clauses in parts]) if parts else []
        held = {at for _, _, truths in used if truths for at, letter in enumerate(truths) if letter == "1"}
        unused: dict[int, list[int]] = {}
        for at, (index, position, _) in enumerate(parts):
            if used and at not in held:
                unused.setdefault(index, []).append(position)
        found: list[Diagnosis | None] = [None] * len(submissions)
        for index, column in zip(pure, columns, strict=True):
            found[index] = Diagnosis(set(column) == {"1"}, tuple(unused.get(index, ())))
        return found

    # Verdicts

    def check(self, subject: Subject, submissions: Sequence[Submission]) -> list[tuple[Verdict, ...]]:
        if definition.is_async(self.task):
            verdict = Verdict(Outcome.ERROR, Reason.UNSUPPORTED, message="async methods are not supported")
            return [(verdict,) * len(submission.views) for submission in submissions]
        verdicts: dict[int, tuple[Verdict, ...]] = {}
        together = [index for index, submission in enumerate(submissions) if plainly_pure(submission.clauses)]
        if self.baseline.original.iterators:
            together = _not_consuming(together, submissions)
        while together:
            found, together = self._shared(subject, together, submissions)
            verdicts |= found
        return [
            verdicts[index] if index in verdicts else self.alone(subject, submission)
            for index, submission in enumerate(submissions)
        ]

    def _shared(
        self, subject: Subject, together: list[int], submissions: Sequence[Submission]
    ) -> tuple[dict[int, tuple[Verdict, ...]], list[int]]:
        """One execution for all of them: the verdicts that it gives exactly, and who should share another execution."""
        budget = int(self.seconds / CANDIDATE_SHARE * 1e9)
        answer = self.execute(
            subject,
            candidates=[_spec(submissions[index], submissions[index].views) for index in together],
            messages=subject.kind is Kind.ORIGINAL,
            trace=subject.kind is Kind.ORIGINAL,
            pure=True,
            probing=self.probing,
            budget=budget,
            seconds=self.seconds,
        )
        if answer.stuck is not None:
            return {}, [index for position, index in enumerate(together) if position != answer.stuck]
        end, ending = answer.end, answer.ending
        if end.get("iterators") and not self.baseline.original.iterators and len(together) > 1:
            # one of them may have run dry what others were given: those that could go alone, the rest again
            kept = _not_consuming(together, submissions)
            if kept != together:
                return {}, kept
        timeout = ending is Ending.TIMEOUT
        if not timeout and (ending not in _ORDINARY or not self._as_plain(subject, answer)):
            if self.probing and answer.last("probed"):
                # the rest of a test ran twice, and what the probe did to files was seen: without it from now on
                self.probing = False
                return {}, together
            return {}, []
        found: dict[int, tuple[Verdict, ...]] = {}
        for position, index in enumerate(together):
            if timeout:
                # the body's: it comes to all alike, but for those whose exception would have led elsewhere before
                doubtful = any(answer.has(kind, position) for kind in ("reentrant", "detached", "violated", "raised"))
            else:
                others = (sum(end["spent"]) - end["spent"][position]) / 1e9
                doubtful = any(answer.has(kind, position) for kind in ("reentrant", "detached"))
                doubtful = doubtful or "unknown" in end["surfaced"][position] or answer.seconds - others > self.seconds
            if not doubtful:
                found[index] = answer.verdicts(position, len(submissions[index].views), shared=True)
        return found, []

    def _as_plain(self, subject: Subject, answer: Answer) -> bool:
        """Did the execution leave the trace of one without candidates, as far as it went?"""
        trace = answer.trace
        if subject.kind is Kind.ORIGINAL:
            expected = self.baseline.original.trace
            return len(trace) <= len(expected) and all(map(lambda mine, theirs: mine.allows(theirs), expected, trace))
        outcomes = self.baseline.expects(subject)
        if outcomes is None:
            outcomes = self.plain(subject).outcomes
        return outcomes.startswith("".join(mark.outcome for mark in trace))

    def alone(self, subject: Subject, submission: Submission) -> tuple[Verdict, ...]:
        """An execution for each view, with icontract's real behaviour: what it would raise is raised."""
        verdicts: list[Verdict] = []
        for view in submission.views:
            command = {"candidates": [_spec(submission, (view,))], "raising": True, "whole": True, "seconds": self.seconds}
            answer = self.execute(subject, **command)
            if answer.last("lost"):  # once may be the machine's doing, twice is the candidate's
                answer = self.execute(subject, **command)
            verdicts += answer.verdicts(0, 1)
        return tuple(verdicts)

    def cold(self, subject: Subject, submission: Submission) -> tuple[Outcome, float]:
        found = cold.run(
            self.checker.sandbox,
            self.task,
            self.workspace,
            subject.payload,
            submission.clauses,
            self.tests,
            self.checker.seconds,
            self.checker.limits,
        )
        return found.outcome, found.seconds


def _columns(answer: Answer, candidates: int) -> list[str]:
    """For each candidate a letter a call that came to its end."""
    rows = [event["truths"] for event in answer.events if event["e"] == "call" and event["truths"]]
    return ["".join(row[index] for row in rows) for index in range(candidates)]


_ORDINARY = (Ending.PASSED, Ending.FAILED, Ending.STOPPED)


def _not_consuming(together: list[int], submissions: Sequence[Submission]) -> list[int]:
    return [index for index in together if not may_consume(submissions[index].clauses)]


def _spec(submission: Submission, views: Sequence[View]) -> dict[str, Any]:
    return {
        "text": submission.clauses.text,
        "preamble": list(submission.clauses.preamble),
        "salt": views[0].salt,
        "views": [view.part.value for view in views],
    }


def _short(facts: dict[str, Any]) -> str:
    errors = facts.get("errors") or [f"pytest ended with status {facts.get('status')}"]
    return " ".join(str(errors[0]).split())[-300:]
