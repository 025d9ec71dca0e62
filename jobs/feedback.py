"""The judge and the journal as strategies see them: verdicts as feedback, turns as rows."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from ensures.candidate import Artifact, Candidate, Clauses
from ensures.errors import PreparationFailed
from ensures.keys import content_key
from ensures.subject import original
from ensures.task import Task, halves
from ensures.verdict import Outcome, Reason, Verdict, published_outcome
from evaluation.gather import Gather
from evaluation.judge import Judge
from evaluation.rows import Shards
from inference.strategy import Assignment, Feedback, Turn
from jobs.drawing import Stored

MESSAGE = 2000  # characters of a failure that a model is shown
ASKED = "feedback"  # in the place of the model's name in rows of feedback: they score nobody

Answer = dict[str, Verdict]
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


class JudgeFeedback:
    """Feedback by a judge with rows of its own, by a rule (strict or paper). `tasks`: what of each task it may use."""

    def __init__(self, judge: Judge, tasks: Callable[[Task], Task], rule: str) -> None:
        self.judge, self.tasks, self.rule = judge, tasks, rule
        self._asking: Gather[tuple[str, bool], Candidate, Answer] = Gather(self._ask)
        self._used: dict[str, Task] = {}

    async def correctness(self, work: Assignment, artifact: Artifact) -> Feedback:
        first = (await self._asked(work, artifact, on_mutants=False))[original(work.task).id]
        return Feedback(self._outcome(first) is Outcome.HOLDS, _said(first))

    async def completeness(self, work: Assignment, artifact: Artifact) -> Feedback:
        feedback = await self.correctness(work, artifact)
        if not feedback.correct:
            return feedback
        found = await self._asked(work, artifact, on_mutants=True)
        caught = tuple(name for name, verdict in found.items() if self._outcome(verdict) is Outcome.VIOLATED)
        pairs = sum(verdict.pairs or 0 for verdict in found.values())
        killed = sum(verdict.pairs_killed or 0 for verdict in found.values())
        if self.rule == "paper":
            killed += sum(verdict.pairs_raised or 0 for verdict in found.values())
        return Feedback(True, "", caught, tuple(name for name in found if name not in caught), pairs, killed)

    def _outcome(self, verdict: Verdict) -> Outcome:
        return verdict.outcome if self.rule == "strict" else published_outcome(verdict.status)

    def mutant(self, work: Assignment, name: str) -> str:
        return next(mutant.implementation for mutant in work.task.mutants if mutant.id == name)

    async def _asked(self, work: Assignment, artifact: Artifact, on_mutants: bool) -> Answer:
        assert isinstance(artifact, Clauses)
        task = work.task
        if task.id not in self._used:
            self._used[task.id] = self.tasks(task)
        key = content_key(ASKED, work.key, artifact)
        candidate = Candidate(key, task.id, ASKED, work.setting, 0, artifact.text, artifact)
        return await self._asking((task.id, on_mutants), candidate)

    async def _ask(self, kind: tuple[str, bool], candidates: Sequence[Candidate]) -> list[Answer]:
        name, on_mutants = kind
        return await self.judge.verdicts(self._used[name], candidates, on_mutants)


def _said(verdict: Verdict) -> str:
    """What failed, for a model to read: the end of a long message says the most."""
    if verdict.outcome is Outcome.HOLDS:
        return ""
    text = verdict.message or verdict.reason.value.replace("_", " ")
    if verdict.reason is Reason.TIMEOUT:
        text = "timeout"
    text = _ADDRESS.sub("0x...", text)  # they would make every run's prompts its own
    return text if len(text) <= MESSAGE else "..." + text[-MESSAGE:]


_COLUMNS = tuple(field.name for field in fields(Turn))


class TurnRows:
    """The journal of a run, in Parquet. Texts are read when a conversation goes on, and not held."""

    def __init__(self, shards: Shards, model: str) -> None:
        self.shards, self.model = shards, model
        self._stored = Stored(shards)

    def turns(self, work: Assignment, sample: int) -> list[Turn]:
        keys: list[str] = []
        while (key := content_key(work.key, sample, len(keys) + 1)) in self._stored:
            keys.append(key)
        rows = {row["key"]: row for row in self._stored.rows(keys)} if keys else {}
        return [_turn(rows[key]) for key in keys]

    def add(self, work: Assignment, sample: int, turn: Turn) -> None:
        head: dict[str, Any] = {
            "key": content_key(work.key, sample, turn.number),
            "request": work.key,
            "task_id": work.task.id,
        }
        head |= {"model": self.model, "setting": work.setting.value, "sample": sample}
        self.shards.append([{**head, **asdict(turn), "caught": list(turn.caught), "left_out": list(turn.left_out)}])


def _turn(row: Mapping[str, Any]) -> Turn:
    given = {name: row[name] for name in _COLUMNS}
    return Turn(**{**given, "caught": tuple(given["caught"] or ()), "left_out": tuple(given["left_out"] or ())})


def half(task: Task, which: int) -> Task:
    """0: what gives feedback, 1: what scores. Raises PreparationFailed where a task is too small to be split."""
    try:
        return halves(task, "feedback")[which]
    except ValueError as error:
        raise PreparationFailed(f"{task.id}: strategy.feedback_split: {error}") from error
