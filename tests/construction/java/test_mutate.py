"""Each of Table 9's Java operators on one method, by name and text."""

from construction.java.mutate import OPERATORS, mutants

METHOD = """\
    /** Says a thing. */
    static %s say(int n, boolean on, String text) {
        int i = 0;
        i++;
        i += 2;
        i = -n + i * 3;
        log(text);
        if (n <= i && on || !text.isEmpty()) {
            Runnable r = () -> { return; };
            return %s;
        }
        return %s;
    }"""


def made(result: str, first: str, second: str) -> dict[str, set[str]]:
    """Operator -> the changed lines."""
    text = METHOD % (result, first, second)
    found: dict[str, set[str]] = {name: set() for name in OPERATORS}
    for mutant in mutants(text):
        pairs = [(a, b) for a, b in zip(text.split("\n"), mutant.implementation.split("\n"), strict=True) if a != b]
        assert len(pairs) == 1
        for name in mutant.operators:
            found[name].add(pairs[0][1].strip())
    return found


def test_operators_of_the_body() -> None:
    found = made("int", "1", "n")
    assert found["increments"] == {"i--;", "i -= 2;"}
    assert found["invert_negatives"] == {"i = n + i * 3;"}
    assert found["math"] == {"i -= 2;", "i = -n - i * 3;", "i = -n + i / 3;"}
    assert found["void_method_call"] == {";"}
    assert found["conditionals_boundary"] == {"if (n < i && on || !text.isEmpty()) {"}
    assert found["negate_conditionals"] == {
        "if (n > i && on || !text.isEmpty()) {",
        "if (n <= i && !(on) || !text.isEmpty()) {",
        "if (n <= i && on || text.isEmpty()) {",
    }
    assert found["primitive_returns"] == {"return 0;"}
    assert not found["null_returns"] | found["empty_returns"] | found["true_returns"] | found["false_returns"]


def test_operators_of_what_is_returned() -> None:
    assert made("boolean", "true", "on")["false_returns"] == {"return false;"}
    assert made("boolean", "false", "on")["true_returns"] == {"return true;"}
    assert made("String", '"a"', "text")["empty_returns"] == {'return "";'}
    assert made("String", '"a"', "text")["null_returns"] == set()
    assert made("Object", '"a"', "text")["null_returns"] == {"return null;"}
    assert made("int[]", "x", "y")["null_returns"] == {"return null;"}
    assert made("java.util.List<String>", "x", "y")["empty_returns"] == {"return java.util.Collections.emptyList();"}
    assert made("Integer", "1", "2")["empty_returns"] == {"return 0;"}
    assert not any(made("void", "", "").get(name) for name in OPERATORS if name.endswith("_returns"))


def test_a_call_that_is_left_out_has_a_probe() -> None:
    (left_out,) = [mutant for mutant in mutants(METHOD % ("int", "1", "n")) if "void_method_call" in mutant.operators]
    assert "{ var $probe = log(text); }" in left_out.probe


def test_a_text_counts_once() -> None:
    texts = [mutant.implementation for mutant in mutants(METHOD % ("int", "1", "n"))]
    assert len(texts) == len(set(texts))
