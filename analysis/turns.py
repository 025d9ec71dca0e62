"""What multi-turn strategies did (SpecMind, section 6): attempts, submissions, efficiency, tokens, and what more turns bring.

Of a run with mu turns the same conversations, cut off at fewer turns or at a lower tau, are what they had come to by then:
exact for random sampling, whose draws know nothing of each other, and an approximation for the others, whose observations
name the turns that are left. For draws without history there are closed forms: of n draws of which c are correct, the chance
that mu of them hold a correct one is 1 - C(n - c, mu) / C(n, mu); the expected best of mu drawn without replacement is, over
the scores in rising order s_1 <= ... <= s_n, sum_i s_i C(i - 1, mu - 1) / C(n, mu) (`expected_best`). Stopping at tau changes
both: with g draws that reach it, none of mu does so with the chance C(n - g, mu) / C(n, mu), and then the best of mu of the
others is kept; else the first that does, which is any of the g (`expected_stopped`). The draws that it takes are, in the mean,
sum_j C(n - g, j) / C(n, j) over 0 <= j < mu (`expected_draws`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from analysis.figures import COLOURS, MARKERS, Drawn
from analysis.paper import share
from analysis.sheets import Cell, Sheet, Value
from evaluation.metrics import at_least_one

TAUS = (0.5, 0.7, 0.9)
MUS = (4, 8, 12)
BUG_MUS = (3, 5, 10)  # Table 3
SUBMIT = "submit"


@dataclass(frozen=True, slots=True)
class Step:
    """One turn. `score`: of a submission; `caught`: mutants."""

    kind: str
    correct: bool
    score: float
    caught: int
    tokens: tuple[int, int, int, int]  # input, of which cached, output, of which thinking
    cost: float


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one sample of one task, under a model's name in tables. `tau` below 0: none."""

    model: str
    task: str
    repository: str
    tau: float
    mu: int
    steps: tuple[Step, ...]
    bug: bool = False  # the task's one mutant is a bug that a person made (FixEval)

    def cut(self, tau: float, mu: int) -> "Conversation":
        """As it would have ended with this tau and mu."""
        kept: list[Step] = []
        for step in self.steps[:mu]:
            kept.append(step)
            if step.kind == SUBMIT and step.correct and step.score >= tau:
                break
        return replace(self, tau=tau, mu=mu, steps=tuple(kept))

    @property
    def submissions(self) -> list[Step]:
        return [step for step in self.steps if step.kind == SUBMIT]

    @property
    def best(self) -> Step | None:
        return max((step for step in self.submissions if step.correct), key=lambda step: step.score, default=None)

    @property
    def score(self) -> float:
        return self.best.score if self.best else 0.0


def step(row: Mapping[str, Any]) -> Step:
    """Of a row of the turns' table."""
    read, cached = row["prompt_tokens"] or 0, row["cached_tokens"] or 0
    tokens = (read, cached, row["completion_tokens"] or 0, row["thinking_tokens"] or 0)
    caught = len(row["caught"] or ())
    return Step(row["kind"], bool(row["correct"]), row["score"] or 0.0, caught, tokens, row["cost"] or 0.0)


def expected_best(scores: Sequence[float], mu: int) -> float:
    """Of mu drawn without replacement."""
    n = len(scores)
    if not 1 <= mu <= n:
        raise ValueError(f"mu={mu} of {n}")
    rising = sorted(scores)
    return sum(score * math.comb(rank - 1, mu - 1) for rank, score in enumerate(rising, 1)) / math.comb(n, mu)


def expected_stopped(scores: Sequence[float], mu: int, tau: float) -> float:
    """What is kept of at most mu draws that end at the first to reach tau."""
    hits, others = [s for s in scores if s >= tau], [s for s in scores if s < tau]
    missed = math.comb(len(others), mu) / math.comb(len(scores), mu)
    kept = missed * expected_best(others, mu) if missed else 0.0
    return kept + (1 - missed) * (sum(hits) / len(hits) if hits else 0.0)


