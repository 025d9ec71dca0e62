"""Each clause of a candidate by itself: it is what it was, and nothing of the others is left."""

from ensures.candidate import Clauses
from inference.dialects import asserts, icontract, jml


def clauses(found: object) -> Clauses:
    assert isinstance(found, Clauses), found
    return found


ICONTRACT = """import icontract
@icontract.snapshot(lambda a: list(a), name="before")
@icontract.snapshot(lambda b: b)
@icontract.snapshot(lambda c: c + 1, "later")
@icontract.ensure(lambda a, OLD, result: result == OLD.before)
@icontract.ensure(lambda OLD: OLD.b and OLD.later,
                  "both")
@icontract.ensure(lambda OLD, result: result == vars(OLD))
@icontract.ensure(lambda result: result)"""


def test_icontract_keeps_the_snapshots_that_a_clause_names() -> None:
    found = clauses(icontract.parse(ICONTRACT))
    alone = icontract.alone(found)
    assert [one.ensures for one in alone] == [(text,) for text in found.ensures]
    before, b, later = found.snapshots
    assert [one.snapshots for one in alone] == [(before,), (b, later), (before, b, later), ()]
    for one in alone:
        again = clauses(icontract.parse(one.text))
        assert again.ensures == one.ensures and again.snapshots == one.snapshots
        assert one.preamble == found.preamble


def test_asserts_leave_pass_in_the_others_place() -> None:
    loop = "import re\nfor x in return_value:\n    assert x > 0, 'é'\n    assert x < 9\n"
    text = loop + "if a: assert return_value\nassert (a ==\n  1)"
    found = clauses(asserts.parse(text))
    alone = asserts.alone(found)
    assert len(alone) == 4
    assert alone[0].text == "import re\nfor x in return_value:\n    assert x > 0, 'é'\n    pass\nif a: pass\npass"
    assert alone[3].text == "import re\nfor x in return_value:\n    pass\n    pass\nif a: pass\nassert (a ==\n  1)"
    for one in alone:
        assert clauses(asserts.parse(one.text)).ensures == one.ensures


def test_jml_keeps_what_is_no_clause() -> None:
    text = (
        "/*@ requires a > 0;\n  @ ensures \\result > a;\n  @ ensures \\old(a) == a\n  @    && a < 9;\n  @*/\n//@ ensures true;"
    )
    found = clauses(jml.parse(text))
    alone = jml.alone(found)
    assert len(alone) == len(found.ensures) == 3
    for one, whole in zip(alone, found.ensures, strict=True):
        assert one.ensures == (whole,)
        assert "requires a > 0;" in one.text and one.text.count("ensures") == 1
    (single,) = jml.alone(clauses(jml.parse("//@ ensures true;")))
    assert single.text == "//@ ensures true;"
