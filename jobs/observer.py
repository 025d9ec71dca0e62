"""Executions for engines that learn from them: the observer protocol of `inference.engine`, served by the pool."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ensures.candidate import Clauses
from ensures.task import Task
from evaluation.baseline import Baseline
from evaluation.checker import Submission
from evaluation.pool import Pool
from evaluation.station import Work
from inference.engine import Call

TRUTHS_AT_ONCE = 400  # clause sets to an execution


def describe(session: Any, task: Task, payload: None) -> list[dict[str, Any]]:
    """At a station."""
    return session.describe()


def truths(session: Any, task: Task, payload: list[Submission]) -> list[tuple[str, int, str | None]]:
    """At a station: the columns of all clause sets, side by side for each call."""
    rows: dict[tuple[str, int], list[str | None]] = {}
    for at in range(0, len(payload), TRUTHS_AT_ONCE):
        for test, number, text in session.truths(payload[at : at + TRUTHS_AT_ONCE]):
            rows.setdefault((test, number), []).append(text)
    whole = -(-len(payload) // TRUTHS_AT_ONCE)
    return [
        (test, number, None if None in parts or len(parts) < whole else "".join(map(str, parts)))
        for (test, number), parts in rows.items()
    ]


class PoolObserver:
    def __init__(self, pool: Callable[[], Pool], baseline: Callable[[Task], Awaitable[Baseline]]) -> None:
        self._pool, self._baseline = pool, baseline

    async def calls(self, task: Task) -> list[Call]:
        baseline = await self._baseline(task)
        events = await self._pool().submit(Work(task, describe, None, 1.0 + task.test_seconds, baseline))
        return [
            Call(event["test"], event["n"], event["pre"], event["post"], event["result"], tuple(event["same"]))
            for event in events
        ]

    async def truths(self, task: Task, clauses: Sequence[Clauses]) -> list[tuple[str, int, str | None]]:
        submissions = [Submission(item) for item in clauses]
        baseline = await self._baseline(task)
        return await self._pool().submit(Work(task, truths, submissions, 1.0 + task.test_seconds, baseline))
