"""The engine seam: what turns a request into completions."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ensures.candidate import Clauses
from ensures.task import Setting, Task

Message = dict[str, str]  # role and content


@dataclass(frozen=True, slots=True)
class Prompt:
    """What an engine that reads prompts is sent: a user's message, no system message (as published), and what was said since.

    `turns`: the model's answer, what it was told, and so on by turns; empty or of even length, so that the user speaks last.
    `left_out` names what of the file, or of the conversation, is missing so that the prompt fits into the model's context.
    """

    text: str
    hash: str
    left_out: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()

    @property
    def messages(self) -> list[Message]:
        roles = ("assistant", "user") * (len(self.turns) // 2)
        said = zip(("user", *roles), (self.text, *self.turns), strict=True)
        return [{"role": role, "content": content} for role, content in said]


def prompt(text: str, left_out: tuple[str, ...] = (), turns: tuple[str, ...] = ()) -> Prompt:
    """With the hash of all that is said in it."""
    said = "\0".join([text, *turns]).encode("utf-8", "surrogatepass")
    return Prompt(text, hashlib.sha256(said).hexdigest()[:32], left_out, turns)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a strategy asks of the sampling in place of the model's own; None leaves it. A completion ends behind the first
    of `stop`, which stays in its text where the engine keeps it."""

    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """`seed` derives from the request's key without the sample; sample i uses seed + i, so that k can grow.

    `prompts`, for engines that read them: the whole prompt first, then ever shorter ones (`inference.prompts`).
    """

    task: Task
    setting: Setting
    samples: Sequence[int]
    seed: int
    prompts: Sequence[Prompt] = ()
    wanted: Wanted = Wanted()


@dataclass(frozen=True, slots=True)
class Completion:
    """`prompt` is the one that was sent, `rendered` the hash of what the chat template made of it.

    `halved`: made from one half of the calls (salt: the sample's seed), so that the other half scores it.
    `cost` is the sample's share of its request's, in the price table's currency.
    """

    sample: int
    text: str
    finish_reason: str = "stop"
    prompt: Prompt | None = None
    rendered: str = ""
    thinking: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    thinking_tokens: int = 0  # of the completion's
    cost: float = 0.0
    seconds: float = 0.0
    halved: bool = False


class Engine(Protocol):
    """`identity` holds all that its completions depend on beside the request: it is part of their keys.

    `origin` says what made them (versions, hashes, device) and is stored with them. `capacity` is how many samples it works
    on at once. `hostile` is True where a model wrote the text. `setting` is set for engines that read no prompt.
    """

    name: str
    identity: Any
    hostile: bool
    setting: Setting | None
    origin: dict[str, str]

    @property
    def capacity(self) -> int: ...

    def covers(self, task: Task, setting: Setting) -> bool:
        """False where the engine has nothing for this task: no reference, no recorded completion."""
        ...

    async def complete(self, request: Request) -> list[Completion]:
        """Raises EngineFailed, InputError, and Stopped after `stop`."""
        ...

    def stop(self) -> None:
        """What is in flight comes to its end; nothing new is begun."""
        ...

    async def close(self) -> None:
        """Gives back what it holds. A later request would start it anew."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the original, as the harness describes values: before, after, and the result."""

    test: str
    number: int
    before: dict[str, Any]
    after: dict[str, Any]
    result: dict[str, Any]
    same: tuple[str, ...]  # parameters that are the very object returned


class Observer(Protocol):
    """Executions made available to engines, without their knowing how tests are run."""

    async def calls(self, task: Task) -> list[Call]: ...

    async def truths(self, task: Task, clauses: Sequence[Clauses]) -> list[tuple[str, int, str | None]]:
        """For each call (test, number, truths): a character a clause set: 1 held, 0 false, x raised; None: the body raised."""
        ...
