"""The judge: candidates and subjects in, verdicts out. What is known is not asked again; equal candidates are judged once.

The original comes first: mutants are run only for candidates that hold on it (under either rule), as in the published runs.
A share of what shared executions said is audited; a task in which anything was said otherwise is judged in isolation.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ensures.candidate import Candidate, Clauses, Malformed
from ensures.errors import PreparationFailed, WorkerLost
from ensures.keys import content_key
from ensures.subject import Subject, original
from ensures.task import Task
from ensures.verdict import Outcome, Verdict
from evaluation import audit
from evaluation.baseline import Baseline
from evaluation.checker import Limit, Session, Submission
from evaluation.diagnosis import Diagnosis, diagnose
from evaluation.known import Known, passes
from evaluation.pool import Pool, ended
from evaluation.rows import Shards
from evaluation.station import Work
from evaluation.surveyor import Surveyor

BATCH = 8  # subjects to a unit of work: small enough that little is lost with a worker


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Work that no verdict came of, through no fault of a candidate."""

    task: str
    model: str
    setting: str
    reason: str


@dataclass(frozen=True, slots=True)
class Question:
    """What a station is asked: verdicts for each subject, submission and view."""

    subjects: tuple[Subject, ...]
    submissions: tuple[Submission, ...]
    isolated: bool = False  # each candidate in an execution of its own


Verdicts = list[list[tuple[Verdict, ...]]]
MOST_REMEMBERED = 200_000  # (artifact, subject)


class Memory:
    """What was just said of an artifact on a subject, whoever asked: what gave feedback need not be run again to be scored."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._found: OrderedDict[tuple[str, str], tuple[Verdict, ...]] = OrderedDict()

    def recall(self, judged: str, subject: Subject) -> tuple[Verdict, ...] | None:
        return self._found.get((judged, subject.id))

    def keep(self, judged: str, subject: Subject, verdicts: tuple[Verdict, ...]) -> None:
        self._found[judged, subject.id] = verdicts
        while len(self._found) > self._most:
            self._found.popitem(last=False)


def check(session: Session, task: Task, asked: Question) -> Verdicts:
    """At a station."""
    if asked.isolated:
        return [[session.alone(subject, submission) for submission in asked.submissions] for subject in asked.subjects]
    return [session.check(subject, asked.submissions) for subject in asked.subjects]


@dataclass(frozen=True, slots=True)
class _Bench:
    """A task as it is judged: candidates' keys -> what they are in the keys of verdicts."""

    task: Task
    baseline: Baseline
    isolated: bool
    by: tuple[Any, ...]  # what every verdict depends on beside artifact and subject
    judged: dict[str, str]
    given: list[audit.Given] = field(default_factory=list)  # by shared executions, just now

    @property
    def executions(self) -> int:
        """How many of them gave it, at least."""
        return len({item.subject.id for item in self.given})


def verdict_key(judged: str, subject: Subject, part: str) -> str:
    """`judged` is the candidate's own key here (`_judged`); a subject's id names its content, within the task's key."""
    return hashlib.sha256(f"{judged}:{subject.id}:{part}".encode()).hexdigest()[:32]


