"""The strategy seam: how candidates come about from engines. A strategy knows neither the language nor the checker."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ensures.candidate import Artifact
from ensures.task import Setting, Task
from inference.engine import Completion, Engine, Prompt


@dataclass(frozen=True, slots=True)
class Assignment:
    """One task in one setting: the samples still to be drawn, and the seed from which theirs follow."""

    task: Task
    setting: Setting
    samples: Sequence[int]
    seed: int
    key: str  # of the request, without the sample
    prompts: Sequence[Prompt]  # the whole one first; empty for engines that read none


@dataclass(frozen=True, slots=True)
class Tools:
    """What a strategy may use. `record` stores a completion that is an answer, before anything else happens to it: what is
    recorded, one a sample, are the strategy's candidates."""

    engine: Engine
    parse: Callable[[str], Artifact]
    record: Callable[[Assignment, Completion], None]


class Strategy(Protocol):
    name: str

    async def infer(self, work: Assignment, tools: Tools) -> None: ...
