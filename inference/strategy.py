"""The strategy seam: how candidates come about from engines and, in multi-turn, a judge. A strategy knows neither the language
nor the checker."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

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
class Feedback:
    """What a judge says of one artifact on the tests and mutants that it may use. `message`: what failed, for a model to
    read. Mutants by id, in the task's order; only asked of what is correct. `pairs`: where mutants are sets of (input, wrong
    output) pairs, how many there are, and of those how many are caught."""

    correct: bool
    message: str = ""
    caught: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    pairs: int = 0
    pairs_caught: int = 0

    @property
    def complete(self) -> bool:
        return self.correct and not self.missed and bool(self.caught)

    def score(self, by_pairs: bool) -> float:
        """The share of mutants, or of pairs where there are any, that are caught; 0 for what is not correct, 1 for what is
        where there is no mutant: nothing is left to be caught."""
        if not self.correct:
            return 0.0
        if by_pairs and self.pairs:
            return self.pairs_caught / self.pairs
        total = len(self.caught) + len(self.missed)
        return len(self.caught) / total if total else 1.0


class Judge(Protocol):
    """What a strategy is told about its artifacts. Raises WorkerLost and PreparationFailed."""

    async def correctness(self, work: Assignment, artifact: Artifact) -> Feedback:
        """On the original alone: no mutant is asked."""
        ...

    async def completeness(self, work: Assignment, artifact: Artifact) -> Feedback:
        """On the mutants as well, where it is correct."""
        ...

    def mutant(self, work: Assignment, name: str) -> str:
        """A mutant's implementation."""
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """One finished turn of one sample. `kind`: probe, submit, stop or malformed. `text` is the completion as it came, `said`
    what of it stays in the conversation, `proposal` what was probed or submitted, `observation` what the model is told."""

    number: int  # from 1
    kind: str
    text: str
    said: str
    thought: str
    proposal: str
    observation: str
    correct: bool | None = None
    score: float | None = None
    caught: tuple[str, ...] = ()
    mutants: int | None = None
    feedback: str = ""  # how much it was told: binary, score, mutant
    left_out: tuple[str, ...] = ()
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    thinking: str = ""
    thinking_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    finish_reason: str = "stop"


class Journal(Protocol):
    """Finished turns: what is there is not drawn again."""

    def turns(self, work: Assignment, sample: int) -> list[Turn]:
        """In order, from the first."""
        ...

    def add(self, work: Assignment, sample: int, turn: Turn) -> None: ...


@dataclass(frozen=True, slots=True)
class Tools:
    """What a strategy may use. `record` stores a completion that is an answer, before anything else happens to it: what is
    recorded, one a sample, are the strategy's candidates."""

    engine: Engine
    parse: Callable[[str], Artifact]
    record: Callable[[Assignment, Completion], None]
    judge: Judge | None = None
    journal: Journal | None = None


class Strategy(Protocol):
    """`template`: the prompt's, where the strategy has one of its own. `judges`: does it ask the judge?"""

    name: str
    template: str
    judges: bool
    config: Any

    @property
    def rule(self) -> str:
        """By which the judge's verdicts are read: strict or paper."""
        ...

    async def infer(self, work: Assignment, tools: Tools) -> None: ...
