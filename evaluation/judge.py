"""The judge: candidates and subjects in, verdicts out. What is known is not asked again; equal candidates are judged once.

The original comes first: mutants are run only for candidates that hold on it (under either rule), as in the published runs.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ensures.candidate import Candidate, Malformed
from ensures.errors import PreparationFailed, WorkerLost
from ensures.keys import content_key
from ensures.subject import Subject, mutants, original
from ensures.task import Task
from ensures.verdict import Outcome, Verdict, published_status
from evaluation.checker import Session, Submission
from evaluation.known import Known, passes
from evaluation.pool import Pool
from evaluation.rows import Shards
from evaluation.station import Work

BATCH = 8  # subjects to a unit of work: small enough that little is lost with a worker


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Work that no verdict came of, through no fault of a candidate."""

    task: str
    model: str
    setting: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a station says of one unit: verdicts for each subject, submission and view; tests that were left out."""

    verdicts: list[list[tuple[Verdict, ...]]]
    excluded: tuple[str, ...] = ()


def check(session: Session, task: Task, payload: Any) -> Answer:
    """At a station."""
    subjects, submissions = payload
    return Answer([session.check(subject, submissions) for subject in subjects], session.excluded)


def verdict_key(judged: str, subject: Subject, part: str) -> str:
    """`judged` is the candidate's own key here (`_judged`); a subject's id names its content, within the task's key."""
    return hashlib.sha256(f"{judged}:{subject.id}:{part}".encode()).hexdigest()[:32]


class Judge:
    """Owns the verdict rows of a run. `on_verdicts` hears how many rows were added."""

    def __init__(
        self,
        pool: Callable[[], Pool],
        shards: Shards,
        version: str,
        on_verdicts: Callable[[int], None] = lambda added: None,
    ) -> None:
        self.pool, self.shards, self.version, self.on_verdicts = pool, shards, version, on_verdicts
        self.added = 0
        self.unresolved: list[Unresolved] = []
        self.excluded: dict[str, tuple[str, ...]] = {}  # task -> covering tests that do not pass on the original here
        self._known = Known(shards)

    async def judge(self, task: Task, candidates: Sequence[Candidate]) -> None:
        """All verdicts of the candidates on the task's subjects, into the rows."""
        task_key = task.key
        judged = {c.key: content_key(c.key, c.artifact, task_key, self.version) for c in candidates}
        try:
            await self._verdicts(task, judged, candidates, [original(task)])
            passed = [candidate for candidate in candidates if self._passed(candidate, judged[candidate.key], task)]
            subjects = list(mutants(task))
            batches = [subjects[at : at + BATCH] for at in range(0, len(subjects), BATCH)]
            await asyncio.gather(*(self._verdicts(task, judged, passed, batch) for batch in batches))
        except (WorkerLost, PreparationFailed) as error:
            for model, setting in dict.fromkeys((c.model, c.setting.value) for c in candidates):
                self.unresolved.append(Unresolved(task.id, model, setting, str(error)))

    def _passed(self, candidate: Candidate, judged: str, task: Task) -> bool:
        return any(self._known.passed(verdict_key(judged, original(task), view.part)) for view in candidate.views)

    async def _verdicts(
        self, task: Task, judged: dict[str, str], candidates: Sequence[Candidate], subjects: Sequence[Subject]
    ) -> None:
        missing: dict[Submission, list[Candidate]] = {}
        for candidate in candidates:
            keys = [verdict_key(judged[candidate.key], subject, view.part) for subject in subjects for view in candidate.views]
            if all(key in self._known for key in keys):
                continue
            if isinstance(candidate.artifact, Malformed):
                verdict = Verdict(Outcome.ERROR, candidate.artifact.reason, message=candidate.artifact.message)
                self._add(task, judged, [candidate], subjects, [(verdict,) * len(candidate.views)] * len(subjects))
            else:
                missing.setdefault(Submission(candidate.artifact, candidate.views), []).append(candidate)
        if not missing:
            return
        submissions = list(missing)
        cost = len(subjects) * (0.05 + task.test_seconds)
        answer: Answer = await self.pool().submit(Work(task, check, (list(subjects), submissions), cost))
        if answer.excluded:
            self.excluded[task.id] = answer.excluded
        for index, submission in enumerate(submissions):
            self._add(task, judged, missing[submission], subjects, [of[index] for of in answer.verdicts])

    def _add(
        self,
        task: Task,
        judged: dict[str, str],
        candidates: Iterable[Candidate],
        subjects: Sequence[Subject],
        verdicts: Sequence[tuple[Verdict, ...]],
    ) -> None:
        rows = []
        for candidate in candidates:
            for subject, per_view in zip(subjects, verdicts, strict=True):
                for view, verdict in zip(candidate.views, per_view, strict=True):
                    key = verdict_key(judged[candidate.key], subject, view.part)
                    if key not in self._known:
                        rows.append(_row(key, task, candidate, subject, view.part.value, verdict))
                        self._known.add(key, passes(rows[-1]))
        self.shards.append(rows)
        self.added += len(rows)
        self.on_verdicts(len(rows))


def _row(key: str, task: Task, candidate: Candidate, subject: Subject, part: str, verdict: Verdict) -> dict[str, Any]:
    ending = verdict.ending.value if verdict.ending else None
    return {
        "key": key,
        "task_id": task.id,
        "repository": task.repository,
        "language": task.language.value,
        "candidate_id": candidate.key,
        "model": candidate.model,
        "setting": candidate.setting.value,
        "sample": candidate.sample,
        "view": part,
        "subject": subject.id,
        "kind": subject.kind.value,
        "outcome": int(verdict.outcome),
        "reason": verdict.reason.value,
        "surfaced": verdict.surfaced,
        "status": published_status(verdict.reason, ending, verdict.surfaced, verdict.message),
        "ending": ending,
        "clause": verdict.clause,
        "message": verdict.message,
        "seconds": verdict.seconds,
    }
