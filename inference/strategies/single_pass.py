"""strategy=single_pass: k independent samples, each an answer as it stands (PostcondBench, section 4)."""

from dataclasses import dataclass
from typing import Any

from inference.engine import Request
from inference.strategy import Assignment, Tools


@dataclass
class SinglePassConfig:
    name: str = "single_pass"


class SinglePass:
    name, template, judges, rule = "single_pass", "", False, "strict"

    def __init__(self, config: SinglePassConfig) -> None:
        self.config: Any = config

    async def infer(self, work: Assignment, tools: Tools) -> None:
        request = Request(work.task, work.setting, work.samples, work.seed, work.prompts)
        for completion in await tools.engine.complete(request):
            tools.record(work, completion)
