"""Wires a run: engine, strategy, judge and rows, one coroutine a task; then metrics, tables, report, tracker."""

import asyncio
import contextlib
import os
import sys
from functools import partial
from typing import Any

from analysis import report, tables
from analysis.candidates import emptiness, summaries
from benchmark import evalplus, postcondbench, sample
from benchmark import folder as folder_source
from benchmark.evalplus import EvalPlusConfig
from benchmark.folder import FolderConfig
from benchmark.source import select
from construction import sample as construction
from containers.choose import choose
from containers.sandbox import Limits, Sandbox
from ensures.candidate import Artifact, Candidate
from ensures.errors import EnsuresError, InputError, PreparationFailed, TrackerFailed, WorkerLost
from ensures.keys import content_key, seed_from
from ensures.subject import mutants
from ensures.task import Language, Program, Setting, Task
from ensures.view import ALL, halves
from evaluation import audit, metrics
from evaluation.asserts.session import AssertChecker, AssertConfig
from evaluation.baseline import Baseline
from evaluation.checker import Checker
from evaluation.judge import Judge, Unresolved
from evaluation.pool import LocalSlot, Pool, Slot
from evaluation.python.session import IcontractChecker, IcontractConfig
from evaluation.station import Station
from evaluation.surveyor import Surveyor
from evaluation.workspace import module_text
from inference import prompts
from inference.dialects import asserts, icontract
from inference.engine import Completion, Engine
from inference.engines.invariants import Invariants
from inference.engines.reference import Reference
from inference.engines.replay import Replay
from inference.strategies.single_pass import SinglePass
from inference.strategy import Assignment, Tools
from jobs.config import AutoCheckerConfig, RunConfig, plain
from jobs.observer import PoolObserver
from jobs.progress import Display
from jobs.ray_cluster import RayCluster, RaySlot
from jobs.run_folder import RunFolder
from jobs.tracker import NoTracker, Tracker, WandbTracker

TASKS_AT_ONCE = 64


