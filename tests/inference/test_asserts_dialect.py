"""From a completion to asserts."""

import pytest

from ensures.candidate import Clauses, Malformed
from inference.dialects import asserts


def test_comments_imports_and_several_lines_are_kept() -> None:
    text = "Sure:\n```python\n# why\nimport re\nassert all(\n    x for x in return_value\n), 'no'\nassert k\n```\nDone."
    found = asserts.parse(text)
    assert isinstance(found, Clauses)
    assert found.text.startswith("# why\nimport re")
    assert found.ensures == ("assert all(\n    x for x in return_value\n), 'no'", "assert k")


def test_asserts_inside_loops_and_functions_count() -> None:
    found = asserts.parse("def ok(x):\n    return x\nfor v in return_value:\n    assert ok(v)")
    assert isinstance(found, Clauses)
    assert found.ensures == ("assert ok(v)",)


@pytest.mark.parametrize(
    ("text", "reason", "message"),
    [
        ("", "compile_error", "no assert"),
        ("x = 1", "compile_error", "no assert"),
        ("assert (", "syntax_error", "line 1"),
        ("return\nassert False", "compile_error", "line 1: a return outside a function"),
        ("if k:\n    return\nassert False", "compile_error", "line 2: a return outside a function"),
        ("assert 1 # \0", "syntax_error", "null"),
        ("assert " + "(" * 5000 + ")" * 5000, "syntax_error", ""),
        ("assert x" * 100_000, "unsupported", "longer than"),
    ],
)
def test_what_is_no_postcondition(text: str, reason: str, message: str) -> None:
    found = asserts.parse(text)
    assert isinstance(found, Malformed)
    assert found.reason == reason
    assert message in found.message
