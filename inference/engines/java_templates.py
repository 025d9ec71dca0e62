"""The miner's grammar for Java: from descriptions of calls to clauses that might hold, as JML.

As `templates` for icontract: the same topics and strengths, in the words of Java's types. Nothing here knows whether a clause
holds, nor whether it compiles: what does not is dropped where truths are asked for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ensures.candidate import Clauses
from inference.engine import Call
from inference.engines.terms import Seen

_WHOLE = ("java.lang.Integer", "java.lang.Long", "java.lang.Short", "java.lang.Byte")
_NUMBERS = (*_WHOLE, "java.lang.Double", "java.lang.Float")
_STRING, _BOOLEAN, _CHARACTER, _NULL = "java.lang.String", "java.lang.Boolean", "java.lang.Character", "null"
_ORDERED = ("int", "long", "double", "char", "byte", "short")
_PLAIN = (*_NUMBERS, _STRING, _BOOLEAN, _CHARACTER)


@dataclass(frozen=True, slots=True)
class Template:
    topic: str
    strength: int
    condition: str

    @property
    def text(self) -> str:
        return f"//@ ensures {self.condition};"


@dataclass(frozen=True, slots=True)
class Term(Seen):
    """An expression over the call."""

    def kind(self, *kinds: str) -> bool:
        return bool(self.seen) and all(picture.get("kind") in kinds for picture in self.seen)

    @property
    def size(self) -> str:
        """How its size is asked for; empty where it has none."""
        if self.all_of(_STRING) or self.kind("text"):
            return f"{self.text}.length()"
        if self.kind("array"):
            return f"{self.text}.length"
        return f"{self.text}.size()" if self.kind("list", "collection", "map") else ""

    @property
    def primitive(self) -> bool:
        """May it be compared by ==? (A boxed one may be too, with a primitive.)"""
        return self.all_of(*_NUMBERS, _BOOLEAN, _CHARACTER)


def terms(calls: Sequence[Call]) -> tuple[Term, list[Term], list[Term]]:
    """(result, parameters with this, readers of parameters and of the result after the call)."""
    result = Term("\\result", tuple(call.result for call in calls))
    names = [name for name in calls[0].after if all(name in call.after for call in calls)]
    parameters = [Term(name, tuple(call.after[name] for call in calls)) for name in names]
    readers: list[Term] = []
    for owner in [*parameters, result]:
        shared = [set(picture.get("attributes", {})) for picture in owner.seen]
        for reader in sorted(set.intersection(*shared)) if shared else []:
            seen = tuple(picture["attributes"][reader] for picture in owner.seen)
            readers.append(Term(f"{owner.text}.{reader}", seen))
    return result, parameters, readers


def templates(calls: Sequence[Call]) -> list[Template]:
    """All clauses worth trying on these calls, without doubles."""
    result, parameters, readers = terms(calls)
    plain = [parameter for parameter in parameters if parameter.text != "this"]
    found: dict[str, Template] = {}
    groups = (
        *([] if result.types == {_NULL} else [_of_one(result)]),
        *(_of_one(reader) for reader in readers),
        *(_of_two(result, other) for other in [*plain, *readers]),
        *(_of_two(reader, other) for reader in readers for other in plain),
        _changes(calls, parameters),
    )
    for group in groups:
        for template in group:
            found.setdefault(template.text, template)
    return list(found.values())


def guards(calls: Sequence[Call]) -> list[Template]:
    """Conditions on the input that split the calls, for implications."""
    _, parameters, readers = terms(calls)
    found = []
    for term in [*parameters, *readers]:
        if term.text == "this" or term.text.startswith("\\result"):
            continue
        there = ""
        if _NULL in term.types and len(term.types) > 1:
            found.append(Template(f"guard {term.text}", 0, f"{term.text} == null"))
            there = f"{term.text} != null && "
            term = Term(term.text, tuple(picture for picture in term.seen if picture["type"] != _NULL))
        if term.all_of(_BOOLEAN):
            found.append(Template(f"guard {term.text}", 0, f"{there}{term.text}"))
        elif term.all_of(*_NUMBERS):
            found.append(Template(f"guard {term.text}", 0, f"{there}{term.text} <= 0"))
        elif term.size:
            found.append(Template(f"guard {term.text}", 0, f"{there}{term.size} == 0"))
    return found


def implication(guard: Template, holds: bool, then: Template) -> Template:
    left = f"({guard.condition})" if holds else f"!({guard.condition})"
    return Template(f"{then.topic} if {guard.condition} is {holds}", then.strength, f"{left} ==> ({then.condition})")


def clauses(kept: Sequence[Template]) -> Clauses:
    """The templates as one postcondition set."""
    ensures = tuple(f"ensures {template.condition};" for template in kept)
    return Clauses("\n".join(template.text for template in kept), (), (), ensures)


def _literal(value: Any, type_: str) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if type_ == _STRING:
        plain = all(character.isprintable() and character not in '"\\' for character in value)
        return f'"{value}"' if plain else None
    if type_ == _CHARACTER:
        return f"'{value}'" if value.isalnum() else None
    if type_ == "java.lang.Long":
        return f"{value}L"
    return str(value) if type_ in _NUMBERS and not isinstance(value, str) else None


def _of_one(term: Term) -> Iterator[Template]:
    t = term.text

    def make(topic: str, strength: int, condition: str) -> Template:
        return Template(f"{topic} {t}", strength, condition)

    if not term.primitive:
        yield make("none", 1, f"{t} != null")
        if _NULL in term.types:
            yield make("value", 9, f"{t} == null")
    if len(term.types) == 1 and not term.primitive and not term.kind("array"):
        simple = next(iter(term.types))
        if "$" not in simple and "[" not in simple:
            yield make("type", 5, f"{t} instanceof {simple}")
    if term.all_of(_BOOLEAN):
        for value in ("true", "false"):
            yield make("value", 9, f"{t} == {value}")
    values = term.values
    if len(values) == len(term.seen) and len(term.types) == 1 and term.all_of(*_PLAIN):
        type_ = next(iter(term.types))
        distinct = sorted({literal for value in values if (literal := _literal(value, type_)) is not None})
        if len(distinct) == 1:
            yield make("value", 9, _equal(t, distinct[0], term.primitive))
        elif 1 < len(distinct) <= 3 and len(values) >= 6 and type_ != _BOOLEAN:
            yield make("value", 6, " || ".join(_equal(t, one, term.primitive) for one in distinct))
    if term.all_of(*_NUMBERS):
        for bound in (-1, 0, 1):
            yield make("low", 3 + bound, f"{t} >= {bound}")
            yield make("high", 3 - bound, f"{t} <= {bound}")
        yield make("zero", 4, f"{t} != 0")
    if term.size:
        yield make("size", 3, f"{term.size} > 0")
        for size in {picture["size"] for picture in term.seen[:3]}:
            yield make("size", 7, f"{term.size} == {size}")
    if term.all_of(_STRING):
        for method in ("trim", "toLowerCase", "toUpperCase"):
            yield make(f"form {method}", 2, f"{t}.equals({t}.{method}())")
        yield make("digits", 2, f"!{t}.isEmpty() && {t}.chars().allMatch(Character::isDigit)")
        yield make("spaceless", 2, f'!{t}.contains(" ")')
    if term.kind("list", "collection"):
        yield make("items", 3, f"{t}.stream().allMatch(item -> item != null)")
        yield make("distinct", 2, f"{t}.stream().distinct().count() == {t}.size()")
    if term.kind("array") and {picture["items"] for picture in term.seen} <= {
        "int",
        "long",
        "double",
        "char",
        "byte",
        "short",
    }:
        yield make("order", 4, f"(\\forall int i; 0 <= i && i < {t}.length - 1; {t}[i] <= {t}[i + 1])")


def _equal(left: str, right: str, primitive: bool) -> str:
    return f"{left} == {right}" if primitive else f"{right}.equals({left})"


def _of_two(left: Term, right: Term) -> Iterator[Template]:
    a, b = left.text, right.text
    if a == b:
        return

    def make(topic: str, strength: int, condition: str) -> Template:
        return Template(f"{topic} {a} {b}", strength, condition)

    if left.primitive and right.primitive:
        yield make("same", 8, f"{a} == {b}")
        if left.all_of(*_NUMBERS) and right.all_of(*_NUMBERS):
            for operator, strength in (("<", 5), (">", 5), ("<=", 4), (">=", 4), ("!=", 2)):
                yield make("same" if operator != "!=" else "unequal", strength, f"{a} {operator} {b}")
    elif not left.primitive and not right.primitive:
        yield make("same", 9, f"(Object) {a} == (Object) {b}")
        yield make("different", 1, f"(Object) {a} != (Object) {b}")
        if left.kind("array") and right.kind("array"):
            yield make("same", 8, f"java.util.Arrays.equals({a}, {b})")
        else:
            yield make("same", 8, f"java.util.Objects.equals({a}, {b})")
    if left.size and right.size:
        for operator, strength in (("==", 7), ("<", 5), (">", 5), ("<=", 4), (">=", 4)):
            yield make("sizes", strength, f"{left.size} {operator} {right.size}")
    if left.all_of(*_WHOLE) and right.size:
        for operator, strength in (("==", 7), ("<", 5), ("<=", 4)):
            yield make("size of", strength, f"{a} {operator} {right.size}")
    if left.all_of(_STRING) and right.all_of(_STRING):
        yield make("inside", 4, f"{b}.contains({a})")
        yield make("contains", 4, f"{a}.contains({b})")
        yield make("begins", 5, f"{a}.startsWith({b})")
        yield make("ends", 5, f"{a}.endsWith({b})")
        for method in ("toLowerCase", "toUpperCase", "trim"):
            yield make("same", 7, f"{a}.equals({b}.{method}())")
    elif right.kind("list", "collection"):
        yield make("member", 4, f"{b}.contains({a})")
    if left.kind("list", "collection") and right.kind("list", "collection"):
        yield make("subset", 4, f"{b}.containsAll({a})")
        yield make("superset", 4, f"{a}.containsAll({b})")
    if left.kind("map") and right.all_of(*_PLAIN):
        yield make("holds", 4, f"{a}.containsKey({b})")


def _changes(calls: Sequence[Call], parameters: Sequence[Term]) -> Iterator[Template]:
    """Clauses on the state before the call."""
    for parameter in parameters:
        name = parameter.text
        before = [call.before[name] for call in calls if name in call.before]
        if name != "this":
            yield from _change(Term(name, tuple(before)))
        shared = [set(picture.get("attributes", {})) for picture in before]
        for reader in sorted(set.intersection(*shared)) if shared else []:
            yield from _change(Term(f"{name}.{reader}", tuple(picture["attributes"][reader] for picture in before)))


def _change(term: Term) -> Iterator[Template]:
    path = term.text

    def make(topic: str, strength: int, condition: str) -> Template:
        return Template(f"{topic} {path}", strength, condition)

    if term.primitive and "." in path:
        yield make("change", 9, f"{path} == \\old({path})")
        yield make("change", 2, f"{path} != \\old({path})")
        if term.all_of(*_NUMBERS):
            for step in (1, -1):
                yield make("change", 8, f"{path} == \\old({path}) + {step}")
    elif term.kind("list", "collection", "map"):
        yield make("growth", 6, f"{path}.size() == \\old({path}.size())")
        for step in (1, -1):
            yield make("growth", 7, f"{path}.size() == \\old({path}.size()) + {step}")
        yield make("growth", 4, f"{path}.size() >= \\old({path}.size())")
        yield make("growth", 4, f"{path}.size() <= \\old({path}.size())")
    elif term.kind("array"):
        yield make("change", 9, f"java.util.Arrays.equals({path}, \\old({path}.clone()))")
    elif term.kind("text"):
        yield make("change", 9, f"{path}.toString().equals(\\old({path}.toString()))")
