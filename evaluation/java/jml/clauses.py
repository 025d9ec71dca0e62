"""From a candidate's text to clauses.

JML stands in comments: `//@ ensures ...;` over one or more lines (`// @` is taken as well, with a note), or `/*@ ... @*/`,
each line of which may begin with `@`. What is no JML comment and not blank is an error. `requires` is kept beside `ensures`;
`also`, behaviours, `signals`, `assignable` and their like are ignored with a note.
"""

import re

from evaluation.java.jml.parse import parse
from evaluation.java.jml.syntax import Clause, Specification
from evaluation.java.jml.tokens import CLOSING, JmlError, Token, tokens

KEPT = {"ensures": "ensures", "post": "ensures", "requires": "requires", "pre": "requires"}
_CLAUSES = (
    "signals",
    "signals_only",
    "assignable",
    "modifies",
    "modifiable",
    "assigns",
    "accessible",
    "diverges",
    "measured_by",
)
_WORDS = ("also", "normal_behavior", "behavior", "exceptional_behavior", "public", "protected", "private", "pure", "nullable")
_LINE = re.compile(r"[ \t]*//(?P<blank>[ \t]*)@[ \t]?(?P<rest>[^\n]*)")
_BLOCK = re.compile(r"[ \t]*/\*@(?P<rest>.*?)@?\*/", re.DOTALL)


def specification(text: str) -> Specification:
    """Raises JmlError and JmlUnsupported with offsets of `text`; `place` turns them into line and column."""
    notes: dict[str, None] = {}
    clauses: list[Clause] = []
    bare = _bare(text, notes)
    statement: list[Token] = []
    depth = 0
    for token in tokens(bare):
        if token.kind == "operator":
            depth += (token.text in CLOSING) - (token.text in CLOSING.values())
        if token.text != ";" or depth:
            statement.append(token)
            continue
        _statement(bare, statement, token, clauses, notes)
        statement = []
    while statement and statement[0].text in _WORDS:
        notes[f"{statement.pop(0).text} is ignored"] = None
    if statement:
        raise JmlError(f"{statement[0].text!r} is not ended by ';'", statement[0].start)
    return Specification(tuple(clauses), tuple(notes))


def place(text: str, offset: int) -> tuple[int, int]:
    """(line, column), 1-based."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _statement(bare: str, given: list[Token], end: Token, clauses: list[Clause], notes: dict[str, None]) -> None:
    while given and given[0].text in _WORDS:
        notes[f"{given.pop(0).text} is ignored"] = None
    if not given:
        return
    keyword = given[0]
    name = keyword.text.removesuffix("_redundantly")
    if name in _CLAUSES:
        notes[f"{keyword.text} is ignored"] = None
    elif name in KEPT:
        line, _ = place(bare, keyword.start)
        clauses.append(Clause(KEPT[name], parse(bare, keyword.end, end.start), line))
    else:
        raise JmlError(f"{keyword.text!r} begins no clause", keyword.start)


def _bare(text: str, notes: dict[str, None]) -> str:
    """The JML alone, every character where it was in the text."""
    found = [character if character == "\n" else " " for character in text]
    at = 0
    while at < len(text):
        if match := _BLOCK.match(text, at):
            start = match.start("rest")
            for line in re.finditer(r"(?:^[ \t]*@+)?([^\n]*)", match["rest"], re.MULTILINE):
                found[start + line.start(1) : start + line.end(1)] = line[1]
            at = match.end()
        elif match := _LINE.match(text, at):
            if match["blank"]:
                notes["'// @' is taken for '//@'"] = None
            found[match.start("rest") : match.end("rest")] = match["rest"]
            at = match.end()
        elif text[at].isspace():
            at += 1
        else:
            raise JmlError("this is no JML comment", at)
    return "".join(found)