class Pipeline:
    """One run's parts. `run` does the work, `conclude` shows the result."""

    def __init__(self, config: RunConfig, folder: RunFolder, display: Display) -> None:
        self.config, self.folder, self.display = config, folder, display
        self.warnings: list[str] = []
        self.unresolved: list[Unresolved] = []
        self.drawn = 0  # completions of this invocation
        self.added = 0  # verdicts of this invocation
        self._pool: Pool | None = None
        self._cluster: RayCluster | None = None
        self._tracker: Tracker = NoTracker()
        self.engine = self._engine()
        self.sandbox = self._sandbox()
        self.checker = self._checker()
        self.surveyor = Surveyor(self.pool, folder.baselines, self.checker.version)
        self.judge = Judge(
            self.pool,
            self.surveyor,
            folder.verdicts,
            folder.audits,
            folder.diagnoses,
            config.evaluation.limit,
            config.evaluation.audit_fraction,
            self._on_verdicts,
        )

    # Parts

    def _engine(self) -> Engine:
        kind = self.config.model.engine
        if kind == "invariants":
            return Invariants(self.config.model, PoolObserver(self.pool, lambda task: self.surveyor.of(task)))
        if kind == "reference":
            return Reference(self.config.model)
        return Replay(self.config.model)

    def _sandbox(self) -> Sandbox:
        sandbox, warnings = choose(self.config.sandbox.kind, hostile=self.engine.hostile)
        for warning in warnings:
            self.display.say(f"warning: {warning}")
        self.warnings += warnings
        return sandbox

    def _checker(self) -> Checker:
        chosen, evaluation = self.config.checker, self.config.evaluation
        if isinstance(chosen, AutoCheckerConfig):
            chosen = AssertConfig() if isinstance(self.config.dataset, EvalPlusConfig) else IcontractConfig()
        limits = Limits(memory_mb=chosen.memory_mb, file_mb=chosen.file_mb, processes=chosen.processes)
        if isinstance(chosen, AssertConfig):
            own = (chosen.per_input, chosen.most_slow, tuple(chosen.imports))
            return AssertChecker(self.sandbox, limits, evaluation.timeout, *own)
        return IcontractChecker(self.sandbox, limits, evaluation.timeout, evaluation.limit)

    def _parse(self, text: str) -> Artifact:
        """By the checker's dialect."""
        return asserts.parse(text) if self.checker.name == "assert" else icontract.parse(text, self.config.parsing)

    def pool(self) -> Pool:
        """Started when something has to be executed, and not before."""
        if self._pool is None:
            make = partial(_station, self.checker, dict(self.config.dataset.repositories))
            slots: list[Slot]
            if self.config.cluster.kind == "none":
                slots = [LocalSlot(make())]
            else:
                workers = self.config.evaluation.workers or os.cpu_count() or 1
                self.display.say(f"starting Ray with {workers} evaluation workers, sandbox {self.sandbox.kind}")
                self._cluster = RayCluster(workers)
                self._cluster.start()
                slots = [RaySlot(make) for _ in range(workers)]
            self._pool = Pool(slots)
        return self._pool

    # Work

    async def run(self) -> None:
        self.tasks = await self._tasks()
        self.folder.manifest(
            seed=self.config.seed,
            sandbox=self.sandbox.kind,
            checker=self.checker.version,
            tasks=len(self.tasks),
            model=self.engine.name,
        )
        self._tracker = self._track()
        self._completions = {row["key"]: row for row in self.folder.completions.rows()}
        self._prompts = {row["key"] for row in self.folder.prompts.rows(["key"])}
        self.candidates: dict[str, list[Candidate]] = {}
        self.display.expect("tasks", len(self.tasks))
        gate = asyncio.Semaphore(TASKS_AT_ONCE)
        running = [asyncio.ensure_future(self._task(task, gate)) for task in self.tasks]
        try:
            await asyncio.gather(*running)
        finally:
            for future in running:
                future.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            self.folder.flush()
        self.unresolved += self.judge.unresolved
        self.added = self.judge.added

    async def _tasks(self) -> tuple[Task, ...]:
        dataset = self.config.dataset
        if isinstance(dataset, sample.SampleConfig):
            chosen = select(sample.entries(dataset), dataset, dataset.kind)
            self.display.expect("prepared", len(chosen))
            self.display.say(f"preparing {len(chosen)} methods of {len({e.package.name for e in chosen})} packages")
            return tuple(
                await construction.build(
                    chosen,
                    dataset.mutants,
                    self.checker.version,
                    self.pool,
                    self.surveyor.keep,
                    lambda _: self.display.done("prepared"),
                )
            )
        if isinstance(dataset, EvalPlusConfig):
            found = evalplus.load(dataset, construction.program_mutants)
        else:
            found = folder_source.load(dataset) if isinstance(dataset, FolderConfig) else postcondbench.load(dataset)
        if found.skipped:
            self.warnings += [f"left out: {line}" for line in found.skipped]
        tasks = select(found.tasks, dataset, dataset.kind)
        foreign = [task for task in tasks if task.language is not Language.PYTHON]
        if foreign:
            raise InputError(
                f"{foreign[0].id} is a {foreign[0].language.value} task and the icontract checker judges Python; "
                "choose with dataset.tasks=GLOB" + (" or dataset.language=python" if dataset.kind == "postcondbench" else "")
            )
        return tasks

    async def _task(self, task: Task, gate: asyncio.Semaphore) -> None:
        async with gate:
            candidates: list[Candidate] = []
            settings = [self.engine.setting] if self.engine.setting else [Setting(s) for s in self.config.settings]
            for setting in settings:
                if self.engine.covers(task, setting):
                    try:
                        candidates += await self._generate(task, setting)
                    except (WorkerLost, PreparationFailed) as error:
                        self.unresolved.append(Unresolved(task.id, self.engine.name, setting.value, str(error)))
            self.candidates[task.id] = candidates
            if candidates:
                await self.judge.judge(task, candidates)
            self.display.done("tasks")

    async def _generate(self, task: Task, setting: Setting) -> list[Candidate]:
        """The task's k candidates in one setting: what is stored, and what the strategy draws of the rest."""
        prompt = None
        if self.engine.setting is None:
            module = task.implementation
            if not isinstance(task.source, Program):
                workspace = await asyncio.to_thread(construction.workspace, task, dict(self.config.dataset.repositories))
                module = module_text(workspace, task)
            prompt = prompts.build(task, setting, module, self.config.prompt, self.checker.name)
            key = content_key(prompt.hash, task.id, setting)
            if key not in self._prompts:
                self._prompts.add(key)
                self.folder.prompts.append([{"key": key, "task_id": task.id, "setting": setting.value, "text": prompt.text}])
        request = content_key(
            task.key,
            setting,
            self.engine.identity,
            prompt.hash if prompt else None,
            self.config.strategy,
            self.config.seed,
        )
        work = Assignment(task, setting, self._missing(task, setting, request), seed_from(request), request, prompt)
        stored = [
            self._candidate(work, self._completions[key])
            for key in (content_key(request, index) for index in range(self.config.k))
            if key in self._completions
        ]
        self.display.expect("completions", self.config.k)
        self.display.done("completions", len(stored))
        if not work.samples:
            return stored
        tools = Tools(self.engine, self._parse, self._record)
        drawn = await SinglePass().infer(work, tools)
        return sorted([*stored, *drawn], key=lambda candidate: candidate.sample)

    def _missing(self, task: Task, setting: Setting, request: str) -> list[int]:
        missing = [i for i in range(self.config.k) if content_key(request, i) not in self._completions]
        if isinstance(self.engine, Replay) and self.engine.samples(task, setting) < self.config.k:
            raise InputError(
                f"model.path={self.config.model.path} holds {self.engine.samples(task, setting)} samples of {task.id} in "
                f"{setting.value}, k={self.config.k} are wanted; set k"
            )
        return missing

    async def _record(self, work: Assignment, completion: Completion) -> Candidate:
        row = {
            "key": content_key(work.key, completion.sample),
            "task_id": work.task.id,
            "model": self.engine.name,
            "setting": work.setting.value,
            "sample": completion.sample,
            "seed": work.seed + completion.sample,
            "prompt_hash": work.prompt.hash if work.prompt else None,
            "text": completion.text,
            "finish_reason": completion.finish_reason,
            "prompt_tokens": completion.prompt_tokens,
            "completion_tokens": completion.completion_tokens,
            "halved": completion.halved,
            "seconds": completion.seconds,
        }
        self.folder.completions.append([row])
        self._completions[row["key"]] = row
        self.drawn += 1
        self.display.done("completions")
        return self._candidate(work, row)

    def _candidate(self, work: Assignment, row: dict[str, Any]) -> Candidate:
        views = halves(str(row["seed"])) if row["halved"] else (ALL,)
        artifact = self._parse(row["text"])
        return Candidate(row["key"], work.task.id, self.engine.name, work.setting, row["sample"], row["text"], artifact, views)

    def _on_verdicts(self, added: int) -> None:
        self.display.done("verdicts", added)

    # Result

    def conclude(self, seconds: float) -> None:
        """Metrics, tables, report, tracker; and what the user reads last."""
        baselines = {task.id: self.surveyor.known(task) for task in self.tasks}
        tasks = [found.applied(task) if (found := baselines[task.id]) else task for task in self.tasks]
        expected = [
            metrics.Expected(
                task.id,
                task.repository,
                task.language.value,
                self.engine.name,
                setting,
                self.config.k,
                frozenset(subject.id for subject in mutants(task)),
            )
            for task in tasks
            for setting in sorted({c.setting.value for c in self.candidates[task.id]} | self._lost(task))
        ]
        if not expected:
            raise InputError(f"model={self.engine.name} has nothing for any of the {len(self.tasks)} tasks of this dataset")
        current = {candidate.key for candidates in self.candidates.values() for candidate in candidates}
        verdicts, changed = self._verdicts(current)
        audited = audit.agreement(self.folder.audits.rows())
        scored, missing = metrics.score(verdicts, expected)
        rows = metrics.summarize(scored, missing, self.config.reported, self.config.seed)
        self.folder.write("metrics.json", tables.metrics_json(rows))
        tables.write(rows, self.folder.path / "tables")
        diagnosed = {row["candidate_id"]: row for row in self.folder.diagnoses.rows() if row["insensitive"] is not None}
        shown = summaries(tasks, self.candidates, verdicts, diagnosed)
        page = self.folder.write(
            "report.html", report.render(self.config.name, rows, tasks, shown, plain(self.config), audited)
        )
        self._tracker.result(rows, (summary.row() for summary in shown))
        tables.show(rows, sys.stdout)
        self._warn_of(baselines)
        for line in [*tables.audit_lines(audited), *emptiness(shown)]:
            print(line)
        if changed is not None:
            print(f"{changed} verdicts differ between evaluation.limit=paper and evaluation.limit=measured")
        self._say_last(seconds, page, missing, rows)

    def _verdicts(self, current: set[str]) -> tuple[list[dict[str, Any]], int | None]:
        """The rows of these candidates; and how many are otherwise under the other limit, where that was run, too."""
        verdicts, others = [], {}
        for row in self.folder.verdicts.rows():
            if row["candidate_id"] in current:
                if self.judge.current(row):
                    verdicts.append(row)
                elif row["limit"] != self.config.evaluation.limit.value:
                    others[row["candidate_id"], row["subject"], row["view"]] = row["outcome"]
        if not others:
            return verdicts, None
        both = ((others.get((v["candidate_id"], v["subject"], v["view"])), v["outcome"]) for v in verdicts)
        return verdicts, sum(other is not None and other != outcome for other, outcome in both)

    def _warn_of(self, baselines: dict[str, Baseline | None]) -> None:
        for task, baseline in sorted(baselines.items()):
            if baseline is not None and baseline.excluded:
                names = ", ".join(baseline.excluded)
                self.warnings.append(f"{task}: covering tests left out, they do not pass on the original here: {names}")
            for reason in sorted(set(baseline.left_out.values() if baseline else ())):
                count = sum(why == reason for why in baseline.left_out.values()) if baseline else 0
                self.warnings.append(f"{task}: mutants left out of Comp: {count} ({reason})")
        for task in sorted(self.judge.isolated):
            self.warnings.append(f"{task}: the audit disagreed with a shared execution; it was judged again in isolation")

    def _lost(self, task: Task) -> set[str]:
        return {item.setting for item in self.unresolved if item.task == task.id}

    def _say_last(self, seconds: float, page: Any, missing: list[Any], rows: list[dict[str, Any]]) -> None:
        did = f"{self.drawn:,} completions and {self.added:,} verdicts in {seconds:.0f} s"
        print(did if self.drawn or self.added else f"nothing was missing ({seconds:.0f} s)")
        print(f"report: {page}\nrun folder: {self.folder.path}")
        where = self._tracker.finish()
        if where:
            print(where)
        rescued = sum(
            icontract.RESCUED in getattr(candidate.artifact, "notes", ())
            for candidates in self.candidates.values()
            for candidate in candidates
        )
        if self.config.parsing is icontract.Parsing.LENIENT and self.checker.name == "icontract":
            print(f"lenient parsing rescued {rescued} of {sum(map(len, self.candidates.values()))} candidates")
        few = max((row["clusters"] for row in rows), default=0)
        if 0 < few < metrics.FEW_CLUSTERS:
            self.warnings.append(
                f"intervals are clustered by repository and there are only {few}: take them as rough "
                "(the tables give those by task beside them)"
            )
        for path in self.folder.broken:
            self.warnings.append(f"a damaged shard was set aside as {path}; its rows were made again")
        for item in self.unresolved:
            self.warnings.append(f"unresolved: {item.task} ({item.model}, {item.setting}): {item.reason}")
        if len(missing) > len(self.unresolved):
            self.warnings.append(f"{len(missing)} (task, setting) pairs are unresolved; run again to complete them")
        if missing and not self.unresolved:
            self.unresolved += [Unresolved(m.task, m.model, m.setting, "verdicts are missing") for m in missing]
        for warning in dict.fromkeys(self.warnings):
            print(f"warning: {warning}", file=sys.stderr)

    def _track(self) -> Tracker:
        if self.config.tracker.kind == "none":
            return NoTracker()
        return WandbTracker(self.config.tracker, self.config.name, self.folder.path, plain(self.config), self.warnings.append)

    async def close(self) -> None:
        await self.engine.close()
        if self._pool is not None:
            with contextlib.suppress(EnsuresError, TrackerFailed):
                await self._pool.close()
        if self._cluster is not None:
            await asyncio.to_thread(self._cluster.stop)


def _station(checker: Checker, repositories: dict[str, str]) -> Station:
    return Station(checker, partial(construction.workspace, given=repositories))
