"""A worker keeps to its core exactly where every core has a worker, and only for as long as it works."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from evaluation import core
from evaluation.core import Core

SEEN = "import os; print(sorted(os.sched_getaffinity(0)))"


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Cores of this test alone; what the thread may use is put back."""
    monkeypatch.setattr(core, "NAME", f"\0ensures-test-{os.getpid()}-{{}}")
    allowed = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, allowed)


def started() -> list[int]:
    return [int(n) for n in subprocess.check_output([sys.executable, "-c", SEEN], text=True).strip("[]\n").split(",")]


def test_all_cores_taken() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    workers = [Core() for _ in allowed]
    assert [worker.number for worker in workers] == allowed
    for worker in workers:
        with worker.kept():
            assert started() == [worker.number]
        assert started() == allowed


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core alone is always taken")
def test_a_core_left_over() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    workers = [Core() for _ in allowed]
    workers.pop().close()
    with workers[0].kept():
        assert started() == allowed
    late = Core()
    assert late.number == allowed[-1]
    with workers[0].kept():
        assert started() == allowed[:1]
    late.close()


def test_more_workers_than_cores() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    workers = [Core() for _ in allowed]
    another = Core()
    assert another.number is None
    with another.kept():
        assert started() == allowed
    assert len(workers) == len(allowed)


def test_a_cpuset_is_kept_to() -> None:
    last = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {last})
    worker = Core()
    assert worker.number == last
    with worker.kept():
        assert started() == [last]
    assert os.sched_getaffinity(0) == {last}


def test_an_error_lets_go() -> None:
    workers = [Core() for _ in os.sched_getaffinity(0)]
    before = os.sched_getaffinity(0)
    with pytest.raises(ZeroDivisionError), workers[0].kept():
        raise ZeroDivisionError
    assert os.sched_getaffinity(0) == before
