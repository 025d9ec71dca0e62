"""The JML checker: verdicts for postcondition sets in Java, many candidates to an execution, many executions to a JVM.

Candidates are translated (`translate`), woven around the method together with the bodies of all its mutants (`weave`), and
compiled once (`units`). What the static gate passes shares an execution; each of the others runs alone, its violations really
raised. What sharing can't tell exactly is repeated alone: an execution that ended abnormally, one whose tests said something
else than without candidates, and a violation of which the stack could not tell if somebody swallows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from containers.sandbox import Limits, Sandbox
from ensures.errors import PreparationFailed
from ensures.keys import content_key
from ensures.subject import Kind, Subject
from ensures.task import Task
from ensures.verdict import Ending, Outcome, Reason, Verdict
from evaluation.answer import Answer, ask
from evaluation.baseline import Baseline, Plain
from evaluation.checker import Limit, Submission, Tested, measured
from evaluation.diagnosis import Diagnosis
from evaluation.java import cold, observe, purity, survey, worker
from evaluation.java.candidates import translated
from evaluation.java.translate import Translated
from evaluation.java.units import Built, Unit, build
from evaluation.java.weave import Method, Unweavable, Woven, alike, method, weave
from evaluation.java.workspace import JavaWorkspace
from evaluation.worker import Worker
from evaluation.workspace import module_text

RULES = "1"  # raised when what this module decides changes
CANDIDATE_SHARE = 30  # each candidate's conditions get this part of the limit in a shared execution, else they run alone
COMPILING = 120.0  # seconds for one unit
KEPT = 8  # builds


@dataclass
class JmlConfig:
    name: str = "jml"
    heap_mb: int = 320  # of the JVM
    file_mb: int = 64
    processes: int = 512  # threads count


@dataclass(frozen=True)
class JmlChecker:
    """`seconds` limits one execution of a subject's covering tests, as in the published runs (`limit=paper`);
    `limit=measured` takes a multiple of what the plain original took, if that is less."""

    sandbox: Sandbox
    limits: Limits = field(default_factory=Limits)
    seconds: float = 30.0
    limit: Limit = Limit.PAPER
    heap_mb: int = 320
    name: str = "jml"

    @property
    def version(self) -> str:
        return content_key(self.name, RULES, worker.harness_version(), self.limits, self.heap_mb, self.seconds)

    def prepare(self, task: Task, workspace: JavaWorkspace, baseline: Baseline | None = None) -> "JmlSession":
        return JmlSession(self, task, workspace, baseline)


@dataclass(frozen=True, slots=True)
class Held:
    """A build, where a body is in it, and where the candidates are."""

    found: Built
    body: int
    numbers: dict[Translated, int]


class JmlSession(Tested):
    """Owns the JVM of one task. A lost one is started again once for each request; then the fault is passed on."""

    def __init__(self, checker: JmlChecker, task: Task, workspace: JavaWorkspace, baseline: Baseline | None = None) -> None:
        self.checker, self.task, self.workspace = checker, task, workspace
        self.text = module_text(workspace, task)
        self.tests = tuple(test for test in task.tests if test not in task.excluded_tests)
        self.executions = 0
        self.peak_kb = 0
        self.conditions = 0.0  # seconds that candidates' conditions took in shared executions
        self.worker: Worker | None = None
        self._plain: dict[str, Plain] = {}
        self._builds: dict[tuple[Translated, ...], tuple[dict[str, int], Built]] = {}
        self._texts: dict[str, tuple[Woven, int]] = {}  # of compiled units, so that a new JVM can have them again
        self._bodies: dict[str, Method | None] = {}  # implementation -> its method, None where there is none
        try:
            self.method = method(task.implementation)
        except Unweavable as error:
            raise PreparationFailed(f"{task.id}: {error}") from error
        self.known = _implementations(task)
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

    def start(self) -> None:
        self.close()
        self.worker = worker.start(self.checker.sandbox, self.workspace, self.checker.limits, self.checker.heap_mb)
        self.worker.request({"do": "start"}, 60)

    def take(self, tests: tuple[str, ...]) -> None:
        """From now on these tests and no others."""
        self.tests = tests

    def close(self) -> None:
        if self.worker is not None:
            self.worker.close()
            self.worker = None

    # Units

    def body(self, implementation: str) -> Method | None:
        if implementation not in self._bodies:
            try:
                found: Method | None = method(implementation)
            except Unweavable:
                found = None
            self._bodies[implementation] = found
        return self._bodies[implementation]

    def expect(self, implementations: Sequence[str]) -> None:
        """These will be asked for: they are compiled together."""
        known = set(self.known)
        self.known += [text for text in dict.fromkeys(implementations) if text not in known]

    def built(self, candidates: tuple[Translated, ...], implementation: str) -> Held:
        """A build with at least these candidates and this body."""
        for held, (positions, found) in self._builds.items():
            if implementation in positions and set(candidates) <= set(held):
                return Held(found, positions[implementation], {one: number for number, one in enumerate(held)})
        self.expect([implementation])
        own = self.body(implementation)
        together = [
            text
            for text in self.known
            if text == implementation or (own is not None and (other := self.body(text)) is not None and alike(own, other))
        ]
        if own is None:
            together = [implementation]
        bodies = [self.body(text) or self.method for text in together]

        def woven(some: Sequence[int], numbers: Sequence[int]) -> Woven:
            around = [bodies[index] for index in some]
            inside = [candidates[index] for index in numbers]
            head = self.method if alike(self.method, around[0]) else around[0]
            return weave(self.text, self.task.start_line, self.task.end_line, head, around, inside)

        usable = range(len(bodies)) if own is not None else ()
        name = content_key(candidates, together)[:20]
        found = build(self._compile, woven, usable, candidates, name)
        if len(self._builds) >= KEPT:
            _, forgotten = self._builds.pop(next(iter(self._builds)))
            for unit in forgotten.units:
                self._texts.pop(unit.name, None)
        positions = {text: index for index, text in enumerate(together)}
        self._builds[candidates] = (positions, found)
        return Held(found, positions[implementation], {one: number for number, one in enumerate(candidates)})

    def _compile(self, name: str, text: Woven, candidates: int) -> list[dict[str, Any]]:
        self._texts[name] = (text, candidates)
        file = self.task.file.rpartition("/")[2]
        command = {"do": "compile", "unit": name, "file": file, "text": text.text, "size": candidates}
        answer = ask(self, {**command, "seconds": COMPILING}, COMPILING)
        if answer.record["ending"] != "finished":
            return [{"at": -1, "message": f"the compiler did not come to an end ({answer.record['ending']})"}]
        problems: list[dict[str, Any]] = answer.end["problems"]
        return problems

    # Requests

    def execute(self, subject: Subject, unit: Unit, body: int, **command: Any) -> Answer:
        """One execution of the subject (harness, `Main`). Raises WorkerLost."""
        self.executions += 1
        request = {"do": "execute", "unit": unit.name, "body": unit.bodies[body], "tests": list(self.tests), **command}
        request.setdefault("seconds", self.checker.seconds)
        longest = request["seconds"] + (len(command.get("candidates", ())) + 1) * command.get("budget", 0) / 1e9
        answer = ask(self, dict(request), longest)
        if answer.end.get("unknown"):  # another JVM: it has to compile again
            self._compile(unit.name, *self._texts[unit.name])
            answer = ask(self, dict(request), longest)
        if answer.end.get("broken"):  # JUnit itself did not come to an end
            if subject.kind is Kind.ORIGINAL and not command.get("candidates"):
                raise PreparationFailed(f"{self.task.id}: its tests can't be run: {answer.end['broken'][:300]}")
            answer = Answer({**answer.record, "ending": "crashed"})
        self.peak_kb = max(self.peak_kb, answer.peak_kb)
        self.conditions += sum(answer.end.get("spent", ())) / 1e9
        return answer

    def bare(self, subject: Subject, **command: Any) -> Answer | None:
        """The subject without candidates; None where it does not compile."""
        held = self.built((), subject.payload)
        unit = held.found.unit(None, held.body)
        return None if unit is None else self.execute(subject, unit, held.body, whole=True, **command)

    def broken(self, implementation: str) -> str:
        """Why it does not compile; empty if it does."""
        if self.body(implementation) is None:
            return "it is no Java method"
        held = self.built((), implementation)
        return held.found.broken.get(held.body, "")

    def plain(self, subject: Subject, seconds: float | None = None) -> Plain:
        """The subject's tests without candidates; `seconds` is a shorter limit than the checker's."""
        limit = {} if seconds is None else {"seconds": min(seconds, self.checker.seconds)}
        if subject.id not in self._plain or subject.kind is Kind.ORIGINAL:
            answer = self.bare(subject, **limit)
            if answer is None:
                return Plain(Ending.CRASHED, (), 0, 0, 0.0)
            self._plain[subject.id] = answer.plain()
        return self._plain[subject.id]

    def survey(self, task: Task) -> Baseline:
        """The baseline with the task's mutants in it."""
        self.known = _implementations(task)  # and no longer what was only tried
        self.baseline = survey.with_mutants(self, task)
        return self.baseline

    # Verdicts

    def check(self, subject: Subject, submissions: Sequence[Submission]) -> list[tuple[Verdict, ...]]:
        verdicts: dict[int, tuple[Verdict, ...]] = {}
        usable: dict[int, Translated] = {}
        for index, submission in enumerate(submissions):
            made = translated(submission.clauses.text, bool(self.method.result))
            if isinstance(made, Verdict):
                verdicts[index] = (_published(made),) * len(submission.views)
            else:
                usable[index] = made
        candidates = tuple(dict.fromkeys(usable.values()))
        held = self.built(candidates, subject.payload) if candidates else Held(Built(), 0, {})
        found, body, position = held.found, held.body, held.numbers
        if body in found.broken:
            verdict = Verdict(Outcome.ERROR, Reason.TEST_FAILED, message=f"the subject: {found.broken[body]}"[:300])
            return [verdicts.get(i, (verdict,) * len(s.views)) for i, s in enumerate(submissions)]
        for index, made in usable.items():
            wrong = found.wrong.get(position[made])
            if wrong is not None:
                verdict = _published(Verdict(Outcome.ERROR, Reason.COMPILE_ERROR, message=wrong[:300]))
                verdicts[index] = (verdict,) * len(submissions[index].views)
        waiting = [index for index in usable if index not in verdicts]
        together = [i for i in waiting if not self.baseline.original.iterators and purity.shares(submissions[i].clauses.text)]
        groups: dict[str, tuple[Unit, list[int]]] = {}
        for index in together:
            unit = found.unit(position[usable[index]], body)
            assert unit is not None
            groups.setdefault(unit.name, (unit, []))[1].append(index)
        for unit, members in groups.values():
            while members:
                # equal candidates are evaluated once, in the views of all
                alike_of: dict[int, list[int]] = {}
                for index in members:
                    alike_of.setdefault(unit.candidates[position[usable[index]]], []).append(index)
                given, members = self._shared(subject, unit, body, alike_of, submissions)
                verdicts |= given
        return [
            verdicts[index] if index in verdicts else self.alone(subject, submission)
            for index, submission in enumerate(submissions)
        ]

    def _shared(
        self, subject: Subject, unit: Unit, body: int, alike_of: dict[int, list[int]], submissions: Sequence[Submission]
    ) -> tuple[dict[int, tuple[Verdict, ...]], list[int]]:
        """One execution for all of them: the verdicts that it gives exactly, and who should share another execution.

        `alike_of`: a candidate's number in the unit -> the submissions that are this candidate.
        """
        slots = list(alike_of.values())
        answer = self.execute(
            subject,
            unit,
            body,
            candidates=[observe.spec(number, [submissions[index] for index in found]) for number, found in alike_of.items()],
            budget=int(self.seconds / CANDIDATE_SHARE * 1e9),
            seconds=self.seconds,
        )
        if answer.stuck is not None:
            return {}, [index for at, found in enumerate(slots) if at != answer.stuck for index in found]
        ending = answer.ending
        timeout = ending is Ending.TIMEOUT
        if not timeout and (ending not in _ORDINARY or answer.end.get("dirty") or not self._as_plain(subject, answer)):
            return {}, []
        verdicts: dict[int, tuple[Verdict, ...]] = {}
        for at, found in enumerate(slots):
            views = sum(len(submissions[index].views) for index in found)
            every, first = self._said(answer, at, submissions[found[0]], views, shared=True), 0
            for index in found:
                own = range(first, first + len(submissions[index].views))
                first = own.stop
                if timeout:
                    doubtful = any(answer.has(kind, at) for kind in ("violated", "raised"))
                else:
                    doubtful = any(answer.end["surfaced"][at][view] == "unknown" for view in own)
                if not doubtful:
                    verdicts[index] = every[own.start : own.stop]
        return verdicts, []

    def _as_plain(self, subject: Subject, answer: Answer) -> bool:
        """Did the tests say what they say without candidates, as far as it went?"""
        if answer.ending is Ending.STOPPED:
            return True
        if subject.kind is Kind.ORIGINAL:
            return all(mine.allows(theirs) for mine, theirs in zip(self.baseline.original.trace, answer.trace, strict=True))
        outcomes = self.baseline.expects(subject)
        if outcomes is None:
            outcomes = self.plain(subject).outcomes
        return outcomes == "".join(mark.outcome for mark in answer.trace)

    def _said(self, answer: Answer, at: int, submission: Submission, views: int, shared: bool) -> tuple[Verdict, ...]:
        given = answer.verdicts(at, views, shared=shared)
        clauses = submission.clauses.ensures
        named = []
        for verdict in given:
            if verdict.reason is Reason.POSTCONDITION_VIOLATED and verdict.clause is not None and not verdict.message:
                text = clauses[verdict.clause] if verdict.clause < len(clauses) else ""
                verdict = replace(verdict, message=f"false: {' '.join(text.split())}"[:300])
            named.append(_published(verdict))
        return tuple(named)

    def alone(self, subject: Subject, submission: Submission) -> tuple[Verdict, ...]:
        """An execution for each view, in which what is violated is really raised."""
        made = translated(submission.clauses.text, bool(self.method.result))
        if isinstance(made, Verdict):
            return (_published(made),) * len(submission.views)
        held = self.built((made,), subject.payload)
        found, body, number = held.found, held.body, held.numbers[made]
        unit = found.unit(number, body)
        if unit is None:
            message = found.wrong.get(number) or found.broken.get(body) or "it does not compile"
            return (_published(Verdict(Outcome.ERROR, Reason.COMPILE_ERROR, message=message[:300])),) * len(submission.views)
        verdicts: list[Verdict] = []
        for view in submission.views:
            spec = observe.spec(unit.candidates[number], [Submission(submission.clauses, (view,))])
            command: dict[str, Any] = {"candidates": [spec], "raising": True, "whole": True, "seconds": self.seconds}
            command["replaced"] = purity.leaves_traces(submission.clauses.text)
            answer = self.execute(subject, unit, body, **command)
            verdicts += self._said(answer, 0, submission, 1, shared=False)
        return tuple(verdicts)

    def cold(self, subject: Subject, submission: Submission) -> tuple[Outcome, float]:
        found = cold.run(self, subject, submission)
        return found.outcome, found.seconds

    # Observation

    def describe(self) -> list[dict[str, Any]]:
        return observe.describe(self)

    def truths(self, given: Sequence[Submission]) -> list[tuple[str, int, str | None]]:
        return observe.truths(self, given)

    def diagnose(self, submissions: Sequence[Submission]) -> list[Diagnosis | None]:
        return observe.diagnose(self, submissions)


