"""Pipelines whose engine answers from a list for each task, so that multi-turn strategies run through the real judge."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from ensures.errors import Stopped
from inference.engine import Completion, Request
from inference.engines.scripted import Scripted
from jobs import config as configuration
from jobs.conclusion import Conclusion
from jobs.pipeline import Pipeline
from jobs.progress import Display
from jobs.run_folder import RunFolder


def probe(text: str) -> str:
    return f"<think>thinking</think><assert>{text}</assert>"


def submit(text: str) -> str:
    return f"<think>sure</think><solution>{text}</solution>"


class PerTask(Scripted):
    """The answer to a request is its task's, at the place of the turn; after `most` answers it is stopped."""

    def __init__(self, answers: Mapping[str, Sequence[str]], most: int | None = None) -> None:
        super().__init__(["unused"])
        self.by, self.most = answers, most
        self.identity: Any = ["per task", dict(answers)]
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> list[Completion]:
        if self.most is not None and len(self.requests) >= self.most:
            raise Stopped()
        self.requests.append(request)
        prompt = request.prompts[0]
        texts = next(texts for name, texts in self.by.items() if request.task.id.endswith(name))
        text = texts[min(len(prompt.turns) // 2, len(texts) - 1)]
        return [Completion(sample, text, prompt=prompt, completion_tokens=len(text.split())) for sample in request.samples]


def run(overrides: Sequence[str], engine: Scripted, conclude: bool = False) -> Pipeline:
    config = configuration.load([*overrides, "cluster=none", "tracker=none"])
    folder = RunFolder(Path(config.out) / config.name, configuration.plain(config))

    async def go() -> Pipeline:
        pipeline = Pipeline(config, folder, Display())
        pipeline.engine = pipeline.parts.engine = pipeline.drawing.engine = engine
        try:
            await pipeline.both()
        except Stopped:
            pass
        finally:
            await pipeline.close()
        return pipeline

    pipeline = asyncio.run(go())
    if conclude:
        Conclusion(pipeline, config).evaluated(1.0)
    folder.close()
    return pipeline


def rows(folder: Path, name: str, without: Sequence[str] = ("seconds",)) -> list[dict[str, Any]]:
    """Sorted by key, without the columns of time."""
    found = pq.read_table(folder / name).to_pylist()
    return sorted(({k: v for k, v in row.items() if k not in without} for row in found), key=lambda row: str(row["key"]))
