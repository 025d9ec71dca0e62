"""A candidate's text, made ready to be woven; or the verdict that it gets without any execution."""

from functools import lru_cache

from ensures.verdict import Outcome, Reason, Verdict
from evaluation.java import purity
from evaluation.java.jml.clauses import place, specification
from evaluation.java.jml.syntax import Specification
from evaluation.java.jml.tokens import JmlError, JmlUnsupported
from evaluation.java.translate import Translated, translate


@lru_cache(4096)
def read(text: str) -> Specification | Verdict:
    seen = purity.looks(text)
    if seen:
        return _error(Reason.TAMPERED, f"looked ({seen})")
    if purity.escapes(text):
        return _error(Reason.UNSUPPORTED, "an escape that Java reads as a quote or a bracket")
    try:
        return specification(text)
    except JmlUnsupported as error:
        return _error(Reason.UNSUPPORTED, error.said)
    except JmlError as error:
        line, column = place(text, error.offset)
        return _error(Reason.SYNTAX_ERROR, f"line {line}, column {column}: {error.said}")


@lru_cache(4096)
def translated(text: str, returns: bool) -> Translated | Verdict:
    """`returns`: does the method give a result?"""
    found = read(text)
    if isinstance(found, Verdict):
        return found
    if not found.ensures:
        return _error(Reason.COMPILE_ERROR, "the completion holds no clause")
    try:
        return translate(found, returns)
    except JmlUnsupported as error:
        return _error(Reason.UNSUPPORTED, error.said)
    except JmlError as error:
        return _error(Reason.COMPILE_ERROR, error.said)


def _error(reason: Reason, message: str) -> Verdict:
    return Verdict(Outcome.ERROR, reason, message=message)
