"""Answers from a list, in order, for tests of strategies and of what stands around engines."""

from collections.abc import Callable, Sequence
from typing import Any

from ensures.task import Setting, Task
from inference.engine import Completion, Request


class Scripted:
    """`answers` are given one a sample, over and over; `heard` is told each request."""

    name = "scripted"
    hostile = True
    setting: Setting | None = None
    capacity = 64

    def __init__(self, answers: Sequence[str], heard: Callable[[Request], Any] = lambda request: None) -> None:
        self.answers, self.heard = list(answers), heard
        self.identity: Any = ["scripted", self.answers]
        self.origin = {"engine": "scripted"}
        self._given = 0

    def covers(self, task: Task, setting: Setting) -> bool:
        return True

    async def complete(self, request: Request) -> list[Completion]:
        self.heard(request)
        prompt = request.prompts[0] if request.prompts else None
        found = []
        for sample in request.samples:
            text = self.answers[self._given % len(self.answers)]
            self._given += 1
            found.append(Completion(sample, text, prompt=prompt, completion_tokens=len(text.split())))
        return found

    def stop(self) -> None: ...

    async def close(self) -> None: ...