class Judge:
    """Owns the verdict rows of a run. `on_verdicts` hears how many rows were added; without `diagnoses` no one is."""

    def __init__(
        self,
        pool: Callable[[], Pool],
        surveyor: Surveyor,
        shards: Shards,
        audits: Shards,
        diagnoses: Shards | None,
        limit: Limit = Limit.PAPER,
        audit_fraction: float = 0.0,
        on_verdicts: Callable[[int], None] = lambda added: None,
        memory: Memory | None = None,
    ) -> None:
        self.pool, self.surveyor = pool, surveyor
        self.shards, self.audits, self.diagnoses = shards, audits, diagnoses
        self._diagnosed = {row["key"] for row in diagnoses.rows(["key"])} if diagnoses is not None else set()
        self.limit, self.audit_fraction, self.on_verdicts = limit, audit_fraction, on_verdicts
        self.isolated = {row["task_id"] for row in audits.rows(["task_id", "agrees"]) if not row["agrees"]}
        self.memory = memory
        self.added = 0
        self.unresolved: list[Unresolved] = []
        self._known = Known(shards)

    async def judge(self, task: Task, candidates: Sequence[Candidate]) -> None:
        """All verdicts of the candidates on the task's subjects, into the rows."""
        try:
            baseline = await self.surveyor.of(task)
            bench = self._bench(task, baseline, candidates)
            await self._judge(bench, candidates)
            if not bench.isolated and not await self._audit(bench):
                self.isolated.add(task.id)
                bench = self._bench(task, baseline, candidates)
                await self._judge(bench, candidates)
            await self._diagnose(bench, [candidate for candidate in candidates if self._passed(candidate, bench)])
        except (WorkerLost, PreparationFailed) as error:
            for model, setting in dict.fromkeys((c.model, c.setting.value) for c in candidates):
                self.unresolved.append(Unresolved(task.id, model, setting, str(error)))

    async def verdicts(self, task: Task, candidates: Sequence[Candidate], on_mutants: bool) -> list[dict[str, Verdict]]:
        """By subject, for each candidate in its first view: on the original, or on the mutants that count. The rows are kept.
        Raises WorkerLost and PreparationFailed."""
        baseline = await self.surveyor.of(task)
        bench = self._bench(task, baseline, candidates)
        subjects = baseline.counted(task) if on_mutants else [original(task)]
        asked: dict[Submission, list[Candidate]] = {}
        for candidate in candidates:
            assert isinstance(candidate.artifact, Clauses)
            asked.setdefault(Submission(candidate.artifact, candidate.views), []).append(candidate)
        batches = [subjects[at : at + BATCH] for at in range(0, len(subjects), BATCH)]
        found = await ended(self._found(bench, tuple(asked), batch) for batch in batches)
        said: dict[str, dict[str, Verdict]] = {candidate.key: {} for candidate in candidates}
        for batch, verdicts in zip(batches, found, strict=True):
            for index, submission in enumerate(asked):
                self._add(bench, asked[submission], batch, [of[index] for of in verdicts])
                for candidate in asked[submission]:
                    said[candidate.key] |= {s.id: of[index][0] for s, of in zip(batch, verdicts, strict=True)}
        return [said[candidate.key] for candidate in candidates]

    def current(self, row: Mapping[str, Any]) -> bool:
        """Is it a row of this run's limit, and for an isolated task one that was given in isolation?"""
        return row["limit"] == self.limit.value and row["isolated"] == (row["task_id"] in self.isolated)

    def _bench(self, task: Task, baseline: Baseline, candidates: Sequence[Candidate]) -> "_Bench":
        isolated = task.id in self.isolated
        by = (task.key, self.surveyor.version(task.language), self.limit, baseline.key, isolated)
        return _Bench(task, baseline, isolated, by, {c.key: content_key(c.key, c.artifact, *by) for c in candidates})

    async def _judge(self, bench: "_Bench", candidates: Sequence[Candidate]) -> None:
        await self._verdicts(bench, candidates, [original(bench.task)])
        passed = [candidate for candidate in candidates if self._passed(candidate, bench)]
        subjects = bench.baseline.counted(bench.task)
        batches = [subjects[at : at + BATCH] for at in range(0, len(subjects), BATCH)]
        await ended(self._verdicts(bench, passed, batch) for batch in batches)

    async def _audit(self, bench: "_Bench") -> bool:
        """Repeats a share of what was just given. True if everything was said again."""
        sample = audit.draw(bench.given, bench.executions, self.audit_fraction)
        if not sample:
            return True
        asked = [(item, audit.repeated_cold(item)) for item in sample]
        cost = len(asked) * (0.1 + bench.task.test_seconds)
        done: list[audit.Repeated] = await self.pool().submit(Work(bench.task, audit.repeat, asked, cost, bench.baseline))
        self.audits.append([_audit_row(bench.task, repeated) for repeated in done])
        return all(repeated.agrees for repeated in done)

    async def _diagnose(self, bench: "_Bench", candidates: Sequence[Candidate]) -> None:
        """What candidates that hold on the original leave unsaid."""
        if self.diagnoses is None:
            return
        missing: dict[Submission, list[Candidate]] = {}
        for candidate in candidates:
            if bench.judged[candidate.key] not in self._diagnosed and isinstance(candidate.artifact, Clauses):
                missing.setdefault(Submission(candidate.artifact), []).append(candidate)
        if not missing:
            return
        cost = 0.1 + 2 * bench.task.test_seconds
        asked = Work(bench.task, diagnose, list(missing), cost, bench.baseline)
        found: list[Diagnosis | None] = await self.pool().submit(asked)
        rows = []
        for submission, diagnosis in zip(missing, found, strict=True):
            for candidate in missing[submission]:
                key = bench.judged[candidate.key]
                self._diagnosed.add(key)
                known = {"key": key, "task_id": bench.task.id, "candidate_id": candidate.key}
                unknown: dict[str, Any] = {"insensitive": None, "unused": None}
                rows.append({**known, **(asdict(diagnosis) if diagnosis else unknown)})
        self.diagnoses.append(rows)

    def _passed(self, candidate: Candidate, bench: "_Bench") -> bool:
        key, first = bench.judged[candidate.key], original(bench.task)
        return any(self._known.passed(verdict_key(key, first, view.part)) for view in candidate.views)

    async def _verdicts(self, bench: "_Bench", candidates: Sequence[Candidate], subjects: Sequence[Subject]) -> None:
        missing: dict[Submission, list[Candidate]] = {}
        for candidate in candidates:
            judged = bench.judged[candidate.key]
            keys = [verdict_key(judged, subject, view.part) for subject in subjects for view in candidate.views]
            if all(key in self._known for key in keys):
                continue
            if isinstance(candidate.artifact, Malformed):
                verdict = Verdict(Outcome.ERROR, candidate.artifact.reason, message=candidate.artifact.message)
                self._add(bench, [candidate], subjects, [(verdict,) * len(candidate.views)] * len(subjects))
            else:
                missing.setdefault(Submission(candidate.artifact, candidate.views), []).append(candidate)
        if not missing:
            return
        found = await self._found(bench, tuple(missing), subjects)
        for index, submission in enumerate(missing):
            self._add(bench, missing[submission], subjects, [of[index] for of in found])

    async def _found(self, bench: "_Bench", submissions: Sequence[Submission], subjects: Sequence[Subject]) -> Verdicts:
        """By the pool; what is remembered is not asked again."""
        if self.memory is None:
            return await self._asked(bench, submissions, subjects)
        judged = [content_key(submission, *bench.by) for submission in submissions]
        recalled = [[self.memory.recall(key, subject) for key in judged] for subject in subjects]
        new = [index for index in range(len(submissions)) if any(of[index] is None for of in recalled)]
        if new:
            given = await self._asked(bench, [submissions[index] for index in new], subjects)
            for subject, of, told in zip(subjects, recalled, given, strict=True):
                for index, verdicts in zip(new, told, strict=True):
                    of[index] = verdicts
                    self.memory.keep(judged[index], subject, verdicts)
        return [[verdicts or () for verdicts in of] for of in recalled]

    async def _asked(self, bench: "_Bench", submissions: Sequence[Submission], subjects: Sequence[Subject]) -> Verdicts:
        asked = Question(tuple(subjects), tuple(submissions), bench.isolated)
        cost = len(subjects) * (0.05 + bench.task.test_seconds)
        found: Verdicts = await self.pool().submit(Work(bench.task, check, asked, cost, bench.baseline))
        return found

    def _add(
        self,
        bench: "_Bench",
        candidates: Iterable[Candidate],
        subjects: Sequence[Subject],
        verdicts: Sequence[tuple[Verdict, ...]],
    ) -> None:
        rows = []
        for candidate in candidates:
            for subject, per_view in zip(subjects, verdicts, strict=True):
                statuses = tuple(verdict.status for verdict in per_view)
                for index, (view, verdict) in enumerate(zip(candidate.views, per_view, strict=True)):
                    key = verdict_key(bench.judged[candidate.key], subject, view.part)
                    if key in self._known:
                        continue
                    where = {"view": view.part.value, "status": statuses[index], "limit": self.limit.value}
                    rows.append(_row(key, bench.task, candidate, subject, verdict, isolated=bench.isolated, **where))
                    self._known.add(key, passes(rows[-1]))
                    if verdict.shared and isinstance(candidate.artifact, Clauses):
                        submission = Submission(candidate.artifact, candidate.views)
                        bench.given.append(audit.Given(key, candidate.key, subject, submission, index, verdict, statuses))
        self.shards.append(rows)
        self.added += len(rows)
        self.on_verdicts(len(rows))


