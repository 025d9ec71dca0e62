"""From text to JML expressions, by precedence (JML Reference Manual, 12.1), weakest first:

    lambda;  ? :  (right);  <==> <=!=>  (left);  ==> (right), <== (left), not mixed;  Java's operators

Java's own expressions are cut out whole, JML inside of them parsed in place, and what is left is checked by tree-sitter.
"""

from collections.abc import Sequence
from itertools import pairwise

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
    TypeLiteral,
)
from evaluation.java.jml.tokens import CLOSING, JmlError, JmlUnsupported, Token, tokens

QUANTIFIERS = ("forall", "exists", "sum", "product", "min", "max", "num_of")
_BEFORE, _AFTER = "class C { Object f = ", "; }"
_JML = ("<==>", "<=!=>", "==>", "<==")
_BOUNDARIES = ("&&", "||", "&", "|", "^", "==", "!=", "instanceof")
_ORDER = ("<", "<=", ">", ">=")
_DEEPEST = 40  # levels of brackets; each takes a dozen of the interpreter's frames


def parse(text: str, start: int = 0, end: int | None = None) -> Expression:
    """The expression in text[start:end]. Raises JmlError and JmlUnsupported, with offsets of `text`."""
    found = _Parser(text).expression(tokens(text, start, end), start if end is None else end)
    _check(found, start)
    return found


