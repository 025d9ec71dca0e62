"""Where a method's code begins: the line that CPython gives to its code object is its first decorator's."""

import ast
import textwrap

from ensures.task import Task


def _parse(task: Task) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(task.implementation))
    except SyntaxError:
        return None
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return node
    return None


def first_line(task: Task) -> int:
    """1-based line in the task's file."""
    node = _parse(task)
    if node is None:
        return task.start_line
    offset = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return task.start_line + offset - 1


def is_async(task: Task) -> bool:
    return isinstance(_parse(task), ast.AsyncFunctionDef)
