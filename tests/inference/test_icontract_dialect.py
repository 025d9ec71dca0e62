"""From a completion's text to clauses: each thing that models write has a fixed fate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensures.candidate import Clauses, Malformed
from ensures.verdict import Reason
from inference.dialects.icontract import Parsing, parse

E = "@icontract.ensure(lambda result: result)"
S = '@icontract.snapshot(lambda a: a[:], name="old")'


@pytest.mark.parametrize(
    ("text", "snapshots", "ensures"),
    [
        (E, 0, 1),
        (f"```python\n{S}\n{E}\n```", 1, 1),
        (f"Sure, here they are:\n```\n{E}\n{E}\n```\nThese hold.", 0, 2),
        (f"```python\n@icontract.ensure(lambda: 1)\n```\nor better\n```python\n{S}\n{E}\n```", 1, 1),
        (f"<think>\n```python\n{E}\n{E}\n```\n</think>\n```python\n{E}\n```", 0, 1),
        (f"    {S}\n    {E}", 1, 1),
        ("@icontract.ensure(\n    lambda result:\n        result > 0,\n    'positive',\n)", 0, 1),
        (f"# first\n{E}\n\n# second\n{E}", 0, 2),
        (f"import icontract\n{E}", 0, 1),
        (f"import icontract as ic\n{E.replace('icontract', 'ic')}", 0, 1),
        ("from icontract import ensure as e\n@e(lambda: True)", 0, 1),
        ("@ensure(lambda: True)", 0, 1),
        (f"```python\n{E}", 0, 1),
        (f'@icontract.ensure(lambda r: r, """a\n  b""")\n{E}', 0, 2),
    ],
)
def test_clauses(text: str, snapshots: int, ensures: int) -> None:
    found = parse(text)
    assert isinstance(found, Clauses), found
    assert (len(found.snapshots), len(found.ensures)) == (snapshots, ensures)


@pytest.mark.parametrize(
    ("text", "reason", "message"),
    [
        ("", Reason.COMPILE_ERROR, "no clause"),
        ("```python\n```", Reason.COMPILE_ERROR, "no clause"),
        ("# nothing to say", Reason.COMPILE_ERROR, "no clause"),
        ("I can't do that.", Reason.SYNTAX_ERROR, "line 1"),
        (f"{E}\nThis holds.", Reason.SYNTAX_ERROR, "line 2"),
        (f"{E}\ndef f(a):\n    return a", Reason.COMPILE_ERROR, "definition of its own"),
        (f"def helper(a):\n    return a\n\n{E}", Reason.COMPILE_ERROR, "definition of its own"),
        (f"class A:\n    pass\n{E}", Reason.COMPILE_ERROR, "definition of its own"),
        (f"LIMIT = 3\n{E}", Reason.COMPILE_ERROR, "statement of its own"),
        ("@icontract.ensure(lambda result: result", Reason.SYNTAX_ERROR, "line 1"),
        (S, Reason.COMPILE_ERROR, "no ensure"),
        ("@icontract.require(lambda a: a)\n" + E, Reason.UNSUPPORTED, "require"),
        ("@staticmethod\n" + E, Reason.UNSUPPORTED, "staticmethod"),
        ("@icontract.ensure", Reason.UNSUPPORTED, "without arguments"),
        (E + "\0", Reason.SYNTAX_ERROR, "null byte"),
        ("@icontract.ensure(" + "(" * 5000 + ")" * 5000 + ")", Reason.SYNTAX_ERROR, ""),
    ],
)
def test_malformed(text: str, reason: Reason, message: str) -> None:
    found = parse(text)
    assert isinstance(found, Malformed), found
    assert found.reason is reason
    assert message in found.message


@pytest.mark.parametrize(
    ("text", "ensures"),
    [
        (f"{E}\ndef f(a):\n    return a", 1),
        (f"The postconditions are:\n\n{S}\n{E}\n\nThat is all.", 1),
        (f"```python\n    {E}\n    def f(a):\n        ...\n```\nand\n{E}", 2),
        ("@ensure(\n    lambda result: result\n)\ndef f(): ...", 1),
    ],
)
def test_lenient_rescues(text: str, ensures: int) -> None:
    assert isinstance(parse(text), Malformed)
    found = parse(text, Parsing.LENIENT)
    assert isinstance(found, Clauses)
    assert len(found.ensures) == ensures
    assert found.notes == ("rescued",)


def test_lenient_leaves_what_published_takes() -> None:
    assert parse(E, Parsing.LENIENT) == parse(E)


@given(st.text())
def test_never_raises(text: str) -> None:
    for parsing in Parsing:
        assert isinstance(parse(text, parsing), (Clauses, Malformed))


@given(st.lists(st.sampled_from([E, S, "# x", "", "text", "```", "def f(): pass"]), max_size=8))
def test_what_is_parsed_is_in_the_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = parse(text, Parsing.LENIENT)
    if isinstance(found, Clauses):
        assert found.ensures
        assert all(clause in text for clause in (*found.ensures, *found.snapshots))
