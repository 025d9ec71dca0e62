"""The JML checker: verdicts for postcondition sets in Java, many candidates to an execution, many executions to a JVM.

Candidates are translated (`translate`), woven around the method together with the bodies of all its mutants (`weave`), and
compiled once (`units`). What the static gate passes shares an execution; each of the others runs alone, its violations really
raised. What sharing can't tell exactly is repeated alone: an execution that ended abnormally, one whose tests said something
else than without candidates, and a violation of which the stack could not tell if somebody swallows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from containers.sandbox import Limits, Sandbox
from ensures.errors import PreparationFailed
from ensures.keys import content_key
from ensures.subject import Kind, Subject, mutants
from ensures.task import Task
from ensures.verdict import Ending, Outcome, Reason, Verdict
from evaluation.answer import Answer, ask
from evaluation.baseline import Baseline, Plain
from evaluation.checker import Limit, Submission, Tested
from evaluation.diagnosis import Diagnosis
from evaluation.java import cold, purity, survey, worker
from evaluation.java.jml.clauses import place, specification
from evaluation.java.jml.syntax import Specification
from evaluation.java.jml.tokens import JmlError, JmlUnsupported
from evaluation.java.translate import Translated, translate
from evaluation.java.units import Built, Unit, build
from evaluation.java.weave import Method, Unweavable, Woven, alike, method, weave
from evaluation.java.workspace import JavaWorkspace
from evaluation.worker import Worker
from evaluation.workspace import module_text

RULES = "1"  # raised when what this module decides changes
LEAST_SECONDS, SLOWER = 2.0, 10  # limit=measured: this many times what the original took, but not less than this
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


@lru_cache(4096)
def read(text: str) -> Specification | Verdict:
    """The candidate's clauses, or the verdict that it gets without any execution."""
    seen = purity.looks(text)
    if seen:
        return Verdict(Outcome.ERROR, Reason.TAMPERED, message=f"looked ({seen})")
    if purity.escapes(text):
        return Verdict(Outcome.ERROR, Reason.UNSUPPORTED, message="an escape that Java reads as a quote or a bracket")
    try:
        return specification(text)
    except JmlUnsupported as error:
        return Verdict(Outcome.ERROR, Reason.UNSUPPORTED, message=error.said)
    except JmlError as error:
        line, column = place(text, error.offset)
        return Verdict(Outcome.ERROR, Reason.SYNTAX_ERROR, message=f"line {line}, column {column}: {error.said}")


