"""The surveyor: every task's baseline, read from the run folder or found by the pool, each once."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from ensures.keys import content_key
from ensures.task import Language, Task
from evaluation.baseline import Baseline, from_record
from evaluation.pool import Pool
from evaluation.rows import Shards
from evaluation.station import Work


def survey(session: Any, task: Task, payload: None) -> Baseline:
    """At a station."""
    return session.survey(task)


class Surveyor:
    """Owns the baselines of a run. `version`: of the checker of a task's language."""

    def __init__(self, pool: Callable[[], Pool], shards: Shards, version: Callable[[Language], str]) -> None:
        self.pool, self.shards, self.version = pool, shards, version
        self._known = {row["key"]: from_record(json.loads(row["text"])) for row in shards.rows(["text"])}
        self._asked: dict[str, asyncio.Future[Baseline]] = {}

    async def of(self, task: Task) -> Baseline:
        """Raises PreparationFailed and WorkerLost."""
        found = self.known(task)
        if found is not None:
            return found
        key = content_key(task.key, self.version(task.language))
        if key not in self._asked:
            self._asked[key] = asyncio.ensure_future(self._find(task))
        return await asyncio.shield(self._asked[key])

    def known(self, task: Task) -> Baseline | None:
        return self._known.get(content_key(task.key, self.version(task.language)))

    async def _find(self, task: Task) -> Baseline:
        cost = (len(task.mutants) + 3) * (0.05 + task.test_seconds)
        found: Baseline = await self.pool().submit(Work(task, survey, None, cost))
        self.keep(task, found)
        return found

    def keep(self, task: Task, found: Baseline) -> None:
        key = content_key(task.key, self.version(task.language))
        if key not in self._known:
            self._known[key] = found
            self.shards.append([{"key": key, "task_id": task.id, "text": json.dumps(found.record())}])
