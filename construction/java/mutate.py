"""Rule-based mutants of Java: the eleven operators of PostcondBench's Table 9, the defaults of PIT, as changes of source text.

PIT changes bytecode; here its rules are read as rules about the source, on tree-sitter's tree. What does not compile (a minus
between strings) is left out later, where mutants are validated. A call is removed only where it gives nothing: a mutant of
`void_method_call` carries a probe, a text that compiles only if the call has a value.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import tree_sitter

from construction.mutate import RuleMutant
from evaluation.java import syntax

_BEFORE, _AFTER = b"class Around {\n", b"\n}"
_METHODS = ("method_declaration", "constructor_declaration")

Change = tuple[int, int, str]  # from, to, what comes in its place
Rule = Callable[[tree_sitter.Node, str], Iterator[Change]]


@dataclass(frozen=True, slots=True)
class JavaMutant(RuleMutant):
    """`probe`: a text that must not compile for the mutant to count; empty: nothing is asked."""

    probe: str = ""


def _operator(node: tree_sitter.Node, swaps: dict[str, str]) -> Iterator[Change]:
    operator = node.child_by_field_name("operator")
    if operator is not None and operator.type in swaps:
        yield operator.start_byte, operator.end_byte, swaps[operator.type]


def conditionals_boundary(node: tree_sitter.Node, result: str) -> Iterator[Change]:
    """< and <=, > and >=."""
    if node.type == "binary_expression":
        yield from _operator(node, {"<": "<=", "<=": "<", ">": ">=", ">=": ">"})


def increments(node: tree_sitter.Node, result: str) -> Iterator[Change]:
    """++ and --; += and -= of a whole number."""
    if node.type == "update_expression":
        for child in node.children:
            if child.type in ("++", "--"):
                yield child.start_byte, child.end_byte, "--" if child.type == "++" else "++"
    elif node.type == "assignment_expression":
        right = node.child_by_field_name("right")
        if right is not None and right.type == "decimal_integer_literal":
            yield from _operator(node, {"+=": "-=", "-=": "+="})


def invert_negatives(node: tree_sitter.Node, result: str) -> Iterator[Change]:
    """-x becomes x; constants stay."""
    if node.type == "unary_expression" and syntax.text(node.child_by_field_name("operator")) == "-":
        operand = node.child_by_field_name("operand")
        if operand is not None and not operand.type.endswith("_literal"):
            yield node.start_byte, operand.start_byte, ""


_MATH = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<", ">>>": "<<"}


def math(node: tree_sitter.Node, result: str) -> Iterator[Change]:
    """+ and -, * and /, % to *, & and |, ^ to &, shifts; also where they assign."""
    if node.type == "binary_expression":
        yield from _operator(node, _MATH)
    elif node.type == "assignment_expression":
        yield from _operator(node, {f"{a}=": f"{b}=" for a, b in _MATH.items()})


_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_CONDITIONS = {
    "if_statement": "condition",
    "while_statement": "condition",
    "do_statement": "condition",
    "for_statement": "condition",
    "ternary_expression": "condition",
}
_PLAIN = ("identifier", "method_invocation", "field_access", "array_access", "instanceof_expression")


def negate_conditionals(node: tree_sitter.Node, result: str) -> Iterator[Change]:
    """Comparisons, and conditions that are a value or a call by themselves."""
    if node.type == "binary_expression":
        yield from _operator(node, _NEGATED)
        if syntax.text(node.child_by_field_name("operator")) in ("&&", "||"):
            for side in ("left", "right"):
                yield from _not(node.child_by_field_name(side))
    elif node.type in _CONDITIONS:
        yield from _not(node.child_by_field_name("condition"))
    elif node.type == "unary_expression" and syntax.text(node.child_by_field_name("operator")) == "!":
        operand = node.child_by_field_name("operand")
        if operand is not None:
            yield node.start_byte, operand.start_byte, ""


def _not(node: tree_sitter.Node | None) -> Iterator[Change]:
    while node is not None and node.type == "parenthesized_expression":
        node = node.named_children[0]
    if node is not None and node.type in _PLAIN:
        yield node.start_byte, node.end_byte, f"!({syntax.text(node)})"


def void_method_call(node: tree_sitter.Node, result: str) -> Iterator[Change]:
    """A call that gives nothing is left out."""
    if node.type == "expression_statement" and node.named_children[0].type == "method_invocation":
        yield node.start_byte, node.end_byte, ";"


_PRIMITIVES = ("byte", "short", "int", "long", "char", "float", "double")
_BOXED = {"Byte": "(byte) 0", "Short": "(short) 0", "Integer": "0", "Long": "0L", "Float": "0f", "Double": "0d"}
_EMPTY = {
    "String": '""',
    "CharSequence": '""',
    "Optional": "java.util.Optional.empty()",
    "List": "java.util.Collections.emptyList()",
    "Collection": "java.util.Collections.emptyList()",
    "Iterable": "java.util.Collections.emptyList()",
    "Set": "java.util.Collections.emptySet()",
    "Map": "java.util.Collections.emptyMap()",
    "Stream": "java.util.stream.Stream.empty()",
    "Character": "(char) 0",
    **_BOXED,
}


def _returned(node: tree_sitter.Node) -> tree_sitter.Node | None:
    return node.named_children[0] if node.type == "return_statement" and node.named_children else None


def _instead(node: tree_sitter.Node, text: str) -> Iterator[Change]:
    value = _returned(node)
    if value is not None and syntax.text(value) != text:
        yield value.start_byte, value.end_byte, text


def _raw(result: str) -> str:
    return result.partition("<")[0].rpartition(".")[2].strip()


def empty_returns(node: tree_sitter.Node, result: str) -> Iterator[Change]:
    """Nothing of the kind that is returned: "", an empty list, a zero that is an object."""
    if _raw(result) in _EMPTY and not result.endswith("]"):
        yield from _instead(node, _EMPTY[_raw(result)])


def false_returns(node: tree_sitter.Node, result: str) -> Iterator[Change]:
    if result in ("boolean", "Boolean"):
        yield from _instead(node, "false")


def true_returns(node: tree_sitter.Node, result: str) -> Iterator[Change]:
    if result in ("boolean", "Boolean"):
        yield from _instead(node, "true")


def null_returns(node: tree_sitter.Node, result: str) -> Iterator[Change]:
    """Of objects for which there is nothing empty."""
    if result and result not in (*_PRIMITIVES, "boolean", "Boolean") and (_raw(result) not in _EMPTY or result.endswith("]")):
        yield from _instead(node, "null")


def primitive_returns(node: tree_sitter.Node, result: str) -> Iterator[Change]:
    if result in _PRIMITIVES:
        yield from _instead(node, "0")


OPERATORS: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        conditionals_boundary,
        false_returns,
        invert_negatives,
        true_returns,
        increments,
        math,
        primitive_returns,
        negate_conditionals,
        empty_returns,
        void_method_call,
        null_returns,
    )
}


def mutants(implementation: str) -> list[JavaMutant]:
    """All rule mutants of a method's text, deduplicated by text, in the order of their places. Some may not compile."""
    code = _BEFORE + implementation.encode() + _AFTER
    root = syntax.parse(code)
    method = next(_find(root), None)
    body = method.child_by_field_name("body") if method is not None else None
    if method is None or body is None:
        return []
    result = syntax.text(method.child_by_field_name("type")) + syntax.text(method.child_by_field_name("dimensions"))
    result = "" if result == "void" else result
    found: dict[str, tuple[list[str], int, str]] = {}
    for node, inside in _walk(body, False):
        for name, rule in OPERATORS.items():
            if inside and name.endswith("_returns"):
                continue  # what a lambda or an inner class returns is not the method's
            for start, end, text in rule(node, result):
                changed = (code[:start] + text.encode() + code[end:])[len(_BEFORE) : -len(_AFTER)].decode()
                if changed == implementation:
                    continue
                probe = ""
                if name == "void_method_call":
                    value = b"{ var $probe = " + code[start:end] + b" }"
                    probe = (code[:start] + value + code[end:])[len(_BEFORE) : -len(_AFTER)].decode()
                names, _, _ = found.setdefault(changed, ([], node.start_point.row, probe))
                if name not in names:
                    names.append(name)
    return [JavaMutant(text, tuple(names), line, probe) for text, (names, line, probe) in found.items()]


def _find(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    if node.type in _METHODS:
        yield node
        return
    for child in node.children:
        yield from _find(child)


def _walk(node: tree_sitter.Node, inside: bool) -> Iterator[tuple[tree_sitter.Node, bool]]:
    """Every node below, and whether it stands in a lambda or a class of its own."""
    for child in node.children:
        if child.type == "explicit_constructor_invocation":
            continue  # before the body, as far as a woven constructor is concerned
        own = inside or child.type in ("lambda_expression", "class_body")
        yield child, own
        yield from _walk(child, own)
