"""The JML dialect: from a completion's text to clauses.

As for icontract, the fenced block (the last, where there are several), or the whole text where there is no fence, is what
was answered. Here it is only cut into clauses; whether they are JML, and Java, is the checker's to say
(`evaluation.java.jml`). A text without any `ensures` is malformed.
"""

import re

from ensures.candidate import Artifact, Clauses, Malformed
from ensures.verdict import Reason
from inference.dialects.answer import MOST_CHARACTERS, block

_ENSURES = re.compile(r"\b(?:ensures|post)(?:_redundantly)?\b")
_WORDS = "ensures|requires|signals|assignable|modifies|also|post|pre|normal_behavior|behavior"
# up to the semicolon that ends a line or a block, or stands before the next clause
_CLAUSE = re.compile(rf"\b(?:ensures|post)(?:_redundantly)?\b(.*?);(?=\s*(?:$|//|@|\*/|/\*|(?:{_WORDS})\b))", re.DOTALL)


def parse(text: str) -> Artifact:
    """Never raises: what can't be parsed is a candidate with a reason."""
    if len(text) > MOST_CHARACTERS:
        return Malformed(Reason.UNSUPPORTED, f"the completion is longer than {MOST_CHARACTERS:,} characters")
    source = block(text)
    if "\0" in source:
        return Malformed(Reason.SYNTAX_ERROR, "the completion holds a null byte")
    if not source.strip() or not _ENSURES.search(source):
        return Malformed(Reason.COMPILE_ERROR, "the completion holds no clause")
    ensures = tuple(found.group(0) for found in _CLAUSE.finditer(source)) or (source.strip(),)
    return Clauses(source, (), (), ensures)


def alone(found: Clauses) -> list[Clauses]:
    """Each clause by itself: the text without the others. Preconditions stay."""
    places = [match.span() for match in _CLAUSE.finditer(found.text)]
    if len(places) < 2:
        return [found]
    made = []
    for kept, (first, last) in enumerate(places):
        text = found.text
        for number, (start, end) in reversed(list(enumerate(places))):
            if number != kept:
                text = text[:start] + text[end:]
        made.append(Clauses(text, (), (), (found.text[first:last],), found.notes))
    return made