def expected_draws(scores: Sequence[float], mu: int, tau: float) -> float:
    """How many it takes."""
    others = sum(score < tau for score in scores)
    return sum(math.comb(others, j) / math.comb(len(scores), j) for j in range(mu))


def draws(conversations: Sequence[Conversation]) -> Sheet:
    """Random sampling against mu, from runs that drew all of theirs: by the closed forms, not by one order of the draws."""
    whole = [one for one in conversations if one.tau > 1 and len(one.steps) == one.mu]
    rows: list[tuple[Value, ...]] = []
    for model in dict.fromkeys(one.model for one in whole):
        own = [one for one in whole if one.model == model]
        repositories, ones = [one.repository for one in own], [1.0] * len(own)
        scores = [[step.score if step.correct else 0.0 for step in one.steps] for one in own]
        right = [sum(step.correct for step in one.steps) for one in own]
        for mu in range(1, own[0].mu + 1):
            any_right = [at_least_one(own[0].mu, c, mu) for c in right]
            cells = [share(repositories, values, ones) for values in (any_right, [expected_best(s, mu) for s in scores])]
            for tau in TAUS:
                cells.append(share(repositories, [expected_stopped(s, mu, tau) for s in scores], ones))
                cells.append(share(repositories, [expected_draws(s, mu, tau) for s in scores], ones, digits=1))
            rows.append((model, mu, *cells))
    stops = [name for tau in TAUS for name in (f"Comp. τ={tau:g}", f"draws τ={tau:g}")]
    notes = ("Over all draws that a run with strategy.tau above 1 made; with τ: ending at the first draw that reaches it.",)
    return Sheet(
        "draws", "Random sampling by number of draws", ("Strategy", "μ", "Corr.", "Comp.", *stops), tuple(rows), notes
    )


def _spread(values: Sequence[int]) -> str:
    return f"{np.mean(values):.1f} ({min(values)} - {max(values)})"


def _rows(found: Sequence[Conversation], name: str) -> tuple[Value, ...]:
    repositories, ones = [one.repository for one in found], [1.0] * len(found)
    scores = [one.score for one in found]
    efficiency = [one.score / max(1, len(one.submissions)) for one in found]
    return (
        name,
        len(found),
        _spread([len(one.steps) for one in found]),
        _spread([len(one.submissions) for one in found]),
        share(repositories, [float(one.best is not None) for one in found], ones),
        share(repositories, scores, ones),
        share(repositories, efficiency, ones),
    )


def attempts(conversations: Sequence[Conversation]) -> Sheet:
    """Tables 1 and 4, and Figure 4's efficiency: each run as it was, then cut off at lower tau and mu."""
    rows: list[tuple[Value, ...]] = []
    for model in dict.fromkeys(one.model for one in conversations):
        own = [one for one in conversations if one.model == model]
        rows.append(_rows(own, model))
        tau, mu = own[0].tau, own[0].mu
        for fewer in [m for m in MUS if m < mu] + [mu]:
            for lower in [t for t in TAUS if tau < 0 or t <= tau]:
                if (lower, fewer) != (tau, mu):
                    cut = [one.cut(lower, fewer) for one in own]
                    rows.append(_rows(cut, f"{model}, cut off at τ={lower:g} μ={fewer}"))
    columns = ("Strategy", "n", "attempts (min - max)", "submissions (min - max)", "Corr.", "Comp.", "E")
    notes = (
        "Comp.: the score of the best submission (the share of pairs, or of mutants), 0 where none is correct. E: that by "
        "the number of submissions. Rows that are cut off are of the same conversations: exact where draws are "
        "independent, otherwise what they had come to by then. By the judge that gave feedback: leaky.",
    )
    return Sheet("attempts", "Attempts, submissions and what they reach", columns, tuple(rows), notes)


