"""Methods are found where they stand, with their comment, kind and complexity."""

import textwrap
from pathlib import Path

import pytest

from construction import environment, parse
from construction.cover import Coverage
from ensures.errors import InputError, PreparationFailed
from ensures.task import Package

SOURCE = textwrap.dedent('''
    # What it does is written
    # above it.
    def plain(a, b=(1,
                    2)):
        if a and b:
            return 1
        return 0


    class Outer:
        @property
        def prop(self):
            """Doc of prop."""
            return 1

        @staticmethod
        def static(): return 1

        @classmethod
        def klass(cls):
            for x in ():
                while x:
                    pass

        class Inner:
            async def deep(self):
                yield 1

    def plain(a):
        """The second stands."""
        def nested():
            yield 2
        return nested
''').lstrip()


def test_methods() -> None:
    found = {(m.qualname, m.start_line): m for m in parse.methods(SOURCE)}
    first = found["plain", 3]
    assert first.signature == "def plain(a, b=(1,\n                2)):"
    assert first.comment == "What it does is written\nabove it."
    assert (first.end_line, first.body_start_line, first.complexity) == (7, 5, 2)
    assert found["Outer.prop", 11].kind == "property"
    assert found["Outer.prop", 11].comment == "Doc of prop."
    assert found["Outer.static", 16].kind == "static"
    assert found["Outer.klass", 19].complexity == 3
    deep = found["Outer.Inner.deep", 26]
    assert (deep.kind, deep.is_async, deep.is_generator) == ("instance", True, True)
    last = parse.find(SOURCE, "plain")
    assert last is not None
    assert last.comment == "The second stands."
    assert not last.is_generator
    assert found["plain.<locals>.nested", 31].kind == "nested"
    lines = SOURCE.split("\n")
    for method in found.values():
        assert method.implementation == "\n".join(lines[method.start_line - 1 : method.end_line])


def test_words() -> None:
    method = next(parse.methods('def f():\n    """One two-part word, 3 numbers and it\'s done: x_y."""'))
    assert method.comment_words == 9


def test_coverage_counts_executable_lines_that_passing_tests_reach() -> None:
    coverage = Coverage(
        {"a": "passed", "b": "failed", "c": "passed"},
        {},
        {"m.py": {"statements": [1, 2, 3, 4, 9], "tests": {"2": ["a", "b"], "3": ["b"], "4": ["c"], "9": ["a"]}}},
    )
    assert coverage.of_lines("m.py", 2, 5) == (2 / 3, ("a", "c"))
    assert coverage.of_lines("other.py", 1, 9) == (0.0, ())


def test_a_hash_that_does_not_match_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENSURES_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"inflection-0\.5\.1\.tar\.gz: SHA-256 is 1a29.*the manifest says 0000"):
        environment.unpacked(Package("inflection", "0.5.1", "0" * 64))
    assert not list(tmp_path.rglob("*.done"))


def test_a_package_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENSURES_CACHE", str(tmp_path))
    with pytest.raises(PreparationFailed, match="can't be downloaded"):
        environment.unpacked(Package("inflection", "0.0.0.0", "0" * 64))


@pytest.mark.parametrize(
    ("wanted", "pip"),
    [
        ("*", "x"),
        ("^1.2", "x >=1.2,<2"),
        ("^0.3.1", "x >=0.3.1,<0.4"),
        ("~1.2", "x ~=1.2"),
        (">=1,<3", "x >=1,<3"),
        ("1.5", "x ==1.5"),
        ({"version": "^2", "extras": ["a", "b"]}, "x[a,b] >=2,<3"),
    ],
)
def test_poetry_constraints(wanted: object, pip: str) -> None:
    assert environment._poetry_requirement("x", wanted) == pip
