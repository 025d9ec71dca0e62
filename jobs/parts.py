"""The parts of a run, made of its configuration: engine, sandbox, checker, cluster, pool."""

import asyncio
import contextlib
import importlib.util
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from benchmark.evalplus import EvalPlusConfig
from benchmark.fixeval import FixEvalConfig
from construction import environment
from construction import sample as construction
from containers.choose import choose
from containers.docker_api import Containers
from containers.sandbox import Limits, Sandbox
from ensures.candidate import CLAUSE, Artifact, Candidate, Clauses
from ensures.errors import InputError, SandboxUnavailable
from ensures.task import Language
from evaluation.asserts.session import AssertChecker, AssertConfig
from evaluation.checker import Checker
from evaluation.java.session import JmlChecker, JmlConfig
from evaluation.pool import LocalSlot, Pool, Slot
from evaluation.python.session import IcontractChecker, IcontractConfig
from evaluation.station import Station
from evaluation.surveyor import Surveyor
from inference import checkpoint, tiny
from inference.dialects import dialect
from inference.engine import Engine
from inference.engines.invariants import Invariants
from inference.engines.openai import Openai
from inference.engines.reference import Reference
from inference.engines.replay import Replay
from inference.engines.vllm import Vllm, gpus_for, locate, places, replicas_for
from inference.engines.vllm_replica import Serving, VllmReplica
from inference.fleet import Replica
from inference.strategies.exploratory import Exploratory, ExploratoryConfig
from inference.strategies.greedy import Greedy, GreedyConfig
from inference.strategies.random_sampling import RandomSampling, RandomSamplingConfig
from inference.strategies.single_pass import SinglePass
from inference.strategy import Strategy
from jobs.config import AutoCheckerConfig, RunConfig
from jobs.observer import PoolObserver
from jobs.progress import Display
from jobs.ray_cluster import RayCluster, RaySlot
from jobs.ray_joined import JoinedCluster, nodes
from jobs.ray_replicas import RayReplica, gpus
from jobs.run_folder import RunFolder

CPU_HEADROOM = 2.0  # of a machine's memory for weights on a CPU


