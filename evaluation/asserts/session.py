"""The assert checker (nl2postcond, SpecMind): is a postcondition true of what a program gave for its inputs?

Subjects are sets of (input, output) pairs. The original's are all inputs with what the reference gives. A mutant's are those
of its wrong outputs that no mutant before it gave for the same input, so that each pair of the task counts once; a mutant
that adds none is left out. A pair is violated if an assert fails on it; anything else that is raised is an error. A mutant
is killed if any of its pairs is violated, whatever was raised on others. Under the published rule a raise is a kill, too.
"""

import ast
import enum
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from containers.sandbox import Limits, Sandbox
from ensures.errors import PreparationFailed
from ensures.keys import content_key
from ensures.subject import Kind, Subject, mutants, original
from ensures.task import Program, Script, Task
from ensures.values import same, same_printed
from ensures.verdict import Ending, Observed, Outcome, Reason, Verdict, decide
from evaluation import implications
from evaluation.answer import Answer, ask
from evaluation.baseline import HASH_SEEDS, Baseline, Plain
from evaluation.checker import Session, Submission
from evaluation.diagnosis import Diagnosis
from evaluation.python import worker
from evaluation.python.harness.ensures_harness import perturb, values
from evaluation.python.worker import harness_version
from evaluation.worker import Worker
from evaluation.workspace import Workspace

RULES = "1"  # raised when what this module decides changes
PERTURBED = "perturbed"  # not a subject of verdicts: results that nobody gave
NOTHING_NEW = "no wrong output of its own"


class PerInput(enum.StrEnum):
    """How long a mutant may take for one input: `nl2postcond`: 0.1 s or twice the reference's time, if that is more."""

    NL2POSTCOND = "nl2postcond"
    NONE = "none"  # only the limit of the whole execution


@dataclass
class AssertConfig:
    name: str = "assert"
    per_input: PerInput = PerInput.NL2POSTCOND
    most_slow: int = 10  # inputs on which a mutant may reach its limit before it is asked no more; 0: as many as there are
    imports: list[str] = field(default_factory=lambda: ["re"])  # modules that stand ready, as in nl2postcond's runs
    memory_mb: int = 4096
    file_mb: int = 16
    processes: int = 64


@dataclass(frozen=True)
class AssertChecker:
    """`seconds` limits one execution: a program on all inputs, or a candidate on all pairs of a subject."""

    sandbox: Sandbox
    limits: Limits = field(default_factory=Limits)
    seconds: float = 30.0
    per_input: PerInput = PerInput.NL2POSTCOND
    most_slow: int = 10
    imports: tuple[str, ...] = ("re",)
    name: str = "assert"

    @property
    def version(self) -> str:
        own = (self.limits, self.seconds, self.per_input, self.most_slow, self.imports)
        return content_key(self.name, RULES, harness_version(), *own)

    def prepare(self, task: Task, workspace: Workspace, baseline: Baseline | None = None) -> "AssertSession":
        return AssertSession(self, task, workspace, baseline)


@dataclass(frozen=True, slots=True)
class Given:
    """What a program gave for one input: `kind` is value, same, raised or slow, `text` the encoded value, `after` the
    arguments as it left them, where they are not what they were."""

    kind: str
    text: str
    after: str
    seconds: float


Pair = tuple[int, str, str]  # input, what was given for it, what was left of the arguments


