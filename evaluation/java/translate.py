"""From JML to Java: expressions that the woven method evaluates after its body, and what it has to save before.

`\\old(e)` becomes a variable that is declared before the body. Quantifiers become loops over the whole numbers between the
bounds that their range states, with the whole range as a filter inside, so that a bound only has to be implied by it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import tree_sitter

from evaluation.java import syntax
from evaluation.java.jml.syntax import (
    Chain,
    Conditional,
    Equivalence,
    Expression,
    Function,
    Implication,
    Java,
    Old,
    Quantified,
    Result,
    Specification,
    TypeLiteral,
)
from evaluation.java.jml.tokens import JmlError, JmlUnsupported

RESULT = "$ensures_result"
SAVED = "$ensures_old"  # and a number: what \\old saved
API = "EnsuresJml"
_WHOLE = ("int", "long", "short", "byte", "char")
_BEFORE, _AFTER = b"class C { boolean f = ", b"; }"
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Translated:
    """`captures`: variable and expression, in the order of their declaration."""

    requires: tuple[str, ...]
    clauses: tuple[str, ...]
    captures: tuple[tuple[str, str], ...]

    def renamed(self, number: int) -> "Translated":
        """With variables of its own, where several candidates share a scope. (No candidate's own text holds such a name.)"""

        def own(text: str) -> str:
            return text.replace(SAVED, f"{SAVED}_{number}_")

        captures = tuple((own(name), own(text)) for name, text in self.captures)
        return Translated(self.requires, tuple(map(own, self.clauses)), captures)


def translate(specification: Specification, returns: bool) -> Translated:
    """Java for every clause.

    Raises JmlUnsupported, and JmlError for what no compiler would take (`\\result` of a method that returns nothing).
    """
    work = _Translation(returns)
    requires = tuple(work.java(clause.expression) for clause in specification.requires)
    if work.captures:
        raise JmlError("\\old stands in a requires", 0)
    clauses = tuple(work.java(clause.expression) for clause in specification.ensures)
    return Translated(requires, clauses, tuple(work.captures))


class _Translation:
    def __init__(self, returns: bool) -> None:
        self.returns = returns
        self.captures: list[tuple[str, str]] = []
        self._before = False  # inside of \old
        self._loops = 0

    def java(self, expression: Expression) -> str:
        match expression:
            case Java(parts):
                return "".join(part if isinstance(part, str) else self.java(part) for part in parts)
            case Result():
                if not self.returns:
                    raise JmlError("\\result of a method that returns nothing", 0)
                if self._before:
                    raise JmlError("\\result stands in \\old: there is no result yet", 0)
                return RESULT
            case Old(inner):
                return self._old(inner)
            case Implication(left, right, backward):
                a, b = self.java(left), self.java(right)
                return f"(({a}\n) || !({b}\n))" if backward else f"(!({a}\n) || ({b}\n))"
            case Equivalence(left, right, negated):
                operator = "!=" if negated else "=="
                return f"((boolean) ({self.java(left)}\n) {operator} (boolean) ({self.java(right)}\n))"
            case Conditional(test, then, otherwise):
                return f"(({self.java(test)}\n) ? ({self.java(then)}\n) : ({self.java(otherwise)}\n))"
            case Chain(operands, operators):
                texts = [self.java(operand) for operand in operands]
                pairs = zip(texts, operators, texts[1:], strict=False)
                return "(" + " && ".join(f"({a}\n) {operator} ({b}\n)" for a, operator, b in pairs) + ")"
            case Quantified():
                return self._quantified(expression)
            case Function("typeof", argument):
                return f"{API}.typeOf({self.java(argument)}\n)"
            case Function(_, argument):
                return f"{API}.nonNullElements({self.java(argument)}\n)"
            case TypeLiteral(type_):
                return f"{_erased(type_)}.class"
        raise AssertionError(expression)

    def _old(self, inner: Expression) -> str:
        if self._before:
            return f"({self.java(inner)}\n)"
        self._before = True
        try:
            text = self.java(inner)
        finally:
            self._before = False
        for name, known in self.captures:
            if known == text:
                return name
        name = f"{SAVED}{len(self.captures)}"
        self.captures.append((name, text))
        return name

    def _quantified(self, given: Quantified) -> str:
        if given.type not in _WHOLE:
            raise JmlUnsupported(f"\\{given.kind} over {given.type}: only whole numbers in a range are checked", 0)
        bounds = [self._bounds(given, variable) for variable in given.variables]
        loops = [f"$ensures_i{self._loops + index}" for index in range(len(bounds))]
        self._loops += len(bounds)
        range_ = "true" if given.range is None else f"({self.java(given.range)}\n)"
        body = self.java(given.body)
        found = ""
        for depth in reversed(range(len(bounds))):
            head = f"long {loops[depth]}"
            own = f"final {given.type} {given.variables[depth]} = ({given.type}) {loops[depth]};"
            innermost = depth == len(bounds) - 1
            found = _loop(given.kind, bounds[depth], head, own, range_, f"({body}\n)" if innermost else found, innermost)
        return found

    def _bounds(self, given: Quantified, variable: str) -> tuple[str, str]:
        """Calls that give the first and the last value to be tried."""
        later = given.variables[given.variables.index(variable) :]
        low = high = None
        for left, operator, right in _comparisons(given.range, self.java) if given.range is not None else ():
            if left == variable:
                pass
            elif right == variable:
                left, operator, right = right, _TURNED.get(operator, operator), left
            else:
                continue
            if any(name in _words(right) for name in later):
                continue
            strict = "true" if len(operator) == 1 else "false"
            if operator in (">", ">=", "==") and low is None:
                low = f"{API}.from({right}\n, {strict if operator != '==' else 'false'})"
            if operator in ("<", "<=", "==") and high is None:
                high = f"{API}.to({right}\n, {strict if operator != '==' else 'false'})"
        if low is None or high is None:
            raise JmlUnsupported(f"\\{given.kind} over a range that does not bound {variable} on both sides", 0)
        return low, high


def _loop(kind: str, bounds: tuple[str, str], head: str, own: str, range_: str, body: str, innermost: bool) -> str:
    first = f"{bounds[0]}, {bounds[1]}"

    def function(text: str) -> str:
        return f"({head}) -> {{ {own} return {text}; }}"

    if kind in ("forall", "exists", "num_of"):
        name = "count" if kind == "num_of" else kind
        if not innermost:
            if kind == "num_of":
                return f"{API}.sum({first}, {function('true')}, {function(body)})"
            return f"{API}.{name}({first}, {function(body)})"
        test = f"(!{range_} || {body})" if kind == "forall" else f"({range_} && {body})"
        return f"{API}.{name}({first}, {function(test)})"
    return f"{API}.{kind}({first}, {function(range_ if innermost else 'true')}, {function(body)})"


def _comparisons(range_: Expression, java: "object") -> Iterator[tuple[str, str, str]]:
    """The comparisons that the range is a conjunction of, as texts: left, operator, right."""
    if isinstance(range_, Chain):
        texts = [java(operand).strip() for operand in range_.operands]  # type: ignore[operator]
        yield from zip(texts, range_.operators, texts[1:], strict=False)
        return
    if not isinstance(range_, Java):
        return
    inner = [part for part in range_.parts if not isinstance(part, str)]
    names = iter(range(len(inner)))
    text = "".join(part if isinstance(part, str) else f"$jml{next(names)}" for part in range_.parts)
    root = syntax.parse(_BEFORE + text.encode() + _AFTER)

    def back(node: tree_sitter.Node) -> str:
        found = (node.text or b"").decode()
        for index, part in enumerate(inner):
            if f"$jml{index}" in found:
                found = found.replace(f"$jml{index}", java(part))  # type: ignore[operator]
        return found

    stack = [node for node in [_value(root)] if node is not None]
    while stack:
        node = stack.pop(0)
        if node.type == "parenthesized_expression":
            stack.insert(0, node.named_children[0])
        elif node.type == "identifier" and (node.text or b"").startswith(b"$jml"):
            yield from _comparisons(inner[int((node.text or b"")[4:])], java)
        elif node.type == "binary_expression":
            left, operator, right = node.child_by_field_name("left"), node.child_by_field_name("operator"), None
            right = node.child_by_field_name("right")
            assert left is not None and right is not None and operator is not None
            if operator.type == "&&":
                stack[:0] = [left, right]
            elif operator.type in (*_TURNED, "=="):
                yield back(left).strip(), operator.type, back(right).strip()


def _value(root: tree_sitter.Node) -> tree_sitter.Node | None:
    if root.type == "variable_declarator":
        return root.child_by_field_name("value")
    return next((found for child in root.named_children if (found := _value(child)) is not None), None)


def _words(text: str) -> Sequence[str]:
    node = syntax.parse(_BEFORE + text.encode() + _AFTER)
    found, stack = [], [node]
    while stack:
        here = stack.pop()
        if here.type == "identifier":
            found.append((here.text or b"").decode())
        stack += here.children
    return found[1:] if found and found[0] == "C" else [name for name in found if name not in ("C", "f")]


def _erased(type_: str) -> str:
    """The type without its arguments: only such a one has a class literal."""
    depth, kept = 0, []
    for character in type_:
        depth += (character == "<") - (character == ">")
        if depth == 0 and character != ">":
            kept.append(character)
    return "".join(kept).strip()
