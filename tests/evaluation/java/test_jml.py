"""JML as models write it: what it parses to, what is refused and how, and that what is written parses to the same."""

import json
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.java.jml.clauses import place, specification
from evaluation.java.jml.parse import parse
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
    written,
)
from evaluation.java.jml.tokens import JmlError, JmlUnsupported


def java(*parts: str | Expression) -> Java:
    return Java(parts)


A, B, C = java("a"), java("b"), java("c")


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("a", A),
        ("\\result", Result()),
        ("\\result > 0", java(Result(), " > 0")),
        ("a ==> b ==> c", Implication(A, Implication(B, C))),
        ("a <== b <== c", Implication(Implication(A, B, True), C, True)),
        ("a <==> b <=!=> c", Equivalence(Equivalence(A, B), C, True)),
        ("a ==> b <==> c", Equivalence(Implication(A, B), C)),
        ("a && b ==> c", Implication(java("a && b"), C)),
        ("a ? b : c", Conditional(A, B, C)),
        ("a ? b : c ? a : b", Conditional(A, B, Conditional(C, A, B))),
        ("a ==> b ? c : a", Conditional(Implication(A, B), C, A)),
        ("(a ==> b) && c", java("(", Implication(A, B), ") && c")),
        ("\\old(a)", Old(A)),
        ("\\old(x.size() + 1)", Old(java("x.size() + 1"))),
        ("f(\\old(a), \\result)[\\result]", java("f(", Old(A), ", ", Result(), ")[", Result(), "]")),
        ("0 <= a < b", Chain((java("0"), A, B), ("<=", "<"))),
        ("c && 0 <= a < b", java("c && ", Chain((java("0"), A, B), ("<=", "<")))),
        (
            "(\\forall int i; 0 <= i && i < n; a[i] > 0)",
            Quantified("forall", "int", ("i",), java("0 <= i && i < n"), java("a[i] > 0")),
        ),
        ("(\\exists int i, j; i != j)", Quantified("exists", "int", ("i", "j"), None, java("i != j"))),
        ("(\\sum int i; 0 <= i < n; a[i]) == \\result", None),
        ("(\\forall int i; ; i == i)", Quantified("forall", "int", ("i",), None, java("i == i"))),
        ("\\typeof(a) == \\type(int[])", java(Function("typeof", A), " == ", TypeLiteral("int[]"))),
        ("\\nonnullelements(a)", Function("nonnullelements", A)),
        ("xs.stream().allMatch(x -> x > 0 ==> b)", java("xs.stream().allMatch(x -> ", Implication(java("x > 0"), B), ")")),
        ("xs.stream().allMatch(x -> \\old(a) > x)", java("xs.stream().allMatch(x -> ", Old(A), " > x)")),
        ("new HashMap<String, List<Integer>>().isEmpty()", java("new HashMap<String, List<Integer>>().isEmpty()")),
        ("((List<String>) a).size() > 0", java("((List<String>) a).size() > 0")),
        ("Collections.<String>emptyList().equals(a)", java("Collections.<String>emptyList().equals(a)")),
        ('"==> ; \\\\result".equals(a)', java('"==> ; \\\\result".equals(a)')),
        ('"""\n x ==> y\n """.isEmpty()', java('"""\n x ==> y\n """.isEmpty()')),
        ("a instanceof String", java("a instanceof String")),
        ("a instanceof String s && s.isEmpty()", java("a instanceof String s && s.isEmpty()")),
        ("xs.stream().map(String::length).count() > 0", java("xs.stream().map(String::length).count() > 0")),
        ("switch (a) { case 1 -> true; default -> false; }", java("switch (a) { case 1 -> true; default -> false; }")),
        ("new int[]{1, 2,}.length == \\result", java("new int[]{1, 2,}.length == ", Result())),
        ("a >> 2 >>> 1 == b", java("a >> 2 >>> 1 == b")),
        ("c == '\\''", java("c == '\\''")),
        ("(a, b) -> a", java("(a, b) -> a")),
        ("f((x, y) -> x ==> y)", java("f((x, y) -> ", Implication(java("x"), java("y")), ")")),
        ("f(x -> { return x; })", java("f(x -> { return x; })")),
        (
            "a < b ? \\result == a : \\result == b",
            Conditional(java("a < b"), java(Result(), " == a"), java(Result(), " == b")),
        ),
        ("Map.Entry<K, V>::getKey", java("Map.Entry<K, V>::getKey")),
        ("this.<T>f(a)", java("this.<T>f(a)")),
        ("-1 <= \\result && \\result < 1e-3", java("-1 <= ", Result(), " && ", Result(), " < 1e-3")),
    ],
)
def test_expressions(text: str, expression: Expression | None) -> None:
    found = parse(text)
    if expression is not None:
        assert found == expression
    assert parse(written(found)) == found


@pytest.mark.parametrize(
    ("text", "said", "column"),
    [
        ("a ==> ", "==> lacks an operand", 3),
        ("a ==> b <== c", "==> and <== need parentheses between them", 9),
        ("(a", "'(' is not closed", 1),
        ("a)", "')' closes nothing", 2),
        ("a ? b", "'?' has no ':'", 3),
        ("0 <= a > b", "a chain of comparisons goes one way", 8),
        ("\\forall int i; a", "\\forall needs parentheses around it", 1),
        ("(\\forall i; a)", "\\forall declares its variables as in 'int i, j'", 2),
        ("\\old", "\\old needs an argument in parentheses", 1),
        ("\\old()", "an expression is missing", 6),
        ("a b", "no Java expression: a b", 1),
        ("a +", "no Java expression: a +", 1),
        ("f(,)", "an expression is missing", 3),
        ("a # b", "unexpected '#'", 3),
        ('"open', "unexpected '\"'", 1),
        ("", "an expression is missing", 1),
        ("(" * 300 + "a < b" + ")" * 300, "nested too deeply", None),
    ],
)
def test_what_does_not_parse(text: str, said: str, column: int | None) -> None:
    with pytest.raises(JmlError) as error:
        parse(text)
    assert error.value.said == said
    assert column is None or place(text, error.value.offset) == (1, column)
    assert not isinstance(error.value, JmlUnsupported)


