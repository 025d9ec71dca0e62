"""The flow of a run: one coroutine a task, generation and evaluation side by side.

Tasks are begun in order, as many as keep the engine at work; a task whose candidates are all there goes to the judge at
once, all settings together. When the last completion is in, the engine gives its GPUs back while verdicts go on.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from benchmark import evalplus, fixeval, postcondbench, sample, schema
from benchmark import folder as folder_source
from benchmark.evalplus import EvalPlusConfig
from benchmark.fixeval import FixEvalConfig
from benchmark.folder import FolderConfig
from benchmark.source import select
from construction import sample as construction
from ensures.errors import EngineFailed, InputError, PreparationFailed, Stopped, WorkerLost
from ensures.task import Setting, Task
from evaluation.judge import Judge, Memory, Unresolved
from evaluation.pool import ended
from evaluation.rows import Shards
from inference.engine import Engine
from jobs.config import RunConfig
from jobs.drawing import Drawing, Row
from jobs.feedback import JudgeFeedback, TurnRows, half
from jobs.parts import Parts
from jobs.progress import Display
from jobs.run_folder import TASKS, RunFolder

T = TypeVar("T")
PATIENCE = 2.0  # seconds
OPEN = 512  # tasks that are drawn and not yet judged: beyond it, drawing waits for the judge


class Pipeline:
    """One run's work. `generate`, `evaluate` and `both` do it; afterwards the fields say what was done."""

    def __init__(self, config: RunConfig, folder: RunFolder, display: Display) -> None:
        self.config, self.folder, self.display = config, folder, display
        self.unresolved: list[Unresolved] = []
        self.tasks: tuple[Task, ...] = ()
        self.scored: tuple[Task, ...] = ()  # with the tests and mutants that score
        self.parts = Parts(config, folder, display)
        self.warnings = self.parts.warnings
        self.engine = self.parts.engine
        strategy = self.parts.strategy()
        if strategy.name == "random_sampling" and greedy(self.engine):
            self.warnings.append("strategy=random_sampling at temperature 0 draws the same text again and again")
        # feedback and score, or a set and its only clause, are the same question
        memory = Memory() if strategy.judges or config.evaluation.clauses else None

        def judge(rows: Shards, what: str, diagnoses: Shards | None = None, audited: float = 0.0) -> Judge:
            parts = (self.parts.pool, self.parts.surveyor, rows, folder.audits, diagnoses, config.evaluation.limit, audited)
            return Judge(*parts, lambda added: display.done(what, added), memory)

        self.judge = judge(folder.verdicts, "verdicts", folder.diagnoses, config.evaluation.audit_fraction)
        self.clauses = judge(folder.clauses, "verdicts on clauses") if config.evaluation.clauses else None
        feedback: JudgeFeedback | None = None
        if strategy.judges:
            asked = judge(folder.feedback, "verdicts as feedback")
            feedback = JudgeFeedback(asked, lambda task: half(task, 0) if self.split else task, strategy.rule)
        self.drawing = Drawing(
            self.engine,
            strategy,
            {language: checker.name for language, checker in self.parts.checkers.items()},
            self.parts.parse,
            folder.completions,
            folder.prompts,
            k=config.k,
            seed=config.seed,
            keyed=config.strategy,
            prompt=config.prompt,
            repositories=dict(config.dataset.repositories),
            display=display,
            judge=feedback,
            journal=TurnRows(folder.turns, self.engine.name) if strategy.judges else None,
        )
        self._room = asyncio.Event()
        self._drawing = 0  # samples being drawn
        self._judging = 0  # tasks
        self._stopped = False
        self.begun = False  # until then there is nothing in flight that could be finished

    async def both(self) -> None:
        """Draws what is missing and judges it."""
        self.parts.judging = True
        await self._begin()
        await self._drawn(self._judged)

    async def generate(self) -> None:
        """Draws what is missing; nothing is judged."""
        await self._begin()
        await self._drawn(self._left)

    async def evaluate(self) -> None:
        """Judges what is stored; nothing is drawn, and what is missing stays unresolved."""
        await self._begin()

        async def one(task: Task) -> None:
            found: list[Row] = []
            for setting in self._settings(task):
                stored = await self.drawing.stored(task, setting)
                if stored is None:
                    self._lost(task, setting, "completions are missing; python -m jobs.generate draws them")
                found += stored or []
            with self._open():
                await self._judged(task, found)

        await self._each(one)

    def stop(self) -> None:
        """What is in flight is finished and written; nothing new is begun."""
        self._stopped = True
        self._room.set()
        self.parts.stop()

    async def close(self) -> None:
        await self.parts.close()

    # Work

    async def _begin(self) -> None:
        self.folder.begun()
        await self.parts.join()
        self.tasks = await self._read()
        self.scored = tuple(self._scored(task) for task in self.tasks)
        self.begun = True
        self.folder.manifest(
            seed=self.config.seed,
            sandbox=self.parts.sandbox.kind,
            checkers={language.value: checker.version for language, checker in self.parts.checkers.items()},
            tasks=len(self.tasks),
            model=self.engine.name,
        )
        self.published()
        self.display.expect("tasks", len(self.tasks))

    @property
    def split(self) -> bool:
        """Do feedback and score come from disjoint tests and mutants?"""
        return bool(getattr(self.config.strategy, "feedback_split", False))

    def _scored(self, task: Task) -> Task:
        """A task that is too small to be split stays whole: its feedback can't be had, and it is unresolved."""
        try:
            return half(task, 1) if self.split else task
        except PreparationFailed:
            return task

    def published(self) -> list[Task]:
        """The tasks as they are scored here, without the mutants that a baseline leaves out; into the run folder."""
        known = {task.id: self.parts.surveyor.known(task) for task in self.scored}
        tasks = [found.applied(task) if (found := known[task.id]) else task for task in self.scored]
        if not self.config.part:
            schema.write(tasks, self.folder.path / TASKS)
        return tasks

    async def _drawn(self, then: Callable[[Task, list[Row]], Awaitable[None]]) -> None:
        """Draws every task's candidates, then hands them on."""
        self.display.expect("completions", sum(self.config.k * len(self._settings(task)) for task in self.tasks))
        left = len(self.tasks)

        async def one(task: Task) -> None:
            nonlocal left
            try:
                found = await ended(self._draw(task, setting) for setting in self._settings(task))
            finally:
                left -= 1
                if not left:
                    await self.engine.close()
            with self._open():
                await then(task, [row for rows in found for row in rows])

        await self._each(one)

    async def _each(self, one: Callable[[Task], Awaitable[None]]) -> None:
        """Begins tasks in order, as there is room. A fault ends the others at once; a wish to stop lets them finish what
        they are at."""

        async def unless_stopped(task: Task) -> None:
            try:
                await one(task)
            except Stopped:
                self._stopped = True
                self._room.set()

        keeper = asyncio.ensure_future(self._keep())
        try:
            async with asyncio.TaskGroup() as group:
                for task in self.tasks:
                    while not self._stopped and (self._drawing >= self.engine.capacity or self._judging >= OPEN):
                        self._room.clear()
                        await self._room.wait()
                    if self._stopped:
                        break
                    group.create_task(unless_stopped(task))
                    for _ in range(2):  # it begins, and its settings do, and count
                        await asyncio.sleep(0)
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            keeper.cancel()
            self.folder.flush()
            self.unresolved += self.judge.unresolved + (self.clauses.unresolved if self.clauses else [])
        if self._stopped:
            raise Stopped()

    async def _keep(self) -> None:
        """Rows that wait in memory go to disk also while nothing new comes."""
        while True:
            await asyncio.sleep(PATIENCE)
            self.folder.flush()

    @contextlib.contextmanager
    def _open(self) -> Iterator[None]:
        """A task that is drawn and not yet judged."""
        self._judging += 1
        try:
            yield
        finally:
            self._judging -= 1
            self._room.set()

    async def _draw(self, task: Task, setting: Setting) -> list[Row]:
        """Nothing where it can't be done: it is unresolved then."""
        if self._stopped:
            raise Stopped()
        self._drawing += self.config.k
        try:
            return await self.drawing.draw(task, setting)
        except (EngineFailed, WorkerLost, PreparationFailed) as error:
            self._lost(task, setting, str(error))
            return []
        finally:
            self._drawing -= self.config.k
            self._room.set()

    async def _judged(self, task: Task, rows: list[Row]) -> None:
        if rows:
            if self._stopped:
                raise Stopped()
            candidates = [self.drawing.candidate(task, row) for row in rows]
            task = self._scored(task)
            await self.judge.judge(task, candidates)
            if self.clauses is not None:
                await self.clauses.judge(
                    task, [one for whole in candidates for one in self.parts.clauses(whole, task.language)]
                )
        self.display.done("tasks")

    async def _left(self, task: Task, rows: list[Row]) -> None:
        self.display.done("tasks")

    def _settings(self, task: Task) -> list[Setting]:
        settings = [self.engine.setting] if self.engine.setting else [Setting(name) for name in self.config.settings]
        return [setting for setting in settings if self.engine.covers(task, setting)]

    def _lost(self, task: Task, setting: Setting, reason: str) -> None:
        self.unresolved.append(Unresolved(task.id, self.engine.name, setting.value, reason))

    def _own(self, chosen: Sequence[T]) -> tuple[T, ...]:
        """Of `part`: every n-th, so that each part has long and short ones."""
        number, _, count = self.config.part.partition("/")
        return tuple(chosen[int(number) - 1 :: int(count)]) if count else tuple(chosen)

    async def _read(self) -> tuple[Task, ...]:
        dataset = self.config.dataset
        if isinstance(dataset, sample.SampleConfig):
            chosen = self._own(select(sample.entries(dataset), dataset, dataset.kind))
            self.display.expect("prepared", len(chosen))
            self.display.say(f"preparing {len(chosen)} methods of {len({e.source.name for e in chosen})} packages")
            lost: dict[str, str] = {}
            built = await construction.build(
                chosen,
                dataset.mutants,
                lambda language: self.parts.checkers[language].version,
                self.parts.pool,
                self.parts.surveyor.keep,
                lambda _: self.display.done("prepared"),
                lost.__setitem__,
            )
            if chosen and not built:
                raise InputError(f"dataset={dataset.kind}: no method can be prepared here: {next(iter(lost.values()))}")
            self.unresolved += [Unresolved(name, self.engine.name, "all settings", why) for name, why in lost.items()]
            return tuple(built)
        if isinstance(dataset, EvalPlusConfig):
            found = evalplus.load(dataset, construction.program_mutants)
        elif isinstance(dataset, FixEvalConfig):
            found = fixeval.load(dataset)
        else:
            found = folder_source.load(dataset) if isinstance(dataset, FolderConfig) else postcondbench.load(dataset)
        if found.skipped:
            self.warnings += [f"left out: {line}" for line in found.skipped]
        tasks = self._own(select(found.tasks, dataset, dataset.kind))
        foreign = [task for task in tasks if task.language not in self.parts.checkers]
        if foreign:
            language, able = foreign[0].language.value, ", ".join(sorted(self.parts.checkers))
            raise InputError(
                f"{foreign[0].id} is a {language} task and checker={self.config.checker.name} judges {able}; choose with "
                "dataset.tasks=GLOB" + (f" or dataset.language={able}" if dataset.kind == "postcondbench" else "")
            )
        return tasks


def greedy(engine: Engine) -> bool:
    """Does the engine, by its own words, always take the likeliest token?"""
    sampling = json.loads(engine.origin.get("sampling", "{}"))
    return sampling.get("temperature") == 0
