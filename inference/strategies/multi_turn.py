"""Feedback-driven strategies (SpecMind, sections 4 and 5): what greedy and exploratory share.

A sample is a conversation of at most `mu` turns. Each turn the model thinks and acts; a submission is judged on tests and
mutants, a probe on tests alone, and both are answered by an observation. The answer is the best submission so far by its score
(only of those that are correct). The conversation ends when the score reaches `tau`, when the turns are spent, or when the
model stops.

`preset=paper` follows the published runs where text and runs differ; each is a key of its own:

| key | paper | text |
|---|---|---|
| `temperature` | 0 | the model's own |
| `rule`: what catches a mutant | as published: also an assertion that raises | `strict`: a violation |
| `tau_of`: tau is compared with the share of | (mutant, input) pairs | mutants |
| `ties`: a submission with the same score | replaces the best | does not |
| `may_stop`: the model may end by itself | no; without tau the first correct submission ends | yes |

If nothing correct was submitted, the answer is the last text that was submitted or probed.
"""

import asyncio
import difflib
import enum
import random
from collections.abc import Sequence
from dataclasses import dataclass

from ensures.candidate import Clauses, Malformed
from ensures.errors import InputError
from ensures.keys import seed_from
from inference.engine import Request, Wanted
from inference.strategies.answering import answer, spent, turned
from inference.strategies.conversation import Conversation
from inference.strategies.protocol import Kind, read, stops
from inference.strategy import Assignment, Feedback, Tools, Turn


class Preset(enum.StrEnum):
    PAPER = "paper"
    TEXT = "text"


class Telling(enum.StrEnum):
    """What a submission is told: right or wrong and whether all mutants are caught; the share caught; an uncaught mutant."""

    BINARY = "binary"
    SCORE = "score"
    MUTANT = "mutant"


class Showing(enum.StrEnum):
    FULL = "full"
    DIFF = "diff"


@dataclass
class MultiTurnConfig:
    """`tau`: 0 to 1, below 0: none. `escalate`: turns beyond mu in which hard cases are told more (`escalate_feedback`)."""

    name: str = ""
    preset: Preset = Preset.PAPER
    tau: float = 0.9
    mu: int = 12
    feedback: Telling = Telling.BINARY
    mutant_as: Showing = Showing.FULL
    escalate: int = 0
    escalate_feedback: Telling = Telling.MUTANT
    feedback_split: bool = False  # the judge that gives feedback and the one that scores use disjoint tests and mutants
    temperature: float | None = None  # default: the preset's
    max_tokens: int = 1024  # of one turn
    rule: str | None = None  # paper | strict; default: the preset's
    tau_of: str | None = None  # pairs | mutants; default: the preset's
    ties: str | None = None  # replace | keep; default: the preset's
    may_stop: bool | None = None  # default: the preset's


def check(config: MultiTurnConfig) -> None:
    """Raises InputError."""
    if not config.tau <= 1:
        raise InputError(f"strategy.tau={config.tau}: a share up to 1, or below 0 for none")
    if config.mu < 1:
        raise InputError(f"strategy.mu={config.mu}: at least one turn")
    if config.escalate < 0:
        raise InputError(f"strategy.escalate={config.escalate}: 0 or more turns")
    if config.max_tokens < 1:
        raise InputError(f"strategy.max_tokens={config.max_tokens}: at least one token a turn")
    for name, values in (("rule", ("paper", "strict")), ("tau_of", ("pairs", "mutants")), ("ties", ("replace", "keep"))):
        if getattr(config, name) not in (None, *values):
            raise InputError(f"strategy.{name}={getattr(config, name)} is not known; choose one of {', '.join(values)}")


@dataclass(frozen=True, slots=True)
class Rules:
    """A configuration with the preset's values in their places."""

    tau: float | None
    mu: int
    turns: int  # with those of escalation
    temperature: float | None
    rule: str
    by_pairs: bool
    replace: bool
    may_stop: bool


def rules(config: MultiTurnConfig) -> Rules:
    paper = config.preset is Preset.PAPER
    chosen = config.temperature if config.temperature is not None else 0.0 if paper else None
    return Rules(
        tau=config.tau if config.tau >= 0 else None,
        mu=config.mu,
        turns=config.mu + config.escalate,
        temperature=chosen,
        rule=config.rule or ("paper" if paper else "strict"),
        by_pairs=(config.tau_of or ("pairs" if paper else "mutants")) == "pairs",
        replace=(config.ties or ("replace" if paper else "keep")) == "replace",
        may_stop=config.may_stop if config.may_stop is not None else not paper,
    )