class Parts:
    """Cluster and pool are started when something needs them, and not before."""

    def __init__(self, config: RunConfig, folder: RunFolder, display: Display) -> None:
        self.config, self.display = config, display
        self.judging = False  # verdicts are wanted as well: their workers start while a model loads
        self.warnings: list[str] = []
        self._cluster: RayCluster | JoinedCluster | None = None
        self._pool: Pool | None = None
        self.engine = self._engine()
        self.sandbox = self._sandbox()
        self.checkers = self._checkers()
        self.surveyor = Surveyor(self.pool, folder.baselines, lambda language: self.checkers[language].version)

    def _engine(self) -> Engine:
        model = self.config.model
        if model.engine == "invariants":
            return Invariants(model, PoolObserver(self.pool, lambda task: self.surveyor.of(task)))
        if model.engine == "reference":
            return Reference(model)
        if model.engine == "openai":
            return Openai(model)
        if model.engine == "vllm":
            _needs_vllm(model.name)
            return Vllm(model, locate(model, partial(tiny.checkpoint, cache=environment.cache_root())), self._launch)
        return Replay(model)

    def strategy(self) -> Strategy:
        config = self.config.strategy
        if isinstance(config, ExploratoryConfig):
            return Exploratory(config)
        if isinstance(config, GreedyConfig):
            return Greedy(config)
        if isinstance(config, RandomSamplingConfig):
            return RandomSampling(config)
        return SinglePass(config)

    def _sandbox(self) -> Sandbox:
        sandbox, warnings = choose(self.config.sandbox, hostile=self.engine.hostile)
        if isinstance(sandbox, Containers):
            sandbox.run = self.config.name
        for warning in warnings:
            self.display.say(f"warning: {warning}")
        self.warnings += warnings
        return sandbox

    def _checkers(self) -> dict[Language, Checker]:
        """One a language. A language that the chosen checker can't judge has none."""
        chosen, evaluation, programs = (
            self.config.checker,
            self.config.evaluation,
            isinstance(self.config.dataset, (EvalPlusConfig, FixEvalConfig)),
        )
        found: dict[Language, Checker] = {}
        automatic = isinstance(chosen, AutoCheckerConfig)
        if isinstance(chosen, AssertConfig) or (automatic and programs):
            given = AssertConfig() if automatic else chosen
            limits = Limits(memory_mb=given.memory_mb, file_mb=given.file_mb, processes=given.processes)
            own = (given.per_input, given.most_slow, tuple(given.imports))
            return {Language.PYTHON: AssertChecker(self.sandbox, limits, evaluation.timeout, *own)}
        if isinstance(chosen, IcontractConfig) or automatic:
            given = IcontractConfig() if automatic else chosen
            limits = Limits(memory_mb=given.memory_mb, file_mb=given.file_mb, processes=given.processes)
            found[Language.PYTHON] = IcontractChecker(self.sandbox, limits, evaluation.timeout, evaluation.limit)
        if isinstance(chosen, JmlConfig) or automatic:
            given = JmlConfig() if automatic else chosen
            limits = Limits(file_mb=given.file_mb, processes=given.processes)
            found[Language.JAVA] = JmlChecker(self.sandbox, limits, evaluation.timeout, evaluation.limit, given.heap_mb)
        return found

    def parse(self, text: str, language: Language) -> Artifact:
        """By the dialect of the language's checker."""
        return dialect.parse(self.checkers[language].name, text, self.config.parsing)

    def clauses(self, candidate: Candidate, language: Language) -> list[Candidate]:
        """The candidate's clauses, each a candidate of its own; none of one that is malformed."""
        if not isinstance(candidate.artifact, Clauses):
            return []
        single = enumerate(dialect.DIALECTS[self.checkers[language].name].alone(candidate.artifact))
        return [replace(candidate, key=f"{candidate.key}{CLAUSE}{n}", artifact=clause) for n, clause in single]

    @property
    def workers(self) -> int:
        there = self.cluster().workers if self.joins else os.cpu_count()
        return self.config.evaluation.workers or there or 1

    @property
    def joins(self) -> bool:
        """Is the cluster there already?"""
        return self.config.cluster.kind in ("slurm", "ray")

    def cluster(self) -> RayCluster | JoinedCluster:
        if self._cluster is None:
            if self.joins:
                self._cluster = JoinedCluster(self.config.cluster, self.sandbox)
            else:
                self.display.say(f"starting Ray with {self.workers} evaluation workers, sandbox {self.sandbox.kind}")
                replicas = getattr(self.config.model, "replicas", "0")
                self._cluster = RayCluster(self.workers, int(replicas) if replicas.isdigit() else 1)
            self._cluster.start()
            if self.joins:
                told = f"{len(nodes())} nodes, {self._cluster.workers} evaluation workers, sandbox {self.sandbox.kind}"
                self.display.say(f"joined Ray at {self.config.cluster.address}: {told}")
        return self._cluster

    async def join(self) -> None:
        """Joins a cluster that is there, whose nodes may still be coming."""
        if self.joins:
            await asyncio.to_thread(self.cluster)

    def pool(self) -> Pool:
        if self._pool is None:
            sessions = self.config.evaluation.sessions if self.config.strategy.name != "single_pass" else 1
            make = partial(_station, dict(self.checkers), dict(self.config.dataset.repositories), sessions)
            slots: list[Slot]
            if self.config.cluster.kind == "none":
                slots = [LocalSlot(make())]
            else:
                resources = self.cluster().resources
                slots = [RaySlot(make, resources) for _ in range(self.workers)]
            self._pool = Pool(slots, sessions)
        return self._pool

    async def _launch(self, engine: Vllm) -> Sequence[Replica]:
        """Replicas for the engine, on what the cluster holds; what can't hold the model is said before anything is loaded."""
        config, found = engine.config, engine.checkpoint
        local = self.config.cluster.kind == "none"
        if not local:
            self.cluster()
        counts, gib = ([], 0.0) if local else await asyncio.to_thread(gpus)
        if counts:
            each = gpus_for(config, found, gib, sum(counts))
            number = replicas_for(config, places(counts, each))
        else:
            _fits_without_gpu(engine)
            most = 1 if local or config.replicas == "auto" else os.cpu_count() or 1
            each, number = 0, 1 if local else replicas_for(config, most)
        if self.judging:
            self.pool()
        dummy = config.load_format == "dummy"
        folder = found.folder if dummy else await asyncio.to_thread(checkpoint.fetch, found)
        started = Serving(config, engine.name, str(folder), each)
        self.display.say(
            f"starting {number} replica{'s' * (number != 1)} of {engine.name}"
            + (f", {each} GPU{'s' * (each != 1)} each" if each else ", on the CPU")
        )
        return [VllmReplica(started)] if local else [RayReplica(started) for _ in range(number)]

    def stop(self) -> None:
        """Nothing new is begun."""
        self.engine.stop()
        if self._pool is not None:
            self._pool.stop()

    async def close(self) -> None:
        await self.engine.close()
        if self._pool is not None:
            await self._pool.close()
        if self._cluster is not None:
            await asyncio.to_thread(self._cluster.stop)
        if isinstance(self.sandbox, Containers):
            with contextlib.suppress(SandboxUnavailable):  # what could not be swept is at the next start
                await asyncio.to_thread(self.sandbox.sweep)


def _needs_vllm(name: str) -> None:
    if importlib.util.find_spec("vllm") is None:
        raise InputError(
            f"model={name} is served by vLLM, which is not installed here; bash slurm/run.sh installs it, or "
            "ENSURES_EXTRAS=gpu (cpu) with it"
        )


def _fits_without_gpu(engine: Vllm) -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if engine.checkpoint.bytes * CPU_HEADROOM > memory:
        raise InputError(
            f"{engine.checkpoint.name} takes {engine.checkpoint.gib:.0f} GiB, and here is no GPU and {memory / 2**30:.0f} GiB "
            "of memory; run it where there are GPUs, or choose a smaller model="
        )


def _station(checkers: dict[Language, Checker], repositories: dict[str, str], sessions: int) -> Station:
    return Station(lambda task: checkers[task.language], partial(construction.workspace, given=repositories), sessions)
