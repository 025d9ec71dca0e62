"""Rule-based mutants: the eleven Python operators of PostcondBench's Table 9, with mutmut's semantics, on libcst.

Each mutant differs from the original in one node of the body. The paper's names are used; mutmut's operators that are
not among them (lambda, dict arguments, match, conditional expressions) are left out. A test compares with mutmut itself.
"""

import cmath
import math
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider

Rule = Callable[[cst.CSTNode], Iterator[cst.CSTNode]]


@dataclass(frozen=True, slots=True)
class RuleMutant:
    """`operators`: all that made this text, in Table 9's order."""

    implementation: str
    operators: tuple[str, ...]
    line: int  # 1-based, in the implementation


def numeric_increments(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """n becomes n + 1."""
    if isinstance(node, (cst.Integer, cst.Float)):
        value = node.evaluated_value + 1
        if not (isinstance(value, float) and math.isinf(value)):
            yield node.with_changes(value=repr(value))
    elif isinstance(node, cst.Imaginary):
        imaginary = node.evaluated_value + 1j
        if not cmath.isinf(imaginary):
            yield node.with_changes(value=repr(imaginary))


# Escapes that a change of case would break stand apart from the text between them.
_TEXT = re.compile(r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\N\{[^}]+\}|(\\.)|((?<!\\)[^\\]+)")
_RAW_TEXT = re.compile(r"((?<!\\)[^\\]+)")


def string_perturbation(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A string with XX around it, in lower case, in upper case; strings in triple quotes stay."""
    if not isinstance(node, cst.SimpleString):
        return
    prefix, rest = node.prefix, node.value[len(node.prefix) :]
    if rest.startswith(('"""', "'''")):
        return
    quote, text = rest[0], rest[1:-1]
    for changed in (f"XX{text}XX", _with_case(str.lower, text, prefix), _with_case(str.upper, text, prefix)):
        if changed != text:
            yield node.with_changes(value=f"{prefix}{quote}{changed}{rest[-1]}")


def _with_case(case: Callable[[str], str], text: str, prefix: str) -> str:
    if "r" in prefix.lower():
        return _RAW_TEXT.sub(lambda found: case(found.group(1)), text)
    return _TEXT.sub(lambda found: case(found.group(2)) if found.group(2) else found.group(0), text)


def boolean_constant_flip(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """True and False; and, as in mutmut's operator on names, deepcopy becomes copy."""
    if isinstance(node, cst.Name):
        flipped = {"True": "False", "False": "True", "deepcopy": "copy"}.get(node.value)
        if flipped:
            yield node.with_changes(value=flipped)


def assignment_nullification(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """a = b becomes a = None, and a = None becomes a = ""."""
    if isinstance(node, (cst.Assign, cst.AnnAssign)) and node.value:
        none = m.matches(node.value, m.Name("None"))
        yield node.with_changes(value=cst.SimpleString('""') if none else cst.Name("None"))


def augassign_to_assign(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """a += b becomes a = b."""
    if isinstance(node, cst.AugAssign):
        yield cst.Assign([cst.AssignTarget(node.target)], node.value, node.semicolon)


def unary_op_removal(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """not a and ~a become a."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, (cst.Not, cst.BitInvert)):
        yield node.expression


def arg_removal(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Each argument of a call becomes None, and each of several is left out."""
    if not isinstance(node, cst.Call):
        return
    for index, argument in enumerate(node.args):
        if argument.star == "" and not m.matches(argument.value, m.Name("None")):
            nothing = argument.with_changes(value=cst.Name("None"))
            yield node.with_changes(args=[*node.args[:index], nothing, *node.args[index + 1 :]])
    if len(node.args) > 1:
        for index in range(len(node.args)):
            yield node.with_changes(args=[*node.args[:index], *node.args[index + 1 :]])


_OPPOSITES = (
    ("lower", "upper"),
    ("lstrip", "rstrip"),
    ("find", "rfind"),
    ("ljust", "rjust"),
    ("index", "rindex"),
    ("removeprefix", "removesuffix"),
    ("partition", "rpartition"),
)
_SWAPS = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}


def symmetric_str_method_swap(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """a.lower() becomes a.upper(), and so on."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        swapped = _SWAPS.get(node.func.attr.value)
        if swapped:
            yield node.with_deep_changes(node.func.attr, value=swapped)


def asymmetric_str_method_swap(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """split and rsplit, where a limit makes them differ."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        swapped = {"split": "rsplit", "rsplit": "split"}.get(node.func.attr.value)
        named = {argument.keyword.value for argument in node.args if argument.keyword}
        if swapped and (len(node.args) == 2 or "maxsplit" in named):
            yield node.with_deep_changes(node.func.attr, value=swapped)


_KEYWORDS: dict[type[cst.CSTNode], type[cst.CSTNode]] = {
    cst.Is: cst.IsNot,
    cst.IsNot: cst.Is,
    cst.In: cst.NotIn,
    cst.NotIn: cst.In,
    cst.Break: cst.Return,
    cst.Continue: cst.Break,
}


def keyword_rewrite(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """is and is not, in and not in; break becomes return, continue becomes break."""
    rewritten = _KEYWORDS.get(type(node))
    if rewritten:
        yield rewritten()


_OPERATORS: dict[type[cst.CSTNode], type[cst.CSTNode]] = {
    cst.Plus: cst.Minus,
    cst.Minus: cst.Plus,
    cst.Add: cst.Subtract,
    cst.Subtract: cst.Add,
    cst.Multiply: cst.Divide,
    cst.Divide: cst.Multiply,
    cst.FloorDivide: cst.Divide,
    cst.Modulo: cst.Divide,
    cst.LeftShift: cst.RightShift,
    cst.RightShift: cst.LeftShift,
    cst.BitAnd: cst.BitOr,
    cst.BitOr: cst.BitAnd,
    cst.BitXor: cst.BitAnd,
    cst.Power: cst.Multiply,
    cst.AddAssign: cst.SubtractAssign,
    cst.SubtractAssign: cst.AddAssign,
    cst.MultiplyAssign: cst.DivideAssign,
    cst.DivideAssign: cst.MultiplyAssign,
    cst.FloorDivideAssign: cst.DivideAssign,
    cst.ModuloAssign: cst.DivideAssign,
    cst.LeftShiftAssign: cst.RightShiftAssign,
    cst.RightShiftAssign: cst.LeftShiftAssign,
    cst.BitAndAssign: cst.BitOrAssign,
    cst.BitOrAssign: cst.BitAndAssign,
    cst.BitXorAssign: cst.BitAndAssign,
    cst.PowerAssign: cst.MultiplyAssign,
    cst.LessThan: cst.LessThanEqual,
    cst.LessThanEqual: cst.LessThan,
    cst.GreaterThan: cst.GreaterThanEqual,
    cst.GreaterThanEqual: cst.GreaterThan,
    cst.Equal: cst.NotEqual,
    cst.NotEqual: cst.Equal,
    cst.And: cst.Or,
    cst.Or: cst.And,
}


def operator_replacement(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """+ and -, * and /, < and <=, and and or, and so on."""
    if isinstance(node, (cst.BinaryOperation, cst.UnaryOperation, cst.BooleanOperation, cst.ComparisonTarget, cst.AugAssign)):
        replaced = _OPERATORS.get(type(node.operator))
        if replaced:
            yield node.with_changes(operator=replaced())


OPERATORS: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        asymmetric_str_method_swap,
        augassign_to_assign,
        numeric_increments,
        symmetric_str_method_swap,
        unary_op_removal,
        boolean_constant_flip,
        arg_removal,
        string_perturbation,
        keyword_rewrite,
        operator_replacement,
        assignment_nullification,
    )
}

# Not mutated, as in mutmut: calls of these functions with all below them, annotations, decorators, the signature.
_NEVER_CALLED = ("len", "isinstance")


class _Sites(cst.CSTVisitor):
    """Collects (node, operator, replacement) for the function's body."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[cst.CSTNode, str, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in _NEVER_CALLED:
            return False
        if isinstance(node, cst.Annotation):
            return False
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)) and node.decorators:
            return False  # mutmut leaves decorated inner definitions alone
        for name, rule in OPERATORS.items():
            self.found += [(node, name, changed) for changed in rule(node)]
        return True


def mutants(implementation: str) -> list[RuleMutant]:
    """All rule mutants of a function's text, deduplicated by text, in the order of their places.

    Only those are kept that still compile and whose first difference lies inside the body.
    """
    source = textwrap.dedent(implementation)
    margin = _margin(implementation)
    wrapper = MetadataWrapper(cst.parse_module(source))
    definition = next(node for node in wrapper.module.body if isinstance(node, cst.FunctionDef))
    sites = _Sites()
    with sites.resolve(wrapper):
        definition.body.visit(sites)
        placed = [(sites.get_metadata(PositionProvider, node, None), name, node, new) for node, name, new in sites.found]
    body_line = wrapper.resolve(PositionProvider)[definition.body].start.line
    found: dict[str, tuple[list[str], int]] = {}
    for position, name, node, new in placed:
        changed = wrapper.module.deep_replace(node, new)
        assert isinstance(changed, cst.Module)
        text = changed.code
        if text == source or not _compiles(text):
            continue
        line = position.start.line if position else body_line
        text = _indent(text, margin).rstrip("\n")
        names, _ = found.setdefault(text, ([], line))
        if name not in names:
            names.append(name)
    return [RuleMutant(text, tuple(names), line) for text, (names, line) in found.items()]


def _compiles(text: str) -> bool:
    try:
        compile(text, "<mutant>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _margin(text: str) -> str:
    first = text.split("\n", 1)[0]
    return first[: len(first) - len(first.lstrip())]


def _indent(text: str, margin: str) -> str:
    """Undoes the dedent. `textwrap.dedent` takes the margin off continuation lines of strings as well; so does this."""
    return "\n".join(margin + line if line.strip() else line for line in text.split("\n")) if margin else text
