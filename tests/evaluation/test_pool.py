"""The pool: every unit is done once or said to have failed, lost workers cost a retry, a task stays with its worker."""

import asyncio
from typing import Any

import pytest

from ensures.errors import PreparationFailed, WorkerLost
from evaluation.pool import RETRIES, Pool
from evaluation.station import Work
from tests.ensures.test_keys import a_task


def work(task: str, cost: float = 1.0, payload: Any = None) -> Work:
    return Work(a_task(id=task), lambda *_: None, payload, cost)


class Scripted:
    """A slot that notes what it was given, and fails where it is told to."""

    def __init__(self, failures: list[Exception] | None = None) -> None:
        self.seen: list[str] = []
        self.failures = failures or []
        self.closed = False

    async def run(self, given: Work) -> Any:
        self.seen.append(given.task.id)
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        return given.payload

    async def start(self) -> None: ...

    async def close(self) -> None:
        self.closed = True


async def submit(pool: Pool, *units: Work) -> list[Any]:
    try:
        return await asyncio.gather(*(pool.submit(unit) for unit in units), return_exceptions=True)
    finally:
        await pool.close()


def test_results_come_to_who_asked() -> None:
    async def go() -> list[Any]:
        return await submit(Pool([Scripted(), Scripted()]), *(work(f"t{n}", payload=n) for n in range(20)))

    assert asyncio.run(go()) == list(range(20))


def test_a_lost_worker_costs_a_retry() -> None:
    slot = Scripted([WorkerLost("gone")] * RETRIES)

    async def go() -> list[Any]:
        return await submit(Pool([slot]), work("t", payload=7))

    assert asyncio.run(go()) == [7]
    assert len(slot.seen) == RETRIES + 1
    assert slot.closed


def test_a_fault_that_stays_is_passed_on() -> None:
    async def go() -> list[Any]:
        return await submit(Pool([Scripted([WorkerLost("gone")] * (RETRIES + 1))]), work("t"))

    (found,) = asyncio.run(go())
    assert isinstance(found, WorkerLost)


def test_other_faults_are_not_retried() -> None:
    slot = Scripted([PreparationFailed("no tests")])

    async def go() -> list[Any]:
        return await submit(Pool([slot]), work("t"))

    (found,) = asyncio.run(go())
    assert isinstance(found, PreparationFailed)
    assert slot.seen == ["t"]


def test_a_task_stays_with_its_worker_and_the_longest_comes_first() -> None:
    slot = Scripted()

    async def go() -> None:
        units = [work("short"), work("long", 5), work("short"), work("long", 5), work("short")]
        await submit(Pool([slot]), *units)

    asyncio.run(go())
    assert slot.seen[1:] == sorted(slot.seen[1:], key=lambda task: task != slot.seen[1])


@pytest.mark.parametrize("slots", [1, 3])
def test_idle_workers_help(slots: int) -> None:
    made = [Scripted() for _ in range(slots)]

    async def go() -> None:
        await submit(Pool(made), *(work("only", payload=n) for n in range(30)))

    asyncio.run(go())
    assert all(slot.seen for slot in made)


def test_a_worker_whose_machine_is_gone_takes_no_work_until_it_is_back() -> None:
    """Its unit goes to another, also where the first tries to start it again fail."""

    class Gone(Scripted):
        def __init__(self) -> None:
            super().__init__([WorkerLost("gone")])
            self.starts = 0

        async def start(self) -> None:
            self.starts += 1
            if self.starts == 2:
                raise WorkerLost("the machine is not known to be gone yet")
            if self.starts > 2:
                await asyncio.Event().wait()

    async def go() -> tuple[list[Any], Gone, Scripted]:
        gone, other = Gone(), Scripted()
        found = await asyncio.wait_for(submit(Pool([gone, other]), *(work(f"t{n}", payload=n) for n in range(6))), 20)
        return found, gone, other

    found, gone, other = asyncio.run(go())
    assert found == list(range(6))
    assert len(gone.seen) == 1 and len(other.seen) == 6