def tokens(conversations: Sequence[Conversation]) -> Sheet:
    """Figure 6 and RQ4: tokens and cost of an instance, and of a caught mutant."""
    rows: list[tuple[Value, ...]] = []
    for model in dict.fromkeys(one.model for one in conversations):
        own = [one for one in conversations if one.model == model]
        repositories, ones = [one.repository for one in own], [1.0] * len(own)
        sums = [[float(sum(step.tokens[part] for step in one.steps)) for one in own] for part in range(4)]
        caught = [float(one.best.caught if one.best else 0) for one in own]
        cost = [100 * sum(step.cost for step in one.steps) for one in own]
        figures = [share(repositories, values, ones, digits=0) for values in sums]
        rows.append(
            (
                model,
                len(own),
                *figures,
                share(repositories, caught, ones, digits=1),
                share(repositories, [a + b for a, b in zip(sums[0], sums[2], strict=True)], caught, digits=1),
                share(repositories, cost, ones),
                share(repositories, cost, caught, digits=4),
            )
        )
    columns = (
        "Strategy",
        "n",
        "input",
        "cached",
        "output",
        "thinking",
        "caught",
        "tokens a mutant",
        "cents",
        "cents a mutant",
    )
    notes = (
        "Means of an instance, all turns together; cached tokens are part of the input, "
        "thinking (where the engine says) of the output.",
    )
    return Sheet("tokens", "Tokens and cost", columns, tuple(rows), notes)


def bugs(conversations: Sequence[Conversation]) -> Sheet:
    """Table 3: of programs with one bug each, for how many a correct postcondition was found, and for how many one that the
    bug violates, within mu turns."""
    found = [one for one in conversations if one.bug]
    rows: list[tuple[Value, ...]] = []
    for model in dict.fromkeys(one.model for one in found):
        own = [one for one in found if one.model == model]
        repositories, ones = [one.repository for one in own], [1.0] * len(own)
        most = own[0].mu
        for mu in [m for m in BUG_MUS if m < most] + [most]:
            best = [one.cut(own[0].tau, mu).best for one in own]
            right, caught = [float(step is not None) for step in best], [float(bool(step and step.caught)) for step in best]
            rows.append((model, mu, len(own), share(repositories, right, ones), share(repositories, caught, ones)))
    notes = (
        "By the judge that gave feedback, which stops when the bug is caught, as published: leaky. With "
        "strategy.feedback_split=true no bug is known to it: the share that is told apart is then the result's Comp@1.",
    )
    return Sheet("bugs", "Bug detection", ("Strategy", "μ", "n", "% Corr.", "% dist. bugs"), tuple(rows), notes)


def by_submission(conversations: Sequence[Conversation]) -> Drawn:
    """Figure 7: the best score so far over submissions."""
    models = list(dict.fromkeys(one.model for one in conversations))
    rows: list[tuple[Value, ...]] = []
    lines: dict[str, list[float]] = {}
    for model in models:
        own = [one.submissions for one in conversations if one.model == model]
        most = max((len(found) for found in own), default=0)
        for count in range(1, most + 1):
            best = [max((s.score for s in found[:count] if s.correct), default=0.0) for found in own]
            lines.setdefault(model, []).append(float(np.mean(best)))
            rows.append((model, count, Cell(lines[model][-1])))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for number, (model, values) in enumerate(lines.items()):
            style: Any = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
            axes.plot(range(1, len(values) + 1), values, label=model, linewidth=1.2, markersize=3, **style)
        axes.set_xlabel("submissions")
        axes.set_ylabel("best so far")
        axes.set_ylim(0, 1.02)
        if lines:
            axes.legend(frameon=False, fontsize=6)

    title = "Completeness over submissions"
    return Drawn("by-submission", title, draw, Sheet("by-submission", title, ("Strategy", "submission", "best"), tuple(rows)))
