"""strategy=random_sampling: independent samples of the single prompt, at most mu, until one reaches tau; the best is the
answer (SpecMind's baseline: nl2postcond, run mu times)."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any

from ensures.candidate import Malformed
from ensures.errors import InputError
from inference.engine import Request
from inference.strategies.answering import answer, spent, turned
from inference.strategies.protocol import Kind
from inference.strategy import Assignment, Feedback, Tools, Turn


@dataclass
class RandomSamplingConfig:
    """`tau`: 0 to 1; below 0 the first correct sample ends, above 1 all mu are drawn. Defaults as published."""

    name: str = "random_sampling"
    tau: float = 0.9
    mu: int = 12
    rule: str = "paper"  # what catches a mutant: paper | strict
    tau_of: str = "pairs"  # tau is compared with the share of pairs | mutants
    feedback_split: bool = False


def check(config: RandomSamplingConfig) -> None:
    """Raises InputError."""
    if config.mu < 1:
        raise InputError(f"strategy.mu={config.mu}: at least one sample")
    if config.rule not in ("paper", "strict"):
        raise InputError(f"strategy.rule={config.rule} is not known; choose one of paper, strict")
    if config.tau_of not in ("pairs", "mutants"):
        raise InputError(f"strategy.tau_of={config.tau_of} is not known; choose one of pairs, mutants")


class RandomSampling:
    """The draws of answer i are the engine's samples i mu to (i + 1) mu - 1: a seed of its own for each."""

    name, template, judges = "random_sampling", "", True

    def __init__(self, config: RandomSamplingConfig) -> None:
        self.config: Any = config

    @property
    def rule(self) -> str:
        return str(self.config.rule)

    async def infer(self, work: Assignment, tools: Tools) -> None:
        await asyncio.gather(*(self._sample(work, tools, sample) for sample in work.samples))

    async def _sample(self, work: Assignment, tools: Tools, sample: int) -> None:
        take = partial(self._turn, work, tools, sample)
        turns = await turned(work, tools, sample, self.ended, lambda turns: take(len(turns) + 1))
        found = best(turns) or turns[-1]
        tools.record(work, answer(work, sample, turns, found.text, found.thinking, found.finish_reason))

    def ended(self, turns: list[Turn]) -> bool:
        found = best(turns)
        reached = found is not None and (found.score or 0) >= self.config.tau
        return reached or len(turns) >= self.config.mu

    async def _turn(self, work: Assignment, tools: Tools, sample: int, number: int) -> Turn:
        at = sample * self.config.mu + number - 1
        request = Request(work.task, work.setting, (at,), work.seed, work.prompts)
        (completion,) = await tools.engine.complete(request)
        artifact = tools.parse(completion.text)
        assert tools.judge is not None
        if isinstance(artifact, Malformed):
            feedback = Feedback(False, artifact.message)
        else:
            feedback = await tools.judge.completeness(work, artifact)
        return Turn(
            number,
            Kind.SUBMIT.value,
            completion.text,
            "",
            "",
            completion.text,
            "",
            feedback.correct,
            feedback.score(self.config.tau_of == "pairs"),
            feedback.caught,
            len(feedback.caught) + len(feedback.missed),
            **spent(completion),
        )


def best(turns: list[Turn]) -> Turn | None:
    """The first of the highest score among the correct."""
    return max((turn for turn in turns if turn.correct), key=lambda turn: turn.score or 0, default=None)
