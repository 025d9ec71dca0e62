"""The flow in one process, with an engine that answers from a list: what is held when, and what is given back."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ensures.candidate import Candidate
from ensures.errors import EngineFailed, Stopped
from ensures.task import Task
from inference.engine import Completion, Request
from inference.engines.scripted import Scripted
from jobs import config as configuration
from jobs.pipeline import Pipeline
from jobs.progress import Display
from jobs.run_folder import RunFolder
from tests.jobs import demo

TEXT = "@icontract.ensure(lambda result: True)"


class Watched(Scripted):
    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(texts)
        self.closed = asyncio.Event()

    async def close(self) -> None:
        self.closed.set()


Make = Callable[[Scripted], Pipeline]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    given = [o for o in demo.write(tmp_path / "d") if not o.startswith(("model", "settings=", "k="))]

    def made(engine: Scripted) -> Pipeline:
        config = configuration.load([*given, "model=reference", "settings=[f2p]", "k=2", "cluster=none"])
        run = RunFolder(tmp_path / "run", configuration.plain(config))
        pipeline = Pipeline(config, run, Display())
        pipeline.engine = pipeline.parts.engine = pipeline.drawing.engine = engine
        return pipeline

    return made


def judged_by(pipeline: Pipeline, note: Callable[[Task, list[Candidate]], Any]) -> None:
    async def judge(task: Task, candidates: list[Candidate]) -> None:
        await asyncio.sleep(0.05)
        note(task, candidates)

    pipeline.judge.judge = judge  # type: ignore[assignment, method-assign]


def run(pipeline: Pipeline) -> None:
    async def go() -> None:
        try:
            await pipeline.both()
        finally:
            await pipeline.close()
            pipeline.folder.close()

    asyncio.run(go())


def test_the_engine_is_given_back_while_verdicts_go_on(make: Make) -> None:
    engine = Watched([TEXT])
    pipeline = make(engine)
    judged: list[str] = []

    async def judge(task: Task, candidates: list[Candidate]) -> None:
        await asyncio.wait_for(engine.closed.wait(), 30)  # no verdict comes before it
        judged.append(task.id)

    pipeline.judge.judge = judge  # type: ignore[assignment, method-assign]
    run(pipeline)
    assert len(judged) == 3


def test_a_task_is_judged_when_all_its_settings_are_there(make: Make) -> None:
    pipeline = make(Watched([TEXT]))
    pipeline.config.settings = ["c2p", "n2p", "f2p"]
    seen: list[list[tuple[str, int]]] = []
    judged_by(pipeline, lambda task, candidates: seen.append([(c.setting.value, c.sample) for c in candidates]))
    run(pipeline)
    assert seen == [[(setting, sample) for setting in ("c2p", "n2p", "f2p") for sample in range(2)]] * 3


def test_no_more_is_asked_for_than_the_engine_works_on(make: Make) -> None:
    class Slow(Watched):
        capacity = 2
        now = most = 0

        async def complete(self, request: Request) -> list[Completion]:
            self.now += len(request.samples)
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.02)
            self.now -= len(request.samples)
            return await super().complete(request)

    engine = Slow([TEXT])
    pipeline = make(engine)
    judged_by(pipeline, lambda task, candidates: None)
    run(pipeline)
    assert engine.most == 2


def test_an_engines_fault_leaves_the_work_unresolved(make: Make) -> None:
    class Failing(Watched):
        async def complete(self, request: Request) -> list[Completion]:
            if "clamp" in request.task.id:
                raise EngineFailed("gone")
            return await super().complete(request)

    pipeline = make(Failing([TEXT]))
    judged: list[str] = []
    judged_by(pipeline, lambda task, candidates: judged.append(task.id))
    run(pipeline)
    assert len(judged) == 2
    assert [(item.task.rpartition("--")[2], item.reason) for item in pipeline.unresolved] == [("clamp", "gone")]


def test_asked_to_stop_what_is_in_flight_is_written(make: Make) -> None:
    class Slow(Watched):
        capacity = 1

        async def complete(self, request: Request) -> list[Completion]:
            pipeline.stop()
            await asyncio.sleep(0.02)
            return await super().complete(request)

    pipeline = make(Slow([TEXT]))
    judged_by(pipeline, lambda task, candidates: pytest.fail("nothing new is begun"))
    with pytest.raises(Stopped):
        run(pipeline)
    assert pipeline.drawing.drawn == 2
    assert sum(1 for _ in pipeline.folder.completions.rows()) == 2
