"""A conversation as prompts: the task, then turn by turn what the model said and what it was told.

It only grows at its end, so that an engine's prefix cache holds what came before. Where it exceeds the model's context, the
oldest probes and malformed turns are left out first, then submissions other than the best, the oldest first; then the file
around the method shrinks, as it does for a single prompt. The task, the best submission and the last turn always stay.
"""

from collections.abc import Sequence
from typing import overload

from inference.engine import Prompt
from inference.engine import prompt as made
from inference.strategies.protocol import Kind
from inference.strategy import Turn


class Conversation(Sequence[Prompt]):
    """The whole one first, then ever shorter ones. `best`: the number of the turn with the best submission."""

    def __init__(self, prompts: Sequence[Prompt], turns: Sequence[Turn], best: int | None) -> None:
        self.prompts, self.turns = prompts, tuple(turns)
        last = turns[-1].number if turns else None
        free = [turn for turn in turns if turn.number not in (best, last)]
        probes = [turn.number for turn in free if turn.kind != Kind.SUBMIT]
        self._order = probes + [turn.number for turn in free if turn.kind == Kind.SUBMIT]

    def __len__(self) -> int:
        return len(self._order) + len(self.prompts)

    @overload
    def __getitem__(self, index: int) -> Prompt: ...

    @overload
    def __getitem__(self, index: slice) -> list[Prompt]: ...

    def __getitem__(self, index: int | slice) -> Prompt | list[Prompt]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = index if index >= 0 else index + len(self)
        if not 0 <= at < len(self):
            raise IndexError(index)
        gone = set(self._order[:at])
        whole = self.prompts[max(0, at - len(self._order))]
        kept = [turn for turn in self.turns if turn.number not in gone]
        said = tuple(text for turn in kept for text in (turn.said or "(nothing)", turn.observation))
        if not said and not gone:
            return whole
        left_out = (*(f"turn {number}" for number in sorted(gone)), *whole.left_out)
        return made(whole.text, left_out, said)
