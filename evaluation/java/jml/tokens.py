"""The tokens of JML: Java's, the words with a backslash, and four operators. Positions are offsets into the text."""

import re
from dataclasses import dataclass

from ensures.errors import EnsuresError

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*|/\*.*?\*/)
    | (?P<text>\"\"\"(?:\\.|[^\\])*?\"\"\"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
    | (?P<number>(?:\d|\.\d)(?:[eEpP][+-]|[\w.])*)
    | (?P<word>\\?[A-Za-z_$][\w$]*)
    | (?P<operator><=!=>|<==>|==>|<==|->|::|\+\+|--|&&|\|\||[=!<>]=|[-+*/%&|^]=|[-+*/%&|^!~<>=?:.,;@()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
CLOSING = {"(": ")", "[": "]", "{": "}"}


class JmlError(EnsuresError, ValueError):
    """A candidate's fault, turned into a verdict by whoever parses: what is wrong, at an offset of the text."""

    def __init__(self, said: str, offset: int) -> None:
        super().__init__(said)
        self.said, self.offset = said, offset


class JmlUnsupported(JmlError):
    """JML that is outside of what is checked, by name."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: str  # text, number, word, operator
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def tokens(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """Raises JmlError where something is no token, or a bracket has no partner."""
    found: list[Token] = []
    open_: list[Token] = []
    at, end = start, len(text) if end is None else end
    while at < end:
        match = _TOKEN.match(text, at, end)
        if match is None:
            raise JmlError(f"unexpected {text[at]!r}", at)
        at = match.end()
        if match.lastgroup == "space":
            continue
        token = Token(match.lastgroup or "", match.group(), match.start())
        found.append(token)
        if token.kind != "operator":
            continue
        if token.text in CLOSING:
            open_.append(token)
        elif token.text in CLOSING.values() and (not open_ or CLOSING[open_.pop().text] != token.text):
            raise JmlError(f"{token.text!r} closes nothing", token.start)
    if open_:
        raise JmlError(f"{open_[-1].text!r} is not closed", open_[-1].start)
    return found
