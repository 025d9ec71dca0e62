"""From completions to turns, and from a sample's turns to the completion that is its answer."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from inference.engine import Completion
from inference.strategy import Assignment, Tools, Turn


async def turned(
    work: Assignment,
    tools: Tools,
    sample: int,
    ended: Callable[[list[Turn]], bool],
    take: Callable[[list[Turn]], Awaitable[Turn]],
) -> list[Turn]:
    """A sample's turns to their end: those in the journal, then those that `take` makes of what came before."""
    assert tools.journal is not None
    turns = tools.journal.turns(work, sample)
    while not ended(turns):
        turn = await take(turns)
        tools.journal.add(work, sample, turn)
        turns.append(turn)
    return turns


def spent(completion: Completion) -> dict[str, Any]:
    """What a turn took, as a `Turn`'s fields."""
    return {
        "left_out": completion.prompt.left_out if completion.prompt else (),
        "prompt_tokens": completion.prompt_tokens,
        "cached_tokens": completion.cached_tokens,
        "completion_tokens": completion.completion_tokens,
        "thinking": completion.thinking,
        "thinking_tokens": completion.thinking_tokens,
        "cost": completion.cost,
        "seconds": completion.seconds,
        "finish_reason": completion.finish_reason,
    }


def answer(work: Assignment, sample: int, turns: Sequence[Turn], text: str, thinking: str, finish_reason: str) -> Completion:
    """The sample's answer, which took all its turns."""
    return Completion(
        sample,
        text,
        finish_reason,
        work.prompts[0] if work.prompts else None,
        thinking=thinking,
        prompt_tokens=sum(turn.prompt_tokens for turn in turns),
        cached_tokens=sum(turn.cached_tokens for turn in turns),
        completion_tokens=sum(turn.completion_tokens for turn in turns),
        thinking_tokens=sum(turn.thinking_tokens for turn in turns),
        cost=sum(turn.cost for turn in turns),
        seconds=sum(turn.seconds for turn in turns),
    )
