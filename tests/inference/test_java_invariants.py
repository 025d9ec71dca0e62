"""The miner's grammar for Java: from descriptions of calls to JML."""

from typing import Any

from evaluation.java.jml.clauses import specification
from inference.engine import Call
from inference.engines import java_templates
from inference.engines.java_templates import Template


def number(value: int) -> dict[str, Any]:
    return {"type": "java.lang.Integer", "value": value}


def text(value: str) -> dict[str, Any]:
    return {"type": "java.lang.String", "value": value, "size": len(value)}


def items(size: int) -> dict[str, Any]:
    return {"type": "java.util.ArrayList", "kind": "list", "size": size}


def array(size: int) -> dict[str, Any]:
    return {"type": "int[]", "kind": "array", "size": size, "items": "int"}


def calls() -> list[Call]:
    box = {"type": "demo.Box", "attributes": {"size()": number(1), "isEmpty()": {"type": "java.lang.Boolean", "value": False}}}
    found = []
    for n in range(6):
        before = {"this": box, "n": number(n), "name": text("ab" * n), "list": items(n), "values": array(n)}
        after = {**before, "list": items(n + 1)}
        found.append(Call("T#t", n, before, after, number(n + 1), ()))
    return found


def conditions(made: list[Template]) -> set[str]:
    return {template.condition for template in made}


def test_what_is_tried() -> None:
    found = conditions(java_templates.templates(calls()))
    assert {
        "\\result > n",
        "\\result >= 0",
        "\\result == list.size()",
        "list.size() == \\old(list.size()) + 1",
        "java.util.Arrays.equals(values, \\old(values.clone()))",
        "this.size() == \\old(this.size())",
        "this.isEmpty() == false",
    } <= found
    assert not any("null" in condition and condition.startswith("\\result ") for condition in found)  # of a primitive


def test_everything_tried_is_jml() -> None:
    made = java_templates.templates(calls())
    guards = java_templates.guards(calls())
    assert guards
    made += [java_templates.implication(guard, holds, made[0]) for guard in guards for holds in (True, False)]
    for template in made:
        assert len(specification(template.text).ensures) == 1, template.text


def test_guards_look_out_for_null() -> None:
    given = calls()
    nothing = {"type": "null", "value": None}
    given[0] = Call("T#t", 0, {**given[0].before, "name": nothing}, {**given[0].after, "name": nothing}, number(1), ())
    found = conditions(java_templates.guards(given))
    assert {"name == null", "name != null && name.length() == 0", "n <= 0", "list.size() == 0"} <= found


def test_a_method_that_gives_nothing_says_nothing_of_a_result() -> None:
    given = [Call(c.test, c.number, c.before, c.after, {"type": "null", "value": None}, ()) for c in calls()]
    alone = [condition for condition in conditions(java_templates.templates(given)) if condition.startswith("\\result")]
    assert all("Object" in condition or "equals" in condition for condition in alone)


def test_a_set_is_one_clause_a_line() -> None:
    made = java_templates.templates(calls())[:3]
    clauses = java_templates.clauses(made)
    assert clauses.text.count("//@ ensures") == len(clauses.ensures) == 3
