"""The part of a completion that is code: after any thinking, the last fenced block, or all of it where there is no fence."""

import re
import textwrap

MOST_CHARACTERS = 200_000

_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
_OPEN_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*)\Z", re.DOTALL | re.MULTILINE)


def block(text: str) -> str:
    """The part of a completion that is taken for code."""
    answer = text.rpartition("</think>")[2]
    fenced = _FENCE.findall(answer)
    if fenced:
        return textwrap.dedent(fenced[-1]).strip("\n")
    opened = _OPEN_FENCE.search(answer)  # cut off by the length limit
    return textwrap.dedent(opened.group(1) if opened else answer).strip("\n")