class AssertSession(Session):
    """Owns the worker of one task. A lost worker is started again once for each request; then the fault is passed on."""

    def __init__(self, checker: AssertChecker, task: Task, workspace: Workspace, baseline: Baseline | None = None) -> None:
        if not isinstance(task.source, Program):
            raise PreparationFailed(f"{task.id}: checker=assert judges programs with inputs; this task has tests")
        self.checker, self.task, self.workspace, self.source = checker, task, workspace, task.source
        self.worker: Worker | None = None
        self.executions = 0
        self._known: set[str] = set()  # subjects whose outputs the worker holds
        self._pairs: dict[str, list[Pair]] = {}
        self._reference: dict[int, Given] = {}
        self.baseline = baseline or self._find()

    # Life

    def start(self, hash_seed: int = HASH_SEEDS[0]) -> None:
        self.close()
        limits = self.checker.limits
        if isinstance(self.source, Script):
            limits = replace(limits, memory_mb=max(limits.memory_mb, self.source.memory_mb))
        subject = {
            "program": self.task.implementation,
            "entry": "" if isinstance(self.source, Script) else self.task.qualname,
            "inputs": list(self.source.inputs),
            "imports": list(self.checker.imports),
            "most_bytes": 128 << 20,  # a value may be large
            "most_message": 64 << 20,
        }
        self.worker = worker.start(self.checker.sandbox, self.workspace, subject, limits, hash_seed)
        facts = self.worker.request({"do": "start", "config": {}}, 300)
        if not facts.get("ready"):
            raise PreparationFailed(f"{self.task.id}: the reference does not run: {' '.join(facts['errors'])[-300:]}")

    def close(self) -> None:
        self._known = set()
        if self.worker is not None:
            self.worker.close()
            self.worker = None

    # Programs

    def _find(self) -> Baseline:
        """The reference on all inputs under each hash seed; inputs on which it does not give the same are left out, and
        those of a script on which it does not print what its test expects."""
        runs = []
        for seed in reversed(HASH_SEEDS):
            self.start(seed)
            runs.append(self.outputs(self.task.implementation))
        self._reference = runs[-1]
        names = self.task.tests
        good = [
            index
            for index in range(len(names))
            if all(run[index].kind == "value" and run[index].text == runs[-1][index].text for run in runs)
            and self._expected(index, runs[-1][index])
        ]
        excluded = tuple(name for index, name in enumerate(names) if index not in set(good))
        if not good:
            raise PreparationFailed(f"{self.task.id}: the reference gives no value for any of its {len(names)} inputs here")
        seconds = sum(self._reference[index].seconds for index in good)
        plain = Plain(Ending.PASSED, (), len(good), 0, seconds)
        return Baseline(tuple(names[index] for index in good), excluded, plain)

    def _expected(self, index: int, given: Given) -> bool:
        if not isinstance(self.source, Script):
            return True
        return same_printed(values.decode(given.text), ast.literal_eval(self.source.outputs[index]))

    def _same(self, found: Any, right: Any) -> bool:
        return same_printed(found, right) if isinstance(self.source, Script) else same(found, right, self.source.tolerance)

    def outputs(self, program: str, expected: dict[int, Given] | None = None) -> dict[int, Given]:
        """Input -> what the program gave. Where it does not come to an end, what it had not given yet is slow.

        `expected`: the reference's; then the limits of inputs hold, and what is the same is not sent.
        """
        command: dict[str, Any] = {"program": program, "seconds": self.checker.seconds}
        if isinstance(self.source, Script):
            command["limits"] = [self.source.seconds] * len(self.source.inputs)
            command["seconds"] = self.source.seconds * len(self.source.inputs)
            command["most_slow"] = self.checker.most_slow
        if expected is not None:
            command["expected"] = [values.digest(given.text) for _, given in sorted(expected.items())]
            if self.checker.per_input is PerInput.NL2POSTCOND and not isinstance(self.source, Script):
                command["limits"] = [max(0.1, 2 * given.seconds) for _, given in sorted(expected.items())]
                command["most_slow"] = self.checker.most_slow
        answer = self._execute(command)
        found = {index: Given("slow", "", "", 0.0) for index in range(len(self.source.inputs))}
        for event in answer.events:
            for index, *given in event["of"] if event["e"] == "outputs" else ():
                found[index] = Given(*given)
        return found

    @property
    def _inputs(self) -> list[int]:
        used = set(self.baseline.tests)
        return [index for index, name in enumerate(self.task.tests) if name in used]

    def survey(self, task: Task) -> Baseline:
        """The baseline with the task's mutants: those that add no pair are left out. Raises PreparationFailed for a bug that
        no test shows: nothing could tell it from the right program."""
        pairs = self.pairs(task)
        if isinstance(self.source, Script) and task.mutants and not any(pairs[mutant.id] for mutant in mutants(task)):
            raise PreparationFailed(f"{task.id}: no test here shows the bug")
        outcomes = {subject.id: f"{len(pairs[subject.id])} pairs" for subject in mutants(task)}
        left_out = {subject.id: NOTHING_NEW for subject in mutants(task) if not pairs[subject.id]}
        self.baseline = replace(self.baseline, mutants=outcomes, left_out=left_out)
        return self.baseline

    def pairs(self, task: Task) -> dict[str, list[Pair]]:
        """Subject -> its pairs. In the mutants' order, each (input, wrong output) goes to the first that gave it."""
        if self._pairs:
            return self._pairs
        self._reference = self._reference or self.outputs(self.task.implementation)
        inputs = self._inputs
        expected = {index: self._reference[index] for index in inputs}
        self._pairs = {original(task).id: [(index, expected[index].text, expected[index].after) for index in inputs]}
        right = {index: values.decode(given.text) for index, given in expected.items()}
        seen: set[tuple[int, str]] = set()
        for mutant in mutants(task):
            if mutant.id in self.baseline.left_out:
                self._pairs[mutant.id] = []
                continue
            fresh = []
            for index, given in self.outputs(mutant.payload, self._reference).items():
                if given.kind != "value" or index not in expected:
                    continue
                if (index, given.text) not in seen and not self._same(values.decode(given.text), right[index]):
                    seen.add((index, given.text))
                    fresh.append((index, given.text, given.after))
            self._pairs[mutant.id] = fresh
        return self._pairs

    # Requests

    def _execute(self, command: dict[str, Any]) -> Answer:
        self.executions += 1
        return ask(self, {"do": "execute", **command}, command["seconds"])

    def _knows(self, subject: str) -> None:
        """Has the worker hold the subject's outputs."""
        if self.worker is None:
            self.start()
        assert self.worker is not None
        if subject not in self._known:
            outputs = self._perturbed() if subject == PERTURBED else self.pairs(self.task)[subject]
            assert self.worker is not None
            self.worker.request({"do": "know", "subject": subject, "outputs": outputs}, 300)
            self._known.add(subject)

    # Verdicts

    def check(self, subject: Subject, submissions: Sequence[Submission]) -> list[tuple[Verdict, ...]]:
        return [self.alone(subject, submission) for submission in submissions]

    def alone(self, subject: Subject, submission: Submission) -> tuple[Verdict, ...]:
        answer = self._ask(subject.id, submission.clauses.text, whole=subject.kind is not Kind.ORIGINAL)
        return (self._verdict(subject, submission, answer),) * len(submission.views)

    def _ask(self, subject: str, candidate: str, whole: bool) -> Answer:
        """One candidate on one subject's pairs: on all of them, or until an assert fails."""
        command = {"subject": subject, "candidate": candidate, "whole": whole, "seconds": self.checker.seconds}
        self._knows(subject)
        answer = self._execute(command)
        if answer.last("unknown") or answer.last("lost"):
            # the processes that knew are gone; twice, and it is the candidate's doing
            self._known.discard(subject)
            self._knows(subject)
            answer = self._execute(command)
        return answer

    def _verdict(self, subject: Subject, submission: Submission, answer: Answer) -> Verdict:
        broken = answer.last("broken")
        if broken:
            return Verdict(Outcome.ERROR, Reason(broken["reason"]), message=broken["message"])
        violated, raised, looked = answer.last("violated"), answer.last("raised"), answer.last("looked")
        tally = answer.last("verdict")
        said = violated or raised
        message = f"looked ({looked['what']})" if looked else self._say(said) if said else ""
        verdict = decide(
            Observed(
                ending=answer.ending,
                violated=bool(violated),
                raised=bool(raised),
                clause=_clause(submission, said.get("line")) if said else None,
                message=message,
                surfaced=bool(violated) or None,
                seconds=answer.seconds,
                looked=bool(looked),
                evaluated=tally.get("asked", 0),
            )
        )
        verdict = replace(verdict, published=_published(verdict, bool(said)))
        if subject.kind is Kind.ORIGINAL:
            return verdict
        killed = 0 if looked else int(tally.get("failed", bool(violated)))
        failed_otherwise = 0 if looked else int(tally.get("raised", bool(raised)))
        pairs = len(self.pairs(self.task)[subject.id])
        return replace(verdict, pairs=pairs, pairs_killed=killed, pairs_raised=failed_otherwise)

    def diagnose(self, submissions: Sequence[Submission]) -> list[Diagnosis | None]:
        """For candidates that hold on the original: do they hold whatever is put in the result's place?"""
        first = original(self.task).id
        found: list[Diagnosis | None] = []
        for submission in submissions:
            perturbed = self._ask(PERTURBED, submission.clauses.text, whole=False)
            insensitive = bool(perturbed.last("verdict")) and not perturbed.last("violated") and not perturbed.last("raised")
            unused = [
                position
                for position, text in implications.of_asserts(submission.clauses)
                if not self._ask(first, text, whole=False).last("violated")
            ]
            found.append(Diagnosis(insensitive, tuple(unused)))
        return found

    def _perturbed(self) -> list[Pair]:
        """Other results in the place of the reference's, for its first inputs."""
        pairs = self.pairs(self.task)[original(self.task).id][:50]
        return [
            (index, values.encode(other), after)
            for index, text, after in pairs
            for other in perturb.others(values.decode(text))
        ]

    def _say(self, said: dict[str, Any]) -> str:
        text = self.source.inputs[said["input"]]
        return f"{said['message']} (input {self.task.tests[said['input']]}: {text[:200]}{'...' if len(text) > 200 else ''})"


def _published(verdict: Verdict, anything: bool) -> str:
    """nl2postcond takes whatever an assertion's code raises for its failing: a kill on a wrong output."""
    if verdict.reason in (Reason.TIMEOUT, Reason.SYNTAX_ERROR):
        return str(verdict.reason)
    if anything and verdict.reason is not Reason.TAMPERED:
        return "assert_fail"
    return "passed" if verdict.outcome is Outcome.HOLDS else "failed"


def _clause(submission: Submission, line: int | None) -> int | None:
    """Which assert of the candidate's text stands at that line."""
    if line is None:
        return None
    at = 0
    for index, text in enumerate(submission.clauses.ensures):
        at = submission.clauses.text.find(text, at)
        first = submission.clauses.text.count("\n", 0, at) + 1
        if first <= line <= first + text.count("\n"):
            return index
    return None
