"""strategy=single_pass: k independent samples, each an answer as it stands (PostcondBench, section 4)."""

from dataclasses import dataclass

from inference.engine import Request
from inference.strategy import Assignment, Tools


@dataclass
class SinglePassConfig:
    name: str = "single_pass"


class SinglePass:
    name = "single_pass"

    async def infer(self, work: Assignment, tools: Tools) -> None:
        request = Request(work.task, work.setting, work.samples, work.seed, work.prompts)
        for completion in await tools.engine.complete(request):
            tools.record(work, completion)
