"""What a turn says: SpecMind's tags (Figure 3), with all the ways in which models get them wrong.

A turn is a thought, `<think>...</think>`, and one action: `<assert>` probes, `<solution>` submits, `<stop>` ends. What each
thing in it comes to:

- an `<observation>`: the model made it up; it is cut, with all that follows;
- several actions: the first counts, as where a completion ends at the first closing tag;
- an action that is opened and never closed: it counts, unless the completion was cut off by its limit;
- a thought that is never closed: it ends where the first action begins;
- a code fence inside an action: its content counts (the dialect sees to that);
- no action, an empty one, or one that is not offered: malformed. It costs a turn, and the model is told.
"""

import enum
import re
from dataclasses import dataclass

from ensures.candidate import LENGTH


class Kind(enum.StrEnum):
    PROBE = "probe"
    SUBMIT = "submit"
    STOP = "stop"
    MALFORMED = "malformed"


TAGS = {Kind.PROBE: "assert", Kind.SUBMIT: "solution", Kind.STOP: "stop"}
_ACTION = re.compile(r"<(assert|solution|stop)\s*(/?)>", re.IGNORECASE)
_THINK = re.compile(r"<think>(.*?)(</think>|\Z)", re.DOTALL | re.IGNORECASE)
_OBSERVATION = re.compile(r"</?observation\b[^>]*>", re.IGNORECASE)
_CLOSED_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Said:
    """`text`: what stays in the conversation. `wrong`: why it is malformed, for the model to read."""

    kind: Kind
    text: str
    thought: str
    proposal: str = ""
    wrong: str = ""


def stops(offered: tuple[Kind, ...]) -> tuple[str, ...]:
    """Where a completion may end."""
    return tuple(f"</{TAGS[kind]}>" for kind in offered)


def read(text: str, finish_reason: str, offered: tuple[Kind, ...]) -> Said:
    """Never raises."""
    made_up = _OBSERVATION.search(text)
    if made_up:
        text = text[: made_up.start()]
    # a tag that stands in a closed thought is none
    hidden = _CLOSED_THOUGHT.sub(lambda found: "\0" * len(found[0]), text)
    action = _ACTION.search(hidden)
    thought = _thought(text[: action.start()] if action else text)
    if action is None:
        names = _names(offered)
        return Said(Kind.MALFORMED, text.strip(), thought, wrong=f"there is no action: end each turn with {names}")
    kind = next(kind for kind, tag in TAGS.items() if tag == action[1].lower())
    close = re.compile(rf"</{action[1]}\s*>", re.IGNORECASE).search(text, action.end())
    proposal = text[action.end() : close.start() if close else len(text)].strip()
    said = text[: close.end() if close else len(text)].strip()
    if kind not in offered:
        return Said(Kind.MALFORMED, said, thought, wrong=f"<{TAGS[kind]}> is no action here: use {_names(offered)}")
    if kind is Kind.STOP:
        return Said(kind, said, thought)
    if close is None and finish_reason == LENGTH:
        return Said(Kind.MALFORMED, said, thought, wrong="the turn was cut off by the limit of its length: be shorter")
    if not proposal or action[2]:
        return Said(Kind.MALFORMED, said, thought, wrong=f"<{TAGS[kind]}> is empty")
    return Said(kind, said if close else f"{said}</{TAGS[kind]}>", thought, proposal)


def _thought(text: str) -> str:
    """What is thought; without tags, all that stands before the action."""
    found = _THINK.findall(text)
    return "\n".join(part.strip() for part, _ in found).strip() if found else text.strip()


def _names(offered: tuple[Kind, ...]) -> str:
    return " or ".join(f"<{TAGS[kind]}>...</{TAGS[kind]}>" for kind in offered)