@pytest.mark.parametrize("text", ["\\old(a, Pre)", "\\fresh(a)", "\\not_modified(a)", "\\lockset", "\\reach(a)"])
def test_what_is_not_checked_is_named(text: str) -> None:
    with pytest.raises(JmlUnsupported, match=r"\\"):
        parse(text)


# Clauses


def test_the_forms_of_comments() -> None:
    found = specification(
        "//@ ensures a;\n"
        "// @ ensures b\n//@   && c;\n"
        "/*@ requires x != null;\n  @ ensures \\result == x;\n  @ signals (Exception e) false;\n  @*/\n"
        "/*@ public normal_behavior\n    ensures a; ensures b; assignable \\nothing; also ensures c; @*/"
    )
    assert [(clause.keyword, written(clause.expression), clause.line) for clause in found.clauses] == [
        ("ensures", "a", 1),
        ("ensures", "b\n      && c", 2),
        ("requires", "x != null", 4),
        ("ensures", "\\result == x", 5),
        ("ensures", "a", 9),
        ("ensures", "b", 9),
        ("ensures", "c", 9),
    ]
    assert [clause.keyword for clause in found.requires] == ["requires"]
    assert "'// @' is taken for '//@'" in found.notes
    assert {"signals is ignored", "assignable is ignored", "also is ignored", "normal_behavior is ignored"} <= set(found.notes)


@pytest.mark.parametrize(
    ("text", "said", "at"),
    [
        ("ensures a;", "this is no JML comment", (1, 1)),
        ("//@ ensures a", "'ensures' is not ended by ';'", (1, 5)),
        ("//@ ensures a;\n//@ invariant b;", "'invariant' begins no clause", (2, 5)),
        ("//@ ensures a;\n//@ ensures (b;", "'(' is not closed", (2, 13)),
        ("//@ ensures;", "an expression is missing", (1, 12)),
        ("// a comment\n//@ ensures a;", "this is no JML comment", (1, 1)),
    ],
)
def test_what_is_no_specification(text: str, said: str, at: tuple[int, int]) -> None:
    with pytest.raises(JmlError) as error:
        specification(text)
    assert error.value.said == said
    assert place(text, error.value.offset) == at


def test_the_published_candidates_of_floor(shared_data: Path) -> None:
    record = json.loads((shared_data / "postcondbench" / "TheAlgorithms--Java--floor.json").read_text())
    texts = [record["ref_postcond"], *(text for result in record["results"] for text in result["postconds"])]
    for text in texts:
        found = specification(text)
        assert found.ensures, text
        assert all(parse(written(clause.expression)) == clause.expression for clause in found.clauses)


# What is written parses to the same

names = st.text(string.ascii_lowercase, min_size=1, max_size=3).map(lambda name: "v" + name)
leaves: st.SearchStrategy[Expression] = st.one_of(
    names.map(lambda name: java(name)),
    st.just(Result()),
    names.map(lambda name: java(f"f({name}) + 1")),
    st.tuples(names, names).map(lambda two: java(f"{two[0]}.g({two[1]})")),
)


def within(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Operands in parentheses where precedence wants them: here always, unless they are leaves."""

    def closed(expression: Expression) -> Expression:
        if isinstance(expression, (Implication, Equivalence, Conditional, Chain)):
            return Java(("(", expression, ")"))
        return expression

    operand = inner.map(closed)
    plain = leaves
    return st.one_of(
        st.builds(Implication, operand, operand, st.booleans()),
        st.builds(Equivalence, operand, operand, st.booleans()),
        st.builds(Conditional, operand, operand, operand),
        st.builds(Old, inner),
        st.builds(Function, st.sampled_from(("typeof", "nonnullelements")), inner),
        st.builds(lambda a, b, c: Chain((a, b, c), ("<=", "<")), plain, plain, plain),
        st.builds(
            lambda kind, name, low, body: Quantified(kind, "int", (name,), low, body),
            st.sampled_from(("forall", "exists", "sum", "num_of")),
            names,
            st.none() | inner,
            inner,
        ),
    )


@settings(max_examples=300, deadline=None)
@given(st.recursive(leaves, within, max_leaves=12))
def test_round_trip(expression: Expression) -> None:
    assert parse(written(expression)) == expression


pieces = st.sampled_from(
    "a b 1 \\result \\old \\forall \\typeof int List String ( ) [ ] { } < > <= ==> <== <==> <=!=> ? : -> ; , . && || ! == = + "
    'instanceof new switch case \'c\' "s" """ // /* */ @ # \\'.split()
)


@settings(max_examples=500, deadline=None)
@given(st.lists(pieces, max_size=25), st.sampled_from(["", " "]))
def test_anything_parses_or_is_refused(words: list[str], between: str) -> None:
    text = between.join(words)
    try:
        found = parse(text)
    except JmlError as error:
        assert error.said
        assert 0 <= error.offset <= len(text)
    else:
        assert parse(written(found)) == found
