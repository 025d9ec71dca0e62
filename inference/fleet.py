"""A fleet: replicas of one model. A request goes to the replica with the fewest in flight; a lost replica is started again.

Nothing here knows what a replica is: an actor on a GPU, a process, a stand-in of the tests.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ensures.errors import EngineFailed, InputError
from inference.engine import Message
from inference.sampling import Sampling

T = TypeVar("T")
LOSSES = 3  # times that one request, or the start of one replica, may fail before it is given up


@dataclass(frozen=True, slots=True)
class Ask:
    """n samples of one prompt; sample i is drawn with seed + i."""

    messages: list[Message]
    n: int
    seed: int
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Drawn:
    """One sample as it came, thinking and all."""

    text: str
    tokens: int
    thinking_tokens: int  # of those
    finish_reason: str  # stop, length


@dataclass(frozen=True, slots=True)
class Reply:
    """`rendered`: the hash of the text after the chat template. `cached_tokens` of the prompt were not computed again."""

    drawn: tuple[Drawn, ...]
    prompt_tokens: int
    cached_tokens: int
    rendered: str


class Replica(Protocol):
    """`start` may be called again after a loss. All raise EngineFailed where the replica is lost, InputError where it
    could never work, and `generate` PromptTooLong."""

    async def start(self) -> dict[str, str]:
        """What serves: versions and device."""
        ...

    async def generate(self, ask: Ask) -> Reply: ...

    async def excess(self, messages: list[Message], sampling: Sampling) -> int:
        """Tokens by which prompt and answer exceed the context; 0 or less: they fit."""
        ...

    async def close(self) -> None: ...


class Fleet:
    """`start` returns when the first replica is up; the others join as they come."""

    def __init__(self, replicas: Sequence[Replica]) -> None:
        self.replicas = list(replicas)
        self.facts: dict[str, str] = {}
        self._load: dict[int, int] = {}  # replicas that are up -> requests in flight
        self._life = [0] * len(self.replicas)  # how often each was lost: of requests that fail together, one restarts it
        self._starting: dict[int, asyncio.Task[None]] = {}
        self._failed: dict[int, Exception] = {}
        self._changed = asyncio.Condition()

    async def start(self) -> None:
        for index in range(len(self.replicas)):
            self._begin(index)
        await self._any_up()

    async def run(self, call: Callable[[Replica], Awaitable[T]]) -> T:
        """The call's result, from whichever replica gives it first. Raises EngineFailed when LOSSES of them were lost."""
        for attempt in range(1, LOSSES + 1):
            index = await self._any_up()
            life = self._life[index]
            self._load[index] += 1
            try:
                return await call(self.replicas[index])
            except EngineFailed:
                if self._life[index] == life:
                    self._life[index] += 1
                    del self._load[index]
                    self._begin(index)
                if attempt == LOSSES:
                    raise
            finally:
                if self._life[index] == life and index in self._load:
                    self._load[index] -= 1
        raise AssertionError("unreachable")

    async def close(self) -> None:
        for task in self._starting.values():
            task.cancel()
        await asyncio.gather(*self._starting.values(), return_exceptions=True)
        await asyncio.gather(*(replica.close() for replica in self.replicas), return_exceptions=True)
        self._load.clear()

    @property
    def restarts(self) -> int:
        return sum(self._life)

    async def _any_up(self) -> int:
        """The replica with the fewest requests in flight. Waits for one; raises what kept the last from starting."""
        if not self._load:
            async with self._changed:
                await self._changed.wait_for(lambda: self._load or not self._starting)
        if not self._load:
            if not self._failed:
                raise EngineFailed("the model's replicas were closed")
            raise min(self._failed.values(), key=lambda error: not isinstance(error, InputError))
        return min(self._load, key=lambda index: (self._load[index], index))

    def _begin(self, index: int) -> None:
        self._starting[index] = asyncio.ensure_future(self._start(index))

    async def _start(self, index: int) -> None:
        try:
            for attempt in range(1, LOSSES + 1):
                try:
                    self.facts = await self.replicas[index].start() or self.facts
                except EngineFailed as error:
                    if attempt == LOSSES:
                        self._failed[index] = error
                except Exception as error:  # the user's to mend, or ours: no second try
                    self._failed[index] = error
                    break
                else:
                    self._failed.pop(index, None)
                    self._load[index] = 0
                    break
        finally:
            self._starting.pop(index, None)
            with contextlib.suppress(RuntimeError):
                async with self._changed:
                    self._changed.notify_all()
