"""The left sides of implications: `not A or B` and `B if A else True` say nothing where A is false."""

import ast
from dataclasses import replace

from ensures.candidate import Clauses


def of_icontract(clauses: Clauses) -> list[tuple[int, Clauses]]:
    """(position of the clause, a set that holds where its left side does) for every clause that is an implication."""
    found = []
    for position, text in enumerate(clauses.ensures):
        call = ast.parse(text.strip().removeprefix("@").strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], ast.Lambda):
            continue
        condition = call.args[0]
        left = _left(condition.body)
        if left is None:
            continue
        alone = ast.Call(func=call.func, args=[ast.Lambda(args=condition.args, body=left)], keywords=[])
        ensure = "@" + ast.unparse(alone)
        found.append((position, replace(clauses, text="\n".join((*clauses.snapshots, ensure)), ensures=(ensure,))))
    return found


def of_asserts(clauses: Clauses) -> list[tuple[int, str]]:
    """(position of the assert, the candidate with an assert in its place that fails where its left side holds), for every
    assert at the top that is an implication."""
    found = []
    module = ast.parse(clauses.text)
    asserts = sorted((node for node in ast.walk(module) if isinstance(node, ast.Assert)), key=lambda node: node.lineno)
    for node in module.body:
        left = _left(node.test) if isinstance(node, ast.Assert) else None
        if isinstance(node, ast.Assert) and left is not None:
            whole, node.test = node.test, ast.UnaryOp(op=ast.Not(), operand=left)
            found.append((asserts.index(node), ast.unparse(module)))
            node.test = whole
    return found


def _left(body: ast.expr) -> ast.expr | None:
    if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.Or):
        negated = [v.operand for v in body.values[:-1] if isinstance(v, ast.UnaryOp) and isinstance(v.op, ast.Not)]
        if len(negated) == len(body.values) - 1:
            return negated[0] if len(negated) == 1 else ast.BoolOp(op=ast.And(), values=negated)
    if isinstance(body, ast.IfExp):
        if _true(body.orelse):
            return body.test
        if _true(body.body):
            return ast.UnaryOp(op=ast.Not(), operand=body.test)
    return None


def _true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
