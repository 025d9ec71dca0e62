"""The assert dialect: from a completion's text to asserts over the parameters and `return_value` (nl2postcond).

What stands beside the asserts (imports, assignments, loops, functions) is kept: it is one piece of code. A text without any
assert, or with a `return` outside a function, which would skip what follows, is malformed.
"""

import ast
from collections.abc import Iterator

from ensures.candidate import Artifact, Clauses, Malformed
from ensures.verdict import Reason
from inference.dialects.answer import MOST_CHARACTERS, block


def parse(text: str) -> Artifact:
    """Never raises: what can't be parsed is a candidate with a reason."""
    if len(text) > MOST_CHARACTERS:
        return Malformed(Reason.UNSUPPORTED, f"the completion is longer than {MOST_CHARACTERS:,} characters")
    source = block(text)
    try:
        module = ast.parse(source)
    except SyntaxError as error:
        return Malformed(Reason.SYNTAX_ERROR, f"line {error.lineno}: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return Malformed(Reason.SYNTAX_ERROR, f"{type(error).__name__}: {error}")
    stray = next(_returns(module), None)
    if stray is not None:
        return Malformed(Reason.COMPILE_ERROR, f"line {stray}: a return outside a function")
    asserts = sorted((node for node in ast.walk(module) if isinstance(node, ast.Assert)), key=lambda node: node.lineno)
    if not asserts:
        return Malformed(Reason.COMPILE_ERROR, "the completion holds no assert")
    texts = tuple(ast.get_source_segment(source, node) or ast.unparse(node) for node in asserts)
    return Clauses(source, (), (), texts)


def alone(found: Clauses) -> list[Clauses]:
    """Each assert by itself: the text with `pass` in place of the others."""
    lines = found.text.encode().split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    nodes = sorted((node for node in ast.walk(ast.parse(found.text)) if isinstance(node, ast.Assert)), key=lambda n: n.lineno)
    places = [(starts[n.lineno - 1] + n.col_offset, starts[(n.end_lineno or 0) - 1] + (n.end_col_offset or 0)) for n in nodes]
    made = []
    for kept, clause in enumerate(found.ensures):
        code = found.text.encode()
        for number, (first, last) in sorted(enumerate(places), key=lambda item: -item[1][0]):
            if number != kept:
                code = code[:first] + b"pass" + code[last:]
        made.append(Clauses(code.decode(), (), (), (clause,), found.notes))
    return made


def _returns(node: ast.AST) -> Iterator[int]:
    """Lines of what only a function may hold."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Return, ast.Yield, ast.YieldFrom, ast.Await)):
            yield child.lineno
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from _returns(child)
