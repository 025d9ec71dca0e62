"""Python, by libcst."""

import textwrap
from collections.abc import Collection

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

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
    visitor = _Outermost()
    MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True).visit(visitor)
    return visitor.found


def reduced(source: str, bodiless: Collection[int], gone: Collection[int]) -> str:
    """The source without these functions' bodies, and without those functions; both by index in `functions`."""
    return cst.parse_module(source).visit(_Reduced(bodiless, gone)).code


def _is_lone_string(statement: cst.BaseStatement | cst.BaseSmallStatement) -> bool:
    if isinstance(statement, cst.SimpleStatementLine):
        return all(_is_lone_string(small) for small in statement.body)
    return isinstance(statement, cst.Expr) and isinstance(
        statement.value, (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
    )


def _declared(function: cst.FunctionDef) -> cst.FunctionDef:
    """The function with its docstring and `...` for a body."""
    nothing = cst.SimpleStatementLine([cst.Expr(cst.Ellipsis())])
    body = function.body
    if isinstance(body, cst.IndentedBlock):
        kept = [body.body[0]] if body.body and _is_lone_string(body.body[0]) else []
        return function.with_changes(body=cst.IndentedBlock(body=[*kept, nothing], indent=body.indent))
    return function.with_changes(body=cst.SimpleStatementSuite([cst.Expr(cst.Ellipsis())]))


class _Filled(cst.CSTTransformer):
    """A block that lost its statements gets `pass`."""

    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> cst.IndentedBlock:
        if updated_node.body:
            return updated_node
        return updated_node.with_changes(body=[cst.SimpleStatementLine([cst.Pass()])])

    def leave_SimpleStatementSuite(
        self, original_node: cst.SimpleStatementSuite, updated_node: cst.SimpleStatementSuite
    ) -> cst.SimpleStatementSuite:
        return updated_node if updated_node.body else updated_node.with_changes(body=[cst.Pass()])


class _NoComments(_Filled):
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
        return _declared(updated_node)


class _Outermost(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        self.found: list[Function] = []
        self._classes: list[str] = []

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._classes.append(node.name.value)

    def leave_ClassDef(self, original_node: cst.ClassDef) -> None:
        self._classes.pop()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        place = self.get_metadata(PositionProvider, node)
        self.found.append(Function(".".join([*self._classes, node.name.value]), place.start.line, place.end.line))
        return False


class _Reduced(_Filled):
    def __init__(self, bodiless: Collection[int], gone: Collection[int]) -> None:
        self.bodiless, self.gone = bodiless, gone
        self._next = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef | cst.RemovalSentinel:
        index, self._next = self._next, self._next + 1
        if index in self.gone:
            return cst.RemoveFromParent()
        return _declared(updated_node) if index in self.bodiless else updated_node