_ORDINARY = (Ending.PASSED, Ending.FAILED, Ending.STOPPED)
_NEVER_RAN = (Reason.SYNTAX_ERROR, Reason.COMPILE_ERROR, Reason.UNSUPPORTED)


def _implementations(task: Task) -> list[str]:
    return [task.implementation, *(mutant.implementation for mutant in task.mutants)]


def _published(verdict: Verdict) -> Verdict:
    """With the status that the published runs would have given. Java's precedence: timeout, compile failure or no report,
    passed (a violation that was swallowed, too), jml_fail, failed."""
    reason, ending = verdict.reason, verdict.ending
    if reason is Reason.TIMEOUT or ending is Ending.TIMEOUT:
        status = "timeout"
    elif reason in _NEVER_RAN or (reason is Reason.TAMPERED and not ending):
        status = "compile_failure"
    elif ending in (Ending.CRASHED, Ending.OUT_OF_MEMORY, Ending.TAMPERED):
        status = "reports_not_exist"
    elif reason is Reason.POSTCONDITION_VIOLATED:
        status = "jml_fail" if verdict.surfaced else "passed" if ending is Ending.PASSED else "failed"
    elif reason in (Reason.PASSED, Reason.NOT_EVALUATED):
        status = "passed"
    else:
        status = "failed"
    return replace(verdict, published=status)