class _Parser:
    """Works on slices of one text's tokens; `at` is where an error is put if a slice is empty."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._depth = 0

    def expression(self, given: Sequence[Token], at: int) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise JmlError("nested too deeply", at)
        try:
            return self._lambda(given, at)
        finally:
            self._depth -= 1

    # Levels

    def _lambda(self, given: Sequence[Token], at: int) -> Expression:
        if not given:
            raise JmlError("an expression is missing", at)
        arrow = self._first(given, ("->",))
        if arrow is None or self._first(given[:arrow], (*_JML, "?")) is not None:
            return self._conditional(given)
        if arrow + 1 < len(given) and given[arrow + 1].text == "{":
            return self._java(given)
        head = self.text[given[0].start : given[arrow].end]
        body = self.expression(given[arrow + 1 :], given[arrow].end)
        space = self.text[given[arrow].end : given[arrow + 1].start]
        parts = body.parts if isinstance(body, Java) else (body,)
        return Java(tuple(_joined([head + space, *parts])))

    def _conditional(self, given: Sequence[Token]) -> Expression:
        mark = self._first(given, ("?",))
        if mark is None:
            return self._equivalence(given)
        open_, colon = 1, None
        for index in self._top(given):
            if index > mark and given[index].text in ("?", ":"):
                open_ += 1 if given[index].text == "?" else -1
                if not open_:
                    colon = index
                    break
        if colon is None:
            raise JmlError("'?' has no ':'", given[mark].start)
        return Conditional(
            self._equivalence(self._some(given[:mark], given[mark])),
            self.expression(given[mark + 1 : colon], given[mark].end),
            self.expression(given[colon + 1 :], given[colon].end),
        )

    def _equivalence(self, given: Sequence[Token]) -> Expression:
        parts, operators = self._split(given, ("<==>", "<=!=>"))
        found = self._implication(parts[0])
        for operator, part in zip(operators, parts[1:], strict=True):
            found = Equivalence(found, self._implication(part), operator.text == "<=!=>")
        return found

    def _implication(self, given: Sequence[Token]) -> Expression:
        parts, operators = self._split(given, ("==>", "<=="))
        if len({operator.text for operator in operators}) > 1:
            raise JmlError("==> and <== need parentheses between them", operators[1].start)
        found = [self._java(part) for part in parts]
        if operators and operators[0].text == "==>":
            result = found[-1]
            for left in reversed(found[:-1]):
                result = Implication(left, result)
            return result
        result = found[0]
        for right in found[1:]:
            result = Implication(result, right, backward=True)
        return result

    # Java with JML inside

    def _java(self, given: Sequence[Token]) -> Expression:
        chain = self._chained(given)
        parts = chain if chain is not None else self._pieces(given)
        if len(parts) == 1 and not isinstance(parts[0], str):
            return parts[0]
        return Java(tuple(parts))

    def _chained(self, given: Sequence[Token]) -> list["str | Expression"] | None:
        """The pieces where `a <= b < c` is among them, else None."""
        bounds = [-1, *(index for index in self._top(given) if given[index].text in _BOUNDARIES), len(given)]
        found: list[str | Expression] = []
        any_ = False
        for before, after in pairwise(bounds):
            segment = given[before + 1 : after]
            if not segment:
                return None
            order = [index for index in self._top(segment) if segment[index].text in _ORDER and not _shifts(segment, index)]
            if len(order) > 1:
                any_ = True
                operators = tuple(segment[index].text for index in order)
                if len({operator[0] for operator in operators}) > 1:
                    raise JmlError("a chain of comparisons goes one way", segment[order[1]].start)
                cuts = [-1, *order, len(segment)]
                pieces = [segment[a + 1 : b] for a, b in pairwise(cuts)]
                operands = tuple(self._java(self._some(piece, segment[order[0]])) for piece in pieces)
                found.append(Chain(operands, operators))
            else:
                found += self._pieces(segment)
            if after < len(given):
                found.append(self._between(given, after))
        return _joined(found) if any_ else None

    def _pieces(self, given: Sequence[Token]) -> list["str | Expression"]:
        """Text and JML in turn; what stands in brackets is parsed for itself."""
        found: list[str | Expression] = []
        at, index = given[0].start if given else 0, 0
        while index < len(given):
            token = given[index]
            found.append(self.text[at : token.start])
            if token.text.startswith("\\"):
                expression, index = self._word(given, index)
                found.append(expression)
            elif token.text in CLOSING and token.kind == "operator":
                close = self._partner(given, index)
                found += self._group(given, index, close)
                index = close + 1
            else:
                if token.text in _JML:
                    raise JmlError(f"{token.text} can't stand here", token.start)
                found.append(token.text)
                index += 1
            at = given[index - 1].end
        return _joined(found)

    def _group(self, given: Sequence[Token], open_: int, close: int) -> list["str | Expression"]:
        inner, end = given[open_ + 1 : close], given[close].start
        if inner and inner[0].text.startswith("\\") and inner[0].text[1:] in QUANTIFIERS:
            return [self._quantified(inner, end)]
        if not inner:
            return [self.text[given[open_].start : given[close].end]]
        found: list[str | Expression] = [self.text[given[open_].start : inner[0].start]]
        if given[open_].text == "{" and self._first(inner, (";", "->")) is not None:
            found += self._pieces(inner)  # a block: of a lambda, a switch, a class
        else:
            commas = [-1, *(index for index in self._top(inner) if inner[index].text == ","), len(inner)]
            for before, after in pairwise(commas):
                part = inner[before + 1 : after]
                if not part and given[open_].text == "{" and after == len(inner):
                    continue  # {1, 2,}
                found += self._part(part, inner[after].start if after < len(inner) else end)
                if after < len(inner):
                    found.append(self._between(inner, after))
        return [*found, self.text[given[close - 1].end : given[close].end]]

    def _part(self, given: Sequence[Token], at: int) -> list["str | Expression"]:
        """An argument, an index, what stands in parentheses: an expression, a type in a cast, a lambda's parameters."""
        if not any(token.text in _JML or token.text.startswith("\\") or token.text in (*_ORDER, "?") for token in given):
            if not given:
                raise JmlError("an expression is missing", at)
            return [self.text[given[0].start : given[-1].end]]
        expression = self.expression(given, at)
        return list(expression.parts) if isinstance(expression, Java) else [expression]

    def _word(self, given: Sequence[Token], index: int) -> tuple[Expression, int]:
        """A JML word at `index`, with its argument; and where it ends."""
        token = given[index]
        name = token.text[1:]
        if name == "result":
            return Result(), index + 1
        if name in QUANTIFIERS:
            raise JmlError(f"{token.text} needs parentheses around it", token.start)
        if name not in ("old", "typeof", "nonnullelements", "type"):
            raise JmlUnsupported(f"{token.text} is not checked at run time here", token.start)
        if index + 1 >= len(given) or given[index + 1].text != "(":
            raise JmlError(f"{token.text} needs an argument in parentheses", token.start)
        close = self._partner(given, index + 1)
        inner, end = given[index + 2 : close], given[close].start
        if name == "type":
            if not inner:
                raise JmlError("a type is missing", end)
            return TypeLiteral(self.text[inner[0].start : inner[-1].end]), close + 1
        comma = self._first(inner, (",",))
        if comma is not None:
            if name == "old":
                raise JmlUnsupported("\\old with a label is not checked here", inner[comma].start)
            raise JmlError(f"{token.text} takes one argument", inner[comma].start)
        argument = self.expression(inner, end)
        return (Old(argument) if name == "old" else Function(name, argument)), close + 1

    def _quantified(self, inner: Sequence[Token], end: int) -> Expression:
        kind = inner[0].text[1:]
        parts, _ = self._split(inner[1:], (";",), empty=True)
        if len(parts) not in (2, 3):
            raise JmlError(f"\\{kind} wants a declaration, a range and a body between semicolons", inner[0].start)
        declared = parts[0]
        names, _ = self._split(declared, (",",))
        first = names[0]
        if len(first) < 2 or any(len(name) != 1 for name in names[1:]) or first[-1].kind != "word":
            raise JmlError(f"\\{kind} declares its variables as in 'int i, j'", inner[0].start)
        variables = (first[-1].text, *(name[0].text for name in names[1:]))
        type_ = self.text[first[0].start : first[-2].end]
        range_ = self.expression(parts[1], end) if len(parts) == 3 and parts[1] else None
        return Quantified(kind, type_, variables, range_, self.expression(parts[-1], end))

    # Tokens

    def _top(self, given: Sequence[Token]) -> list[int]:
        """Indices of the tokens that stand in no bracket and in no list of type arguments, brackets themselves left out."""
        found, index = [], 0
        while index < len(given):
            token = given[index]
            if token.kind == "operator" and token.text in CLOSING:
                index = self._partner(given, index) + 1
                continue
            close = _type_arguments(given, index)
            if close is not None:
                index = close + 1
                continue
            found.append(index)
            index += 1
        return found

    def _first(self, given: Sequence[Token], wanted: tuple[str, ...]) -> int | None:
        return next((index for index in self._top(given) if given[index].text in wanted), None)

    def _split(
        self, given: Sequence[Token], operators: tuple[str, ...], empty: bool = False
    ) -> tuple[list[Sequence[Token]], list[Token]]:
        cuts = [index for index in self._top(given) if given[index].text in operators]
        bounds = [-1, *cuts, len(given)]
        parts = [given[a + 1 : b] for a, b in pairwise(bounds)]
        if not empty:
            for index, part in enumerate(parts):
                if not part and cuts:
                    self._some(part, given[cuts[min(index, len(cuts) - 1)]])
        return parts, [given[index] for index in cuts]

    def _some(self, part: Sequence[Token], beside: Token) -> Sequence[Token]:
        if not part:
            raise JmlError(f"{beside.text} lacks an operand", beside.start)
        return part

    def _partner(self, given: Sequence[Token], open_: int) -> int:
        depth = 0
        for index in range(open_, len(given)):
            if given[index].kind == "operator":
                depth += (given[index].text in CLOSING) - (given[index].text in CLOSING.values())
                if not depth:
                    return index
        raise JmlError(f"{given[open_].text!r} is not closed", given[open_].start)

    def _between(self, given: Sequence[Token], index: int) -> str:
        """A token with the blanks around it, as they were."""
        before = given[index - 1].end if index else given[index].start
        after = given[index + 1].start if index + 1 < len(given) else given[index].end
        return self.text[before:after]


