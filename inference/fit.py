"""The longest prompt of a ladder that fits into a model's context."""

from collections.abc import Awaitable, Callable, Sequence

from inference.engine import Prompt


async def fitted(prompts: Sequence[Prompt], excess: Callable[[Prompt], Awaitable[int]]) -> Prompt | None:
    """By bisection: each prompt is shorter than the one before. None where not even the last fits."""
    if await excess(prompts[-1]) > 0:
        return None
    low, high = 0, len(prompts) - 1  # the one at `high` fits
    while low < high:
        middle = (low + high) // 2
        if await excess(prompts[middle]) > 0:
            low = middle + 1
        else:
            high = middle
    return prompts[high]


def runs(samples: Sequence[int]) -> list[tuple[int, int]]:
    """(first, how many) of consecutive samples: each such run is one request, since sample i uses seed + i."""
    found: list[tuple[int, int]] = []
    for sample in sorted(samples):
        if found and sample == sum(found[-1]):
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((sample, 1))
    return found
