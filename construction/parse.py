"""Finds the methods of a Python module: where they stand, what kind they are, their comment, size and complexity."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mccabe import PathGraphingAstVisitor

_WORD = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*")


@dataclass(frozen=True, slots=True)
class Method:
    """Lines are 1-based and inclusive. `kind`: function, instance, class, static, property, nested (a function's own)."""

    qualname: str
    kind: str
    start_line: int
    end_line: int
    body_start_line: int  # first line after the comment
    signature: str
    comment: str
    implementation: str
    complexity: int
    is_async: bool
    is_generator: bool
    parameters: tuple[str, ...]

    @property
    def comment_words(self) -> int:
        return len(_WORD.findall(self.comment))

    @property
    def lines(self) -> int:
        return self.end_line - self.start_line + 1


def methods(text: str) -> Iterator[Method]:
    """All functions of the module, in order, methods of nested classes and functions within functions included."""
    tree = ast.parse(text)
    lines = text.split("\n")
    complexity = _complexities(tree)
    yield from _walk(tree, lines, complexity, "", "module")


def find(text: str, qualname: str) -> Method | None:
    """The last definition of that name: the one that stands after import."""
    found = None
    for method in methods(text):
        if method.qualname == qualname:
            found = method
    return found


def _walk(node: ast.AST, lines: list[str], complexity: dict[int, int], prefix: str, within: str) -> Iterator[Method]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _walk(child, lines, complexity, f"{prefix}{child.name}.", "class")
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield _method(child, lines, complexity, prefix, within)
            yield from _walk(child, lines, complexity, f"{prefix}{child.name}.<locals>.", "function")
        elif isinstance(child, (ast.If, ast.Try, ast.With, ast.For, ast.While, ast.ExceptHandler)):
            yield from _walk(child, lines, complexity, prefix, within)


def _method(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    lines: list[str],
    complexity: dict[int, int],
    prefix: str,
    within: str,
) -> Method:
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    end = node.end_lineno or node.lineno
    docstring = ast.get_docstring(node, clean=False)
    body = node.body
    first = body[0].lineno
    comment = ""
    signature_end = first - 1
    if docstring is not None:
        comment = ast.get_docstring(node) or ""
        first = body[1].lineno if len(body) > 1 else body[0].end_lineno or first
    above = []
    line = start - 2
    while line >= 0 and lines[line].lstrip().startswith("#"):
        above.append(lines[line].strip().lstrip("#").strip())
        line -= 1
    if above and not comment:
        comment = "\n".join(reversed(above))
    signature = "\n".join(lines[start - 1 : max(signature_end, node.lineno)])
    if signature_end < node.lineno:  # body on the line of the def
        signature = lines[node.lineno - 1]
    arguments = node.args
    parameters = [a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    return Method(
        qualname=prefix + node.name,
        kind=_kind(node, within),
        start_line=start,
        end_line=end,
        body_start_line=first,
        signature=signature,
        comment=comment,
        implementation="\n".join(lines[start - 1 : end]),
        complexity=complexity.get(node.lineno, 1),
        is_async=isinstance(node, ast.AsyncFunctionDef),
        is_generator=_yields(node),
        parameters=tuple(parameters),
    )


def _kind(node: ast.FunctionDef | ast.AsyncFunctionDef, within: str) -> str:
    if within == "function":
        return "nested"
    if within == "module":
        return "function"
    names = {ast.unparse(decorator).split("(")[0] for decorator in node.decorator_list}
    if "staticmethod" in names:
        return "static"
    if "classmethod" in names:
        return "class"
    if any(name.endswith(("property", ".setter", ".getter")) for name in names):
        return "property"
    return "instance"


def _yields(node: ast.AST) -> bool:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Yield, ast.YieldFrom)):
            return True
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if _yields(child):
            return True
    return False


def _complexities(tree: ast.AST) -> dict[int, int]:
    """Cyclomatic complexity (McCabe) by the line of the def; inner functions count for the outer one, too."""
    visitor = PathGraphingAstVisitor()
    visitor.preorder(tree, visitor)
    found = {graph.lineno: graph.complexity() for graph in visitor.graphs.values()}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno not in found:
            single = PathGraphingAstVisitor()
            single.preorder(ast.Module(body=[node], type_ignores=[]), single)
            found[node.lineno] = max((graph.complexity() for graph in single.graphs.values()), default=1)
    return found