class MultiTurn:
    """`probing`: exploratory may probe, greedy may not."""

    judges = True

    def __init__(self, config: MultiTurnConfig, probing: bool) -> None:
        self.config, self.rules = config, rules(config)
        self.name = config.name
        self.template = config.name
        actions = (Kind.PROBE, Kind.SUBMIT) if probing else (Kind.SUBMIT,)
        self.offered: tuple[Kind, ...] = (*actions, Kind.STOP) if self.rules.may_stop else actions

    @property
    def rule(self) -> str:
        return self.rules.rule

    async def infer(self, work: Assignment, tools: Tools) -> None:
        await asyncio.gather(*(self._sample(work, tools, sample) for sample in work.samples))

    async def _sample(self, work: Assignment, tools: Tools, sample: int) -> None:
        turns = await turned(work, tools, sample, self.ended, lambda turns: self._turn(work, tools, sample, turns))
        best = self.answer(turns)
        text, thought = (best.proposal, best.thought) if best else ("", "")
        tools.record(work, answer(work, sample, turns, text, thought, (best or turns[-1]).finish_reason))

    # What turns so far come to

    def best(self, turns: Sequence[Turn]) -> Turn | None:
        """The best submission so far: correct, with the highest score."""
        found: Turn | None = None
        for turn in turns:
            if turn.kind == Kind.SUBMIT and turn.correct:
                better = found is None or (turn.score or 0) > (found.score or 0)
                if better or (self.rules.replace and turn.score == (found.score if found else None)):
                    found = turn
        return found

    def ended(self, turns: Sequence[Turn]) -> bool:
        if not turns:
            return False
        best = self.best(turns)
        if best is not None and (self.rules.tau is None or (best.score or 0) >= self.rules.tau):
            return True
        if turns[-1].kind == Kind.STOP and any(turn.kind == Kind.SUBMIT for turn in turns):
            return True
        return len(turns) >= self.rules.turns

    def answer(self, turns: Sequence[Turn]) -> Turn | None:
        """The best submission; where none is correct, the last text that was submitted, else probed."""
        best = self.best(turns)
        if best is not None:
            return best
        submitted = [turn for turn in turns if turn.kind == Kind.SUBMIT]
        tried = [turn for turn in turns if turn.proposal]
        return submitted[-1] if submitted else tried[-1] if tried else None

    # One turn

    async def _turn(self, work: Assignment, tools: Tools, sample: int, turns: Sequence[Turn]) -> Turn:
        number = len(turns) + 1
        best = self.best(turns)
        conversation = Conversation(work.prompts, turns, best.number if best else None)
        wanted = Wanted(self.rules.temperature, self.config.max_tokens, stops(self.offered))
        seed = seed_from(f"{work.key}:{sample}:{number}")
        (completion,) = await tools.engine.complete(Request(work.task, work.setting, (sample,), seed, conversation, wanted))
        said = read(completion.text, completion.finish_reason, self.offered)
        telling = self.config.feedback if number <= self.rules.mu else self.config.escalate_feedback
        feedback: Feedback | None = None
        if said.kind in (Kind.PROBE, Kind.SUBMIT):
            assert tools.judge is not None
            artifact = tools.parse(said.proposal)
            if isinstance(artifact, Malformed):
                feedback = Feedback(False, artifact.message)
            else:
                assert isinstance(artifact, Clauses)
                ask = tools.judge.completeness if said.kind is Kind.SUBMIT else tools.judge.correctness
                feedback = await ask(work, artifact)
        seen = self._observation(work, tools, sample, number, said.kind, said.wrong, feedback, telling)
        submitted = feedback is not None and said.kind is Kind.SUBMIT
        return Turn(
            number,
            said.kind.value,
            completion.text,
            said.text,
            said.thought,
            said.proposal,
            f"<observation>{seen}</observation>",
            feedback.correct if feedback else None,
            feedback.score(self.rules.by_pairs) if feedback and submitted else None,
            feedback.caught if feedback else (),
            len(feedback.caught) + len(feedback.missed) if feedback and submitted else None,
            telling.value if submitted else "",
            **spent(completion),
        )

    def _observation(
        self,
        work: Assignment,
        tools: Tools,
        sample: int,
        number: int,
        kind: Kind,
        wrong: str,
        feedback: Feedback | None,
        telling: Telling,
    ) -> str:
        """What the model is told (Figure 8's words)."""
        left = self.rules.turns - number
        turns = f" ({left} turn{'s' * (left != 1)} left)"
        if feedback is None:
            said = f"This turn could not be read: {wrong}." if kind is Kind.MALFORMED else "Nothing was submitted yet."
            return said + turns
        if not feedback.correct:
            what = f"\n{feedback.message.strip()}\n" if feedback.message.strip() else " "
            return f"Assertions are not correct.{what}{turns.strip()}"
        if kind is Kind.PROBE:
            return f"Assertions are correct.{turns}"
        enough = self.rules.tau is not None and feedback.score(self.rules.by_pairs) >= self.rules.tau
        if enough or not feedback.missed:
            return "Assertions are correct."
        return f"Assertions are correct, but {self._missing(work, tools, sample, number, feedback, telling)}"

    def _missing(self, work: Assignment, tools: Tools, sample: int, number: int, feedback: Feedback, telling: Telling) -> str:
        if telling is Telling.BINARY:
            return "they can not catch a buggy implementation."
        share = feedback.score(self.rules.by_pairs)
        if telling is Telling.SCORE:
            return f"they catch only {share:.0%} of buggy implementations."
        assert tools.judge is not None
        drawn = random.Random(seed_from(f"{work.key}:{sample}:{number}:mutant")).choice(feedback.missed)
        text = tools.judge.mutant(work, drawn)
        if self.config.mutant_as is Showing.DIFF:
            before, after = work.task.implementation.splitlines(), text.splitlines()
            text = "\n".join(list(difflib.unified_diff(before, after, lineterm="", n=2))[2:])
        return f"they can not catch this buggy implementation:\n```\n{text.strip()}\n```"