def _shifts(given: Sequence[Token], index: int) -> bool:
    """Is it a part of << or >>, which come as single tokens?"""
    token = given[index]
    before = index > 0 and given[index - 1].text == token.text and given[index - 1].end == token.start
    after = index + 1 < len(given) and given[index + 1].text == token.text and given[index + 1].start == token.end
    return before or after


def _type_arguments(given: Sequence[Token], index: int) -> int | None:
    """Where the list of type arguments that begins at `index` ends; None where it is a comparison."""
    if given[index].text != "<" or index == 0:
        return None
    before = given[index - 1]
    if not (before.text == "." or before.text == "::" or (before.kind == "word" and before.text[:1].isupper())):
        return None
    depth = 0
    for at in range(index, len(given)):
        text = given[at].text
        if text == "<":
            depth += 1
        elif text == ">":
            depth -= 1
            if not depth:
                after = given[at + 1].text if at + 1 < len(given) else ")"
                return at if after in "()[]{}.,;::>?:&&||" or given[at + 1].kind == "word" else None
        elif given[at].kind != "word" and text not in ("?", ",", ".", "&", "[", "]", "@"):
            return None
    return None


def _joined(parts: Sequence["str | Expression"]) -> list["str | Expression"]:
    """Neighbouring texts as one, without empty ones."""
    found: list[str | Expression] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return found


def _check(expression: Expression, offset: int) -> None:
    """Raises JmlError where a Java part is no Java expression, with names in place of the JML inside."""
    match expression:
        case Java(parts):
            inner = [part for part in parts if not isinstance(part, str)]
            names = iter(range(len(inner)))
            text = "".join(part if isinstance(part, str) else f"$jml{next(names)}" for part in parts)
            if syntax.parse((_BEFORE + text + _AFTER).encode()).has_error:
                raise JmlError(f"no Java expression: {' '.join(text.split())[:80]}", offset)
        case Old(one) | Function(_, one):
            inner = [one]
        case Implication(left, right, _) | Equivalence(left, right, _):
            inner = [left, right]
        case Conditional(test, then, otherwise):
            inner = [test, then, otherwise]
        case Chain(operands, _):
            inner = list(operands)
        case Quantified(_, _, _, range_, body):
            inner = [body] if range_ is None else [range_, body]
        case _:
            inner = []
    for one in inner:
        _check(one, offset)