def translated(text: str, returns: bool) -> Translated | Verdict:
    """What is woven for the candidate, or the verdict that it gets instead."""
    found = read(text)
    if isinstance(found, Verdict):
        return found
    if not found.ensures:
        return Verdict(Outcome.ERROR, Reason.COMPILE_ERROR, message="the completion holds no clause")
    try:
        return translate(found, returns)
    except JmlUnsupported as error:
        return Verdict(Outcome.ERROR, Reason.UNSUPPORTED, message=error.said)
    except JmlError as error:
        return Verdict(Outcome.ERROR, Reason.COMPILE_ERROR, message=error.said)


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
        self.known = [task.implementation, *(mutant.implementation for mutant in task.mutants)]
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
        return min(self.checker.seconds, max(LEAST_SECONDS, SLOWER * self.baseline.original.seconds))

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

    def built(self, candidates: tuple[Translated, ...], implementation: str) -> tuple[Built, int]:
        """A build with these candidates and this body, and the body's position in it."""
        for held, (positions, found) in self._builds.items():
            if held == candidates and implementation in positions:
                return found, positions[implementation]
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
            del self._builds[next(iter(self._builds))]
        positions = {text: index for index, text in enumerate(together)}
        self._builds[candidates] = (positions, found)
        return found, positions[implementation]

    def _compile(self, name: str, text: Woven, candidates: int) -> list[dict[str, Any]]:
        self._texts[name] = (text, candidates)
        file = self.task.file.rpartition("/")[2]
        command = {"do": "compile", "unit": name, "file": file, "text": text.text, "size": candidates}
        answer = ask(self, {**command, "seconds": COMPILING}, COMPILING + 60)
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
        answer = ask(self, dict(request), longest + 60)
        if answer.end.get("unknown"):  # another JVM: it has to compile again
            self._compile(unit.name, *self._texts[unit.name])
            answer = ask(self, dict(request), longest + 60)
        if answer.end.get("broken"):
            raise PreparationFailed(f"{self.task.id}: its tests can't be run: {answer.end['broken'][:300]}")
        self.peak_kb = max(self.peak_kb, answer.peak_kb)
        self.conditions += sum(answer.end.get("spent", ())) / 1e9
        return answer

    def bare(self, subject: Subject, **command: Any) -> Answer | None:
        """The subject without candidates; None where it does not compile."""
        found, body = self.built((), subject.payload)
        unit = found.unit(None, body)
        return None if unit is None else self.execute(subject, unit, body, whole=True, **command)

    def broken(self, implementation: str) -> str:
        """Why it does not compile; empty if it does."""
        if self.body(implementation) is None:
            return "it is no Java method"
        found, body = self.built((), implementation)
        return found.broken.get(body, "")

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
        self.expect([mutant.payload for mutant in mutants(task)])
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
        found, body = self.built(candidates, subject.payload) if candidates else (Built(), 0)
        if body in found.broken:
            verdict = Verdict(Outcome.ERROR, Reason.TEST_FAILED, message=f"the subject: {found.broken[body]}"[:300])
            return [verdicts.get(i, (verdict,) * len(s.views)) for i, s in enumerate(submissions)]
        position = {candidate: number for number, candidate in enumerate(candidates)}
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
                numbers = [unit.candidates[position[usable[index]]] for index in members]
                given, members = self._shared(subject, unit, body, members, numbers, submissions)
                verdicts |= given
        return [
            verdicts[index] if index in verdicts else self.alone(subject, submission)
            for index, submission in enumerate(submissions)
        ]

    def _shared(
        self,
        subject: Subject,
        unit: Unit,
        body: int,
        members: list[int],
        numbers: list[int],
        submissions: Sequence[Submission],
    ) -> tuple[dict[int, tuple[Verdict, ...]], list[int]]:
        """One execution for all of them: the verdicts that it gives exactly, and who should share another execution."""
        answer = self.execute(
            subject,
            unit,
            body,
            candidates=[_spec(submissions[i], n) for i, n in zip(members, numbers, strict=True)],
            budget=int(self.seconds / CANDIDATE_SHARE * 1e9),
            seconds=self.seconds,
        )
        if answer.stuck is not None:
            return {}, [index for at, index in enumerate(members) if at != answer.stuck]
        ending = answer.ending
        timeout = ending is Ending.TIMEOUT
        if not timeout and (ending not in _ORDINARY or answer.end.get("dirty") or not self._as_plain(subject, answer)):
            return {}, []
        found: dict[int, tuple[Verdict, ...]] = {}
        for at, index in enumerate(members):
            if timeout:
                doubtful = any(answer.has(kind, at) for kind in ("violated", "raised"))
            else:
                doubtful = "unknown" in answer.end["surfaced"][at]
            if not doubtful:
                views = len(submissions[index].views)
                found[index] = self._said(answer, at, submissions[index], views, shared=True)
        return found, []

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
        found, body, number = self._held(made, subject.payload)
        unit = found.unit(number, body)
        if unit is None:
            message = found.wrong.get(number) or found.broken.get(body) or "it does not compile"
            return (_published(Verdict(Outcome.ERROR, Reason.COMPILE_ERROR, message=message[:300])),) * len(submission.views)
        verdicts: list[Verdict] = []
        for view in submission.views:
            spec = {"index": unit.candidates[number], "views": [view.part.value], "salt": view.salt}
            command: dict[str, Any] = {"candidates": [spec], "raising": True, "whole": True, "seconds": self.seconds}
            command["replaced"] = purity.leaves_traces(submission.clauses.text)
            answer = self.execute(subject, unit, body, **command)
            verdicts += self._said(answer, 0, submission, 1, shared=False)
        return tuple(verdicts)

    def _held(self, candidate: Translated, implementation: str) -> tuple[Built, int, int]:
        """A build that holds both, and their positions in it."""
        for candidates, (positions, found) in self._builds.items():
            if candidate in candidates and implementation in positions:
                return found, positions[implementation], candidates.index(candidate)
        found, body = self.built((candidate,), implementation)
        return found, body, 0

    def cold(self, subject: Subject, submission: Submission) -> tuple[Outcome, float]:
        found = cold.run(self, subject, submission)
        return found.outcome, found.seconds

    # What candidates leave unsaid

    def diagnose(self, submissions: Sequence[Submission]) -> list[Diagnosis | None]:
        return [None] * len(submissions)


_ORDINARY = (Ending.PASSED, Ending.FAILED, Ending.STOPPED)


def _spec(submission: Submission, number: int) -> dict[str, Any]:
    views = submission.views
    return {"index": number, "views": [view.part.value for view in views], "salt": views[0].salt}


_NEVER_RAN = (Reason.SYNTAX_ERROR, Reason.COMPILE_ERROR, Reason.UNSUPPORTED)


def _published(verdict: Verdict) -> Verdict:
    """With the status that the published runs would have given. Java's precedence: timeout, compile failure or no report,
    passed (a violation that was swallowed, too), jml_fail, failed."""
    reason, ending = verdict.reason, verdict.ending
    if reason is Reason.TIMEOUT or ending is Ending.TIMEOUT:
        status = "timeout"
    elif reason in (Reason.SYNTAX_ERROR, Reason.COMPILE_ERROR, Reason.UNSUPPORTED) or (
        reason is Reason.TAMPERED and not ending
    ):
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
