"""The miner's grammar: from descriptions of calls to clauses that might hold, as icontract text.

Each clause has a `topic` (what it is about) and a `strength`: of the clauses on one topic that always held, a stronger one
implies the weaker. Nothing here knows whether a clause holds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ensures.candidate import Clauses
from inference.engine import Call
from inference.engines.terms import Seen

_SCALARS = ("bool", "int", "float", "str", "NoneType")
_CONTAINERS = ("list", "tuple", "set", "frozenset", "dict")
_COPIES = {"list": "list({0})", "dict": "dict({0})", "set": "set({0})"}


@dataclass(frozen=True, slots=True)
class Snapshot:
    name: str
    arguments: str
    capture: str

    @property
    def text(self) -> str:
        return f'@icontract.snapshot(lambda {self.arguments}: {self.capture}, name="{self.name}")'


@dataclass(frozen=True, slots=True)
class Template:
    """`uses`: names of parameters that the condition takes, result and OLD among them."""

    topic: str
    strength: int
    uses: tuple[str, ...]
    condition: str
    snapshot: Snapshot | None = None

    @property
    def text(self) -> str:
        return f"@icontract.ensure(lambda {', '.join(self.uses)}: {self.condition})"


@dataclass(frozen=True, slots=True)
class Term(Seen):
    """An expression over the call. `uses`: the parameters that a condition on it takes."""

    uses: tuple[str, ...] = ()

    @property
    def sized(self) -> bool:
        return bool(self.seen) and all("size" in picture for picture in self.seen)


def terms(calls: Sequence[Call]) -> tuple[Term, list[Term], list[Term]]:
    """(result, parameters with self, attributes of parameters and of the result after the call)."""
    result = Term("result", tuple(call.result for call in calls), ("result",))
    names = [name for name in calls[0].after if all(name in call.after for call in calls)]
    parameters = [Term(name, tuple(call.after[name] for call in calls), (name,)) for name in names]
    attributes: list[Term] = []
    for owner in [*parameters, result]:
        shared = [set(picture.get("attributes", {})) for picture in owner.seen]
        for attribute in sorted(set.intersection(*shared)) if shared else []:
            if not attribute.startswith("_"):
                seen = tuple(picture["attributes"][attribute] for picture in owner.seen)
                attributes.append(Term(f"{owner.text}.{attribute}", seen, owner.uses))
    return result, parameters, attributes


def templates(calls: Sequence[Call]) -> list[Template]:
    """All clauses worth trying on these calls, without doubles."""
    result, parameters, attributes = terms(calls)
    plain = [parameter for parameter in parameters if parameter.text not in ("self", "cls")]
    found: dict[str, Template] = {}
    groups = (
        _of_one(result),
        *(_of_one(attribute) for attribute in attributes),
        *(_of_two(result, other) for other in [*parameters, *attributes]),
        *(_of_two(attribute, other) for attribute in attributes for other in plain),
        _changes(calls, parameters),
    )
    for group in groups:
        for template in group:
            found.setdefault(template.text, template)
    return list(found.values())


def guards(calls: Sequence[Call]) -> list[Template]:
    """Conditions on the input that split the calls, for implications."""
    _, parameters, attributes = terms(calls)
    found = []
    for term in [*parameters, *attributes]:
        if term.text in ("self", "cls") or term.text.startswith("result"):
            continue
        if "NoneType" in term.types and len(term.types) > 1:
            found.append(Template(f"guard {term.text}", 0, term.uses, f"{term.text} is None"))
        if term.all_of("bool"):
            found.append(Template(f"guard {term.text}", 0, term.uses, term.text))
        elif term.all_of(*_CONTAINERS, "str"):
            found.append(Template(f"guard {term.text}", 0, term.uses, f"len({term.text}) == 0"))
        elif term.all_of("int", "float"):
            found.append(Template(f"guard {term.text}", 0, term.uses, f"{term.text} <= 0"))
        for kind in sorted(term.types & {"str", "int", "list", "tuple", "dict"}) if len(term.types) > 1 else ():
            found.append(Template(f"guard {term.text}", 0, term.uses, f"isinstance({term.text}, {kind})"))
    return found


def implication(guard: Template, holds: bool, then: Template) -> Template:
    uses = (*guard.uses, *(name for name in then.uses if name not in guard.uses))
    condition = f"not ({guard.condition}) or ({then.condition})" if holds else f"({guard.condition}) or ({then.condition})"
    return Template(f"{then.topic} if {guard.condition} is {holds}", then.strength, uses, condition, then.snapshot)


def _of_one(term: Term) -> Iterator[Template]:
    t, uses = term.text, term.uses

    def make(topic: str, strength: int, condition: str) -> Template:
        return Template(f"{topic} {t}", strength, uses, condition)

    types = term.types
    if types == {"NoneType"}:
        yield make("value", 9, f"{t} is None")
        return
    yield make("none", 1, f"{t} is not None")
    if "NoneType" in types:
        yield make("value", 9, f"{t} is None")
    builtin = sorted(types & {*_SCALARS, *_CONTAINERS})
    if set(builtin) == types:
        names = [name if name != "NoneType" else "type(None)" for name in builtin]
        wanted = names[0] if len(names) == 1 else f"({', '.join(names)})"
        yield make("type", 5, f"isinstance({t}, {wanted})")
    elif len(types) == 1:
        yield make("type", 5, f'type({t}).__name__ == "{next(iter(types))}"')
    values = term.values
    if len(values) == len(term.seen) and types <= {"bool", "int", "str", "NoneType"}:
        distinct = sorted({repr(value) for value in values})
        if len(distinct) == 1:
            yield make("value", 9, f"{t} == {distinct[0]}")
        elif len(distinct) <= 3 and len(values) >= 6 and not types <= {"bool"}:
            yield make("value", 6, f"{t} in ({', '.join(distinct)})")
    if types <= {"int", "float"}:
        for bound in (-1, 0, 1):
            yield make("low", 3 + bound, f"{t} >= {bound}")
            yield make("high", 3 - bound, f"{t} <= {bound}")
        yield make("zero", 4, f"{t} != 0")
    if term.sized and types <= {*_CONTAINERS, "str"}:
        yield make("size", 3, f"len({t}) > 0")
        for size in {picture["size"] for picture in term.seen[:3]}:
            yield make("size", 7, f"len({t}) == {size}")
    if types == {"str"}:
        for method in ("strip", "lower", "upper", "title"):
            yield make(f"form {method}", 2, f"{t} == {t}.{method}()")
        yield make("digits", 2, f"{t}.isdigit()")
        yield make("spaceless", 2, f'" " not in {t}')
    if types <= {"list", "tuple"}:
        yield make("order", 4, f"all(x <= y for x, y in zip({t}, {t}[1:]))")
        yield make("distinct", 2, f"len(set({t})) == len({t})")
        inner = {name for picture in term.seen for name in picture.get("items", ())}
        if len(inner) == 1 and inner <= {*_SCALARS, *_CONTAINERS} - {"NoneType"}:
            yield make("items", 3, f"all(isinstance(x, {next(iter(inner))}) for x in {t})")


def _of_two(left: Term, right: Term) -> Iterator[Template]:
    a, b = left.text, right.text
    if a == b or b in ("cls",):
        return
    uses = (*left.uses, *(name for name in right.uses if name not in left.uses))

    def make(topic: str, strength: int, condition: str) -> Template:
        return Template(f"{topic} {a} {b}", strength, uses, condition)

    numbers = ("int", "float")
    if not left.all_of(*_SCALARS) or not right.all_of(*_SCALARS):
        yield make("same", 9, f"{a} is {b}")
        yield make("different", 1, f"{a} is not {b}")
    yield make("same", 8, f"{a} == {b}")
    if left.all_of(*numbers) and right.all_of(*numbers):
        for operator, strength in (("<", 5), (">", 5), ("<=", 4), (">=", 4), ("!=", 2)):
            yield make("same" if operator != "!=" else "unequal", strength, f"{a} {operator} {b}")
    if left.sized and right.sized:
        for operator, strength in (("==", 7), ("<", 5), (">", 5), ("<=", 4), (">=", 4)):
            yield make("sizes", strength, f"len({a}) {operator} len({b})")
    if left.all_of("int") and right.sized:
        for operator, strength in (("==", 7), ("<", 5), ("<=", 4)):
            yield make("size of", strength, f"{a} {operator} len({b})")
    if left.all_of("str") and right.all_of("str"):
        yield make("inside", 4, f"{a} in {b}")
        yield make("contains", 4, f"{b} in {a}")
        yield make("begins", 5, f"{a}.startswith({b})")
        yield make("ends", 5, f"{a}.endswith({b})")
        for method in ("lower", "upper", "strip", "title", "capitalize"):
            yield make("same", 7, f"{a} == {b}.{method}()")
    elif right.all_of(*_CONTAINERS):
        yield make("member", 4, f"{a} in {b}")
    if left.all_of("list", "tuple") and right.all_of("list", "tuple"):
        yield make("permutation", 6, f"sorted({a}) == sorted({b})")
        yield make("subset", 4, f"all(x in {b} for x in {a})")
        yield make("superset", 4, f"all(x in {a} for x in {b})")
        yield make("reverse", 6, f"list({a}) == list(reversed({b}))")
    if left.all_of("list", "tuple", "dict", "set") and right.all_of(*_SCALARS):
        yield make("holds", 4, f"{b} in {a}")


def _changes(calls: Sequence[Call], parameters: Sequence[Term]) -> Iterator[Template]:
    """Clauses on the state before the call, through snapshots."""
    for parameter in parameters:
        name = parameter.text
        if name == "cls":
            continue
        before = [call.before[name] for call in calls if name in call.before]
        kinds = {str(picture["type"]) for picture in before}
        copied = _COPIES.get(next(iter(kinds))) if len(kinds) == 1 else None
        if copied:
            yield from _change(name, name, name, copied.format(name))
        shared = [set(picture.get("attributes", {})) for picture in before]
        for attribute in sorted(set.intersection(*shared)) if shared else []:
            pictures = [picture["attributes"][attribute] for picture in before]
            inner = {str(picture["type"]) for picture in pictures}
            path = f"{name}.{attribute}"
            if inner <= set(_SCALARS):
                yield from _change(name, path, f"{name}_{attribute}".replace("__", "_"), path)
            elif len(inner) == 1 and next(iter(inner)) in _COPIES:
                copy = _COPIES[next(iter(inner))].format(path)
                yield from _change(name, path, f"{name}_{attribute}".replace("__", "_"), copy)


def _change(parameter: str, path: str, name: str, capture: str) -> Iterator[Template]:
    snapshot = Snapshot(name, parameter, capture)
    old = f"OLD.{name}"

    def make(topic: str, strength: int, uses: tuple[str, ...], condition: str) -> Template:
        return Template(f"{topic} {path}", strength, uses, condition, snapshot)

    both, all_three = (parameter, "OLD"), (parameter, "OLD", "result")
    yield make("change", 9, both, f"{path} == {old}")
    yield make("change", 2, both, f"{path} != {old}")
    yield make("result was", 8, ("OLD", "result"), f"result == {old}")
    if capture == path:
        for step in (1, -1):
            yield make("change", 8, both, f"{path} == {old} + {step}")
        return
    for step in (1, -1):
        yield make("growth", 7, both, f"len({path}) == len({old}) + {step}")
    yield make("growth", 4, both, f"len({path}) >= len({old})")
    yield make("growth", 4, both, f"len({path}) <= len({old})")
    yield make("kept", 5, both, f"all(x in {path} for x in {old})")
    yield make("order after", 5, (parameter,), f"all(x <= y for x, y in zip({path}, {path}[1:]))")
    if capture.startswith("list"):
        yield make("permuted", 6, both, f"sorted({path}) == sorted({old})")
        yield make("appended", 7, both, f"{path}[:len({old})] == {old}")
    yield make("result in old", 4, all_three[1:], f"result in {old}")


def clauses(kept: list[Template]) -> Clauses:
    """The templates as one postcondition set, each snapshot once, in front."""
    snapshots = tuple(dict.fromkeys(template.snapshot.text for template in kept if template.snapshot))
    ensures = tuple(template.text for template in kept)
    return Clauses("\n".join((*snapshots, *ensures)), (), snapshots, ensures)
