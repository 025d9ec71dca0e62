"""model=reference: the task's ground truth as its own completion. A control: it must score what the ground truth scores."""

from dataclasses import dataclass
from typing import Any

from ensures.task import Setting, Task
from inference.engine import Completion, Request


@dataclass
class ReferenceConfig:
    engine: str = "reference"
    name: str = "reference"

    @property
    def label(self) -> str:
        return self.name


class Reference:
    hostile = False
    setting: Setting | None = Setting.REFERENCE
    capacity = 64
    origin: dict[str, str] = {}
    identity: Any = "reference"

    def __init__(self, config: ReferenceConfig) -> None:
        self.name = config.label

    def covers(self, task: Task, setting: Setting) -> bool:
        return task.reference is not None

    async def complete(self, request: Request) -> list[Completion]:
        assert request.task.reference is not None
        return [Completion(sample, request.task.reference) for sample in request.samples]

    def stop(self) -> None: ...

    async def close(self) -> None: ...
