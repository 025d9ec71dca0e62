"""strategy=single_pass: k independent samples, each an answer as it stands (PostcondBench, section 4)."""

from dataclasses import dataclass

from ensures.candidate import Candidate
from inference.engine import Request
from inference.strategy import Assignment, Tools


@dataclass
class SinglePassConfig:
    name: str = "single_pass"


class SinglePass:
    name = "single_pass"

    async def infer(self, work: Assignment, tools: Tools) -> list[Candidate]:
        request = Request(work.task, work.setting, work.samples, work.seed, work.prompts)
        completions = await tools.engine.complete(request)
        return [await tools.record(work, completion) for completion in completions]
