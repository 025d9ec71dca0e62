"""Python. What a setting hides is removed by libcst, which keeps the rest as it stands; functions are found by ast, which is
twenty times faster, and cut out by lines."""

import ast
import textwrap
import warnings
from collections.abc import Collection
from functools import lru_cache

import libcst as cst

from inference.source import Function


def without_comments(source: str) -> str:
    """The source without comments, docstrings and lone string statements."""
    return cst.parse_module(source).visit(_NoComments()).code


def without_bodies(source: str) -> str:
    """The source with signatures and comments, every function's body left out."""
    return cst.parse_module(source).visit(_NoBodies()).code


def method_without_comments(method: str) -> str:
    return without_comments(textwrap.dedent(method))


def signature_and_comment(method: str, comment: str) -> str:
    """The method's signature with its docstring; a comment that is no docstring stands above."""
    module = cst.parse_module(without_bodies(textwrap.dedent(method)))
    first = next((node for node in module.body if isinstance(node, cst.FunctionDef)), None)
    if not comment or (first is not None and first.get_docstring() is not None):
        return module.code
    above = "\n".join(f"# {line}".rstrip() for line in comment.splitlines())
    return f"{above}\n{module.code}"


def functions(source: str) -> list[Function]:
    return [function for function, _ in _outermost(source)]


def reduced(source: str, bodiless: Collection[int], gone: Collection[int]) -> str:
    """The source without these functions' bodies, and without those functions; both by index in `functions`."""
    lines = source.split("\n")
    for index, (function, body) in reversed(list(enumerate(_outermost(source)))):
        if index in gone:
            first = function.first - 1
            while first and lines[first - 1].lstrip().startswith("#"):
                first -= 1
            lines[first : function.last] = []
        elif index in bodiless and body is not None:
            indent = len(lines[body - 1]) - len(lines[body - 1].lstrip())
            lines[body - 1 : function.last] = [" " * indent + "..."]
    return "\n".join(lines)


@lru_cache(maxsize=16)
def _outermost(source: str) -> tuple[tuple[Function, int | None], ...]:
    """Functions that stand in no other, each with the line where its body begins after the docstring: None where nothing
    can be left out. Empty where this interpreter can't read the source."""
    found: list[tuple[Function, int | None]] = []

    def look(body: list[ast.stmt], classes: tuple[str, ...]) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                rest = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
                begins = rest[0].lineno if rest and rest[0].lineno > node.lineno else None
                function = Function(".".join([*classes, node.name]), first, node.end_lineno or node.lineno)
                found.append((function, begins))
            elif isinstance(node, ast.ClassDef):
                look(node.body, (*classes, node.name))
            else:  # behind an if, a try, a with
                for inner in ("body", "orelse", "finalbody"):
                    look(getattr(node, inner, []), classes)
                for handler in getattr(node, "handlers", []):
                    look(handler.body, classes)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            look(ast.parse(source).body, ())
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(found)


def _is_lone_string(statement: cst.BaseStatement | cst.BaseSmallStatement) -> bool:
    if isinstance(statement, cst.SimpleStatementLine):
        return all(_is_lone_string(small) for small in statement.body)
    return isinstance(statement, cst.Expr) and isinstance(
        statement.value, (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
    )


class _NoComments(cst.CSTTransformer):
    """A block that lost its statements gets `pass`."""

    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> cst.IndentedBlock:
        if updated_node.body:
            return updated_node
        return updated_node.with_changes(body=[cst.SimpleStatementLine([cst.Pass()])])

    def leave_SimpleStatementSuite(
        self, original_node: cst.SimpleStatementSuite, updated_node: cst.SimpleStatementSuite
    ) -> cst.SimpleStatementSuite:
        return updated_node if updated_node.body else updated_node.with_changes(body=[cst.Pass()])

    def leave_TrailingWhitespace(
        self, original_node: cst.TrailingWhitespace, updated_node: cst.TrailingWhitespace
    ) -> cst.TrailingWhitespace:
        return updated_node.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))

    def leave_EmptyLine(
        self, original_node: cst.EmptyLine, updated_node: cst.EmptyLine
    ) -> cst.EmptyLine | cst.RemovalSentinel:
        return cst.RemoveFromParent() if original_node.comment is not None else updated_node

    def leave_Expr(self, original_node: cst.Expr, updated_node: cst.Expr) -> cst.Expr | cst.RemovalSentinel:
        return cst.RemoveFromParent() if _is_lone_string(original_node) else updated_node


class _NoBodies(cst.CSTTransformer):
    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        nothing = cst.SimpleStatementLine([cst.Expr(cst.Ellipsis())])
        body = updated_node.body
        if isinstance(body, cst.IndentedBlock):
            kept = [body.body[0]] if body.body and _is_lone_string(body.body[0]) else []
            return updated_node.with_changes(body=cst.IndentedBlock(body=[*kept, nothing], indent=body.indent))
        return updated_node.with_changes(body=cst.SimpleStatementSuite([cst.Expr(cst.Ellipsis())]))
