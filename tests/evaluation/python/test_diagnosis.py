"""Candidates that say nothing, and implications that never said anything."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ensures.task import Task
from evaluation.implications import of_icontract
from evaluation.python.session import IcontractSession
from tests import projects
from tests.projects import clauses, submission

Prepare = Callable[[Path, Task], IcontractSession]
MODULE = "def f(values):\n    return sorted(values)\n"
TESTS = "from demo import f\n\ndef test_f():\n    assert f([2, 1]) == [1, 2]\n    assert f([3]) == [3]\n"


@pytest.mark.parametrize(
    ("condition", "insensitive", "unused"),
    [
        ("lambda: True", True, ()),
        ("lambda values: len(values) >= 0", True, ()),
        ("lambda result: result == result", True, ()),
        ("lambda result: isinstance(result, list)", False, ()),
        ("lambda values, result: not values == [] or result == []", True, (0,)),
        ("lambda values, result: result == [] if not values else True", True, (0,)),
        ("lambda values, result: True if values else result == []", True, (0,)),
        ("lambda values, result: not len(values) == 1 or result == values", False, ()),
        ("lambda values, result: not len(values) > 5 or not values or result[0] == 1", True, (0,)),
        ("lambda result: result is not None or False", False, ()),
    ],
)
def test_what_a_candidate_leaves_unsaid(
    tmp_path: Path, prepare: Prepare, condition: str, insensitive: bool, unused: tuple[int, ...]
) -> None:
    folder = projects.write(tmp_path, {"demo.py": MODULE, "test_demo.py": TESTS})
    session = prepare(folder, projects.task(folder, "demo.py", "f", ("test_demo.py::test_f",)))
    impure = submission("@icontract.ensure(lambda: print(1) is None)")
    found, other = session.diagnose([submission(f"@icontract.ensure({condition})"), impure])
    assert found is not None
    assert (found.insensitive, found.unused) == (insensitive, unused)
    assert other is None


def test_left_sides_keep_snapshots_and_arguments() -> None:
    text = (
        "@icontract.snapshot(lambda values: len(values), name='n')\n"
        "@icontract.ensure(lambda result: result)\n"
        "@icontract.ensure(lambda OLD, result: not OLD.n > 1 or result[0] <= result[1], 'sorted')"
    )
    ((position, left),) = of_icontract(clauses(text))
    assert position == 1
    assert left.text.split("\n")[0] == "@icontract.snapshot(lambda values: len(values), name='n')"
    assert left.ensures == ("@icontract.ensure(lambda OLD, result: OLD.n > 1)",)