def _row(
    key: str, task: Task, candidate: Candidate, subject: Subject, verdict: Verdict, **where: str | bool
) -> dict[str, Any]:
    return {
        "key": key,
        "task_id": task.id,
        "repository": task.repository,
        "language": task.language.value,
        "candidate_id": candidate.key,
        "model": candidate.model,
        "setting": candidate.setting.value,
        "sample": candidate.sample,
        "subject": subject.id,
        "kind": subject.kind.value,
        "outcome": int(verdict.outcome),
        "reason": verdict.reason.value,
        "surfaced": verdict.surfaced,
        "ending": verdict.ending.value if verdict.ending else None,
        "clause": verdict.clause,
        "message": verdict.message,
        "seconds": verdict.seconds,
        "shared": verdict.shared,
        "pairs": verdict.pairs,
        "pairs_killed": verdict.pairs_killed,
        "pairs_raised": verdict.pairs_raised,
        **where,
    }


def _audit_row(task: Task, repeated: audit.Repeated) -> dict[str, Any]:
    return {
        "key": content_key(repeated.item.key, repeated.how),
        "verdict": repeated.item.key,
        "task_id": task.id,
        "candidate_id": repeated.item.candidate,
        "subject": repeated.item.subject.id,
        "how": repeated.how,
        "expected": repeated.expected,
        "found": repeated.found,
        "agrees": repeated.agrees,
        "seconds": repeated.seconds,
    }
