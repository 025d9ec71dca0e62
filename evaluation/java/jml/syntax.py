"""JML expressions and clauses as values, and how they are written.

Java's own expressions are kept as text, with the JML parts in place: `Java(("f(", Old(...), ")"))`. Parentheses are part of
that text, so that what was parsed is written as it was.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Java:
    """A Java expression: pieces of its text, and the JML expressions between them."""

    parts: tuple["str | Expression", ...]


@dataclass(frozen=True, slots=True)
class Result:
    """`\\result`: what the method returned."""


@dataclass(frozen=True, slots=True)
class Old:
    """`\\old(e)`: the value of e before the call."""

    expression: "Expression"


@dataclass(frozen=True, slots=True)
class Implication:
    """`left ==> right`; `backward`: `left <== right`, where right implies left."""

    left: "Expression"
    right: "Expression"
    backward: bool = False


@dataclass(frozen=True, slots=True)
class Equivalence:
    """`left <==> right`; `negated`: `left <=!=> right`, exactly one of them."""

    left: "Expression"
    right: "Expression"
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Conditional:
    test: "Expression"
    then: "Expression"
    otherwise: "Expression"


@dataclass(frozen=True, slots=True)
class Chain:
    """`a <= b < c`: each neighbour pair holds, each operand evaluated once."""

    operands: tuple["Expression", ...]
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quantified:
    """`(\\forall T x, y; range; body)`; kind without the backslash. `range` None: all values of the type."""

    kind: str
    type: str
    variables: tuple[str, ...]
    range: "Expression | None"
    body: "Expression"


@dataclass(frozen=True, slots=True)
class Function:
    """`\\typeof(e)` and `\\nonnullelements(e)`; name without the backslash."""

    name: str
    argument: "Expression"


@dataclass(frozen=True, slots=True)
class TypeLiteral:
    """`\\type(T)`."""

    type: str


Expression: TypeAlias = (
    Java | Result | Old | Implication | Equivalence | Conditional | Chain | Quantified | Function | TypeLiteral
)


@dataclass(frozen=True, slots=True)
class Clause:
    """One `ensures` or `requires`. `line` is 1-based in the candidate's text."""

    keyword: str
    expression: Expression
    line: int


@dataclass(frozen=True, slots=True)
class Specification:
    """What a candidate says. `notes` name what was ignored or is unusual."""

    clauses: tuple[Clause, ...]
    notes: tuple[str, ...] = ()

    @property
    def ensures(self) -> tuple[Clause, ...]:
        return tuple(clause for clause in self.clauses if clause.keyword == "ensures")

    @property
    def requires(self) -> tuple[Clause, ...]:
        return tuple(clause for clause in self.clauses if clause.keyword == "requires")


def written(expression: Expression) -> str:
    """JML text that parses to the same expression."""
    match expression:
        case Java(parts):
            return "".join(part if isinstance(part, str) else written(part) for part in parts)
        case Result():
            return "\\result"
        case Old(inner):
            return f"\\old({written(inner)})"
        case Implication(left, right, backward):
            return f"{written(left)} {'<==' if backward else '==>'} {written(right)}"
        case Equivalence(left, right, negated):
            return f"{written(left)} {'<=!=>' if negated else '<==>'} {written(right)}"
        case Conditional(test, then, otherwise):
            return f"{written(test)} ? {written(then)} : {written(otherwise)}"
        case Chain(operands, operators):
            pairs = zip(operators, operands[1:], strict=True)
            return written(operands[0]) + "".join(f" {operator} {written(operand)}" for operator, operand in pairs)
        case Quantified(kind, type_, variables, range_, body):
            middle = f" {written(range_)};" if range_ is not None else ""
            return f"(\\{kind} {type_} {', '.join(variables)};{middle} {written(body)})"
        case Function(name, argument):
            return f"\\{name}({written(argument)})"
        case TypeLiteral(type_):
            return f"\\type({type_})"
