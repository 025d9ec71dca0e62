"""Keys depend on content and on nothing else; the halves of calls are the same here and in the harness."""

from hypothesis import given
from hypothesis import strategies as st

from ensures.keys import content_key, seed_from
from ensures.task import Language, Mutant, Package, Repository, Task
from ensures.view import Part, part_of_call
from evaluation.python.harness.ensures_harness.flat import Candidate


def a_task(**changes: object) -> Task:
    base = {
        "id": "t",
        "language": Language.PYTHON,
        "source": Package("p", "1", "0" * 64),
        "file": "p.py",
        "qualname": "f",
        "start_line": 1,
        "end_line": 2,
        "signature": "def f():",
        "comment": "",
        "implementation": "def f():\n    return 1",
        "tests": ("t.py::t",),
    }
    return Task(**{**base, **changes})  # type: ignore[arg-type]


def test_every_field_counts() -> None:
    plain = a_task()
    changed = [
        a_task(implementation="def f():\n    return 2"),
        a_task(tests=("t.py::u",)),
        a_task(source=Repository("p", "1")),
        a_task(mutants=(Mutant("x", ("rule",)),)),
        a_task(reference="@icontract.ensure(lambda: True)"),
    ]
    assert len({plain.key, *(task.key for task in changed)}) == len(changed) + 1
    assert a_task().key == plain.key


@given(st.lists(st.one_of(st.text(), st.integers(), st.none(), st.booleans())))
def test_keys_are_stable_and_separate_their_parts(parts: list[object]) -> None:
    assert content_key(*parts) == content_key(*parts)
    assert content_key(parts) != content_key(*parts, "more")
    assert 0 <= seed_from(content_key(parts)) < 2**31


@given(st.text(max_size=10), st.text(max_size=30), st.integers(0, 1000))
def test_the_harness_halves_as_we_do(salt: str, test: str, number: int) -> None:
    salt = salt or "1"
    candidate = Candidate(0, {"preamble": [], "text": "", "salt": salt, "views": ["unseen", "seen"]})
    index = candidate.view_of(test, number)
    assert [Part.UNSEEN, Part.SEEN][index or 0] is part_of_call(salt, test, number)
