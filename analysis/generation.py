"""What drawing came to, by setting: how many completions were cut off, how many prompts had to be shortened, what it cost."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.sheets import Cell, Sheet, Value
from ensures.candidate import CONTEXT, LENGTH


@dataclass(slots=True)
class Drawn:
    """Sums over the completions of one setting. Only engines that read prompts have tokens."""

    setting: str
    completions: int = 0
    cut_off: int = 0  # ended by the limit of output tokens
    shortened: int = 0  # their prompt holds less than the whole file
    too_long: int = 0  # not drawn: the method alone exceeds the model's context
    prompt_tokens: int = 0  # of the prompts, each once, however many samples answer it
    completion_tokens: int = 0
    thinking_tokens: int = 0  # of those
    cost: float = 0.0

    @property
    def share_cut_off(self) -> float:
        return self.cut_off / self.completions if self.completions else 0.0


def drawn(rows: Iterable[Mapping[str, Any]]) -> list[Drawn]:
    """By setting, in the order of their names, from rows of the completions' table."""
    found: dict[str, Drawn] = {}
    seen: set[tuple[str, str | None]] = set()
    for row in rows:
        sums = found.setdefault(row["setting"], Drawn(row["setting"]))
        sums.completions += 1
        sums.cut_off += row["finish_reason"] == LENGTH
        sums.too_long += row["finish_reason"] == CONTEXT
        sums.shortened += bool(row["left_out"]) and row["finish_reason"] != CONTEXT
        if (row["task_id"], row["prompt_hash"]) not in seen:
            seen.add((row["task_id"], row["prompt_hash"]))
            sums.prompt_tokens += row["prompt_tokens"] or 0
        sums.completion_tokens += row["completion_tokens"] or 0
        sums.thinking_tokens += row["thinking_tokens"] or 0
        sums.cost += row["cost"] or 0.0
    return [found[setting] for setting in sorted(found)]


def lines(found: Iterable[Drawn], currency: str = "USD") -> list[str]:
    """What a person should know beside the result; nothing where all completions are whole."""
    sums = list(found)
    total = sum(item.completions for item in sums)
    said = []
    if cut := sum(item.cut_off for item in sums):
        said.append(f"cut off by the limit of output tokens: {cut} of {total} completions ({cut / total:.0%})")
    if short := sum(item.shortened for item in sums):
        said.append(f"answering a prompt that was shortened to fit into the model's context: {short} of {total} completions")
    if long := sum(item.too_long for item in sums):
        said.append(f"not drawn, since the method alone exceeds the model's context: {long} of {total} (unsupported)")
    if cost := sum(item.cost for item in sums):
        said.append(f"cost: {cost:.2f} {currency} ({sum(item.completion_tokens for item in sums):,} tokens written)")
    return said


def sheet(found: Iterable[tuple[str, Mapping[str, Any]]]) -> Sheet:
    """(run, a `Drawn` as a mapping) as a table."""
    names = ("completions", "cut_off", "shortened", "too_long", "prompt_tokens", "completion_tokens", "thinking_tokens")
    rows: list[tuple[Value, ...]] = [
        (run, item["setting"].upper(), *(int(item[name]) for name in names), Cell(float(item["cost"]), digits=2))
        for run, item in found
    ]
    columns = (
        "Run",
        "Setting",
        "completions",
        "cut off",
        "shortened",
        "too long",
        "tokens of prompts",
        "tokens written",
        "of which thinking",
        "cost",
    )
    notes = (
        "Cut off by the limit of output tokens; shortened: the prompt does not hold the whole file; too long: not drawn, "
        "the method alone exceeds the context. Each prompt's tokens count once.",
    )
    return Sheet("drawing", "What was drawn", columns, tuple(rows), notes)
