"""Drawing: the candidates of a task in one setting, those that are stored and those that are still to be drawn.

A completion's key is the hash of task, setting, engine (model revision, chat template, sampling, context), whole prompt,
strategy, seed and sample. What is stored under it is never drawn again.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from construction import sample as construction
from ensures.candidate import CONTEXT, Artifact, Candidate, Malformed
from ensures.errors import InputError
from ensures.keys import content_key, seed_from
from ensures.task import Language, Program, Setting, Task
from ensures.verdict import Reason
from ensures.view import ALL, halves
from evaluation.rows import Shards
from evaluation.workspace import module_text
from inference.engine import Completion, Engine, Prompt
from inference.engines.replay import Replay
from inference.prompts import Ladder, PromptConfig
from inference.strategy import Assignment, Journal, Judge, Strategy, Tools
from jobs.progress import Display

TOO_LONG = "the prompt with the method alone exceeds the model's context"
SHARDS_OPEN = 8
LONG = 20_000  # characters of a file whose syntax tree takes long enough to let others go on meanwhile

Row = dict[str, Any]


class Drawing:
    """Owns the completion and prompt rows of a run. `drawn` counts what this invocation added."""

    def __init__(
        self,
        engine: Engine,
        strategy: Strategy,
        dialects: Mapping[Language, str],
        parse: Callable[[str, Language], Artifact],
        completions: Shards,
        prompts: Shards,
        *,
        k: int,
        seed: int,
        keyed: Any,
        prompt: PromptConfig,
        repositories: dict[str, str],
        display: Display,
        judge: Judge | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.judge, self.journal = judge, journal
        self.engine, self.strategy, self.dialects, self.parse = engine, strategy, dialects, parse
        self.completions, self.prompts = completions, prompts
        self.k, self.seed, self.keyed, self.prompt = k, seed, keyed, prompt
        self.repositories, self.display = repositories, display
        self.drawn = 0
        self.current: set[str] = set()  # keys of this run's completions: a folder may hold others, of an earlier prompt
        self._stored = Stored(completions)
        self._task_keys: dict[str, str] = {}  # they hash all mutants, and each task asks once a setting
        self._prompts = set(prompts.column("key"))
        self._kept: Prompt | None = None

    async def draw(self, task: Task, setting: Setting) -> list[Row]:
        """The rows of all k, in the order of samples. Raises EngineFailed, WorkerLost, PreparationFailed, InputError,
        Stopped; what was drawn until then is stored."""
        work, rows = await self._assignment(task, setting)
        self.display.done("completions", len(rows))
        if work.samples:
            own = (partial(self._record, rows), self.judge, self.journal)
            tools = Tools(self.engine, lambda text: self.parse(text, task.language), *own)
            await self.strategy.infer(work, tools)
        return self._mine(rows)

    async def stored(self, task: Task, setting: Setting) -> list[Row] | None:
        """The rows of all k where all are stored, without an engine; otherwise None."""
        work, rows = await self._assignment(task, setting)
        return None if work.samples else self._mine(rows)

    def _mine(self, rows: list[Row]) -> list[Row]:
        self.current.update(row["key"] for row in rows)
        return sorted(rows, key=lambda row: int(row["sample"]))

    def candidate(self, task: Task, row: Row) -> Candidate:
        """What the dialect makes of a row."""
        views = halves(str(row["seed"])) if row["halved"] else (ALL,)
        too_long = row["finish_reason"] == CONTEXT
        artifact = Malformed(Reason.UNSUPPORTED, TOO_LONG) if too_long else self.parse(row["text"], task.language)
        setting = Setting(row["setting"])
        return Candidate(row["key"], row["task_id"], row["model"], setting, row["sample"], row["text"], artifact, views)

    async def _assignment(self, task: Task, setting: Setting) -> tuple[Assignment, list[Row]]:
        """What is to be drawn, and the rows of what is stored."""
        prompts: Sequence[Prompt] = ()
        if self.engine.setting is None:
            prompts = await self._ladder(task, setting)
        whole = prompts[0].hash if prompts else None
        if task.id not in self._task_keys:
            self._task_keys[task.id] = task.key
        request = content_key(self._task_keys[task.id], setting, self.engine.identity, whole, self.keyed, self.seed)
        keys = [content_key(request, sample) for sample in range(self.k)]
        missing = [sample for sample, key in enumerate(keys) if key not in self._stored]
        each = getattr(self.keyed, "mu", 1)  # draws that one answer may take
        if missing and isinstance(self.engine, Replay) and self.engine.samples(task, setting) < self.k * each:
            wanted = f"k={self.k}" if each == 1 else f"k={self.k} times strategy.mu={each}"
            raise InputError(
                f"the recorded completions hold {self.engine.samples(task, setting)} samples of {task.id} in "
                f"{setting.value}, {wanted} are wanted; set k"
            )
        return Assignment(task, setting, missing, seed_from(request), request, prompts), self._stored.rows(keys)

    async def _ladder(self, task: Task, setting: Setting) -> Ladder:
        module = task.implementation
        if not isinstance(task.source, Program):
            workspace = await asyncio.to_thread(construction.workspace, task, self.repositories)
            module = module_text(workspace, task)
        prompt = replace(self.prompt, template=self.strategy.template or self.prompt.template)
        ladder = Ladder(task, setting, module, prompt, self.dialects[task.language])
        if len(module) > LONG:
            await asyncio.to_thread(partial(ladder.__getitem__, 0))
        return ladder

    def _record(self, rows: list[Row], work: Assignment, completion: Completion) -> None:
        """Stores a completion, and the prompt that it answers, before anything else happens to it."""
        prompt = completion.prompt or (work.prompts[0] if work.prompts else None)
        if prompt is not None:
            self._keep(work, prompt)
        key = content_key(work.key, completion.sample)
        row = {
            "key": key,
            "task_id": work.task.id,
            "model": self.engine.name,
            "setting": work.setting.value,
            "sample": completion.sample,
            "seed": work.seed + completion.sample,
            "prompt_hash": prompt.hash if prompt else None,
            "rendered_hash": completion.rendered or None,
            "left_out": len(prompt.left_out) if prompt else 0,
            "text": completion.text,
            "thinking": completion.thinking,
            "finish_reason": completion.finish_reason,
            "prompt_tokens": completion.prompt_tokens,
            "cached_tokens": completion.cached_tokens,
            "completion_tokens": completion.completion_tokens,
            "thinking_tokens": completion.thinking_tokens,
            "cost": completion.cost,
            "halved": completion.halved,
            "seconds": completion.seconds,
            "origin": _as_json(tuple(sorted(self.engine.origin.items()))),
        }
        self.completions.append([row])
        rows.append(row)
        self.drawn += 1
        self.display.done("completions")

    def _keep(self, work: Assignment, prompt: Prompt) -> None:
        if prompt is self._kept:  # the samples of one request come one after the other
            return
        self._kept = prompt
        key = content_key(prompt.hash, work.task.id, work.setting)
        if key not in self._prompts:
            self._prompts.add(key)
            named = {"key": key, "task_id": work.task.id, "setting": work.setting.value, "hash": prompt.hash}
            self.prompts.append([{**named, "text": prompt.text, "left_out": list(prompt.left_out)}])


@lru_cache(maxsize=8)
def _as_json(origin: tuple[tuple[str, str], ...]) -> str:
    return json.dumps(dict(origin))


class Stored:
    """Completions of earlier invocations, by key. Keys are held in memory, texts are not."""

    def __init__(self, shards: Shards) -> None:
        self._schema = shards.schema
        self._place: dict[str, Path] = {}
        self._open: OrderedDict[Path, pa.Table] = OrderedDict()
        for path, keys in shards.columns("key"):
            for key in keys:
                self._place.setdefault(key, path)

    def __contains__(self, key: str) -> bool:
        return key in self._place

    def rows(self, keys: Sequence[str]) -> list[Row]:
        """The rows of those keys that are there."""
        found = []
        places = {key: self._place[key] for key in keys if key in self._place}
        for path in dict.fromkeys(places.values()):
            wanted = pa.array([key for key, place in places.items() if place == path])
            table = self._table(path)
            found += table.filter(pc.is_in(table["key"], value_set=wanted)).to_pylist()
        return list({row["key"]: row for row in found}.values())

    def _table(self, path: Path) -> pa.Table:
        if path not in self._open:
            self._open[path] = pq.read_table(path, schema=self._schema)
            if len(self._open) > SHARDS_OPEN:
                self._open.popitem(last=False)
        self._open.move_to_end(path)
        return self._open[path]
