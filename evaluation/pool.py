"""The pool: hands units of work to workers, the longest task first, a task's units to the worker that has it open."""

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from ensures.errors import EnsuresError, Stopped, WorkerLost
from evaluation.station import Station, Work

T = TypeVar("T")
RETRIES = 2
STARTS, PAUSE = 10, 0.5  # tries to start a lost worker again, and seconds between them
LINGER = 0.05  # seconds that a worker waits for more of the task that it has open: to open another costs ten times that


async def ended(work: Iterable[Awaitable[T]]) -> list[T]:
    """All results, side by side. A fault is raised when all have ended, so that what the others gave is kept."""
    found = await asyncio.gather(*work, return_exceptions=True)
    for item in found:
        if isinstance(item, BaseException):
            raise item
    return found  # type: ignore[return-value]


class Slot(Protocol):
    """One worker, wherever it runs. `run` raises WorkerLost for faults worth another try; `start` is only to be early."""

    async def start(self) -> None: ...

    async def run(self, work: Work) -> Any: ...

    async def close(self) -> None: ...


class LocalSlot:
    """cluster=none: a station in this process, its work in a thread."""

    def __init__(self, station: Station) -> None:
        self.station = station

    async def start(self) -> None: ...

    async def run(self, work: Work) -> Any:
        return await asyncio.to_thread(self.station.run, work)

    async def close(self) -> None:
        await asyncio.to_thread(self.station.close)


class _Unit:
    def __init__(self, work: Work) -> None:
        self.work = work
        self.tries = 0
        self.done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class Pool:
    """Work is lost with its worker and done again elsewhere, at most `RETRIES` times. `sessions`: how many tasks a worker
    keeps open (`Station`)."""

    def __init__(self, slots: Sequence[Slot], sessions: int = 1) -> None:
        self.slots, self.sessions = list(slots), sessions
        self._pending: dict[str, list[_Unit]] = defaultdict(list)
        self._open: dict[int, deque[str]] = {index: deque(maxlen=sessions) for index in range(len(slots))}
        self._wake = asyncio.Condition()
        self._stopped = False
        self._runners = [asyncio.ensure_future(self._serve(index)) for index in range(len(self.slots))]

    async def submit(self, work: Work) -> Any:
        if self._stopped:
            raise Stopped()
        unit = _Unit(work)
        async with self._wake:
            self._pending[work.task.id].append(unit)
            self._wake.notify_all()
        return await unit.done

    def stop(self) -> None:
        """What runs comes to its end; what waits, and what is still to come, raises Stopped."""
        self._stopped = True
        for units in self._pending.values():
            for unit in units:
                self._finish(unit, error=Stopped())
            units.clear()

    async def close(self) -> None:
        for runner in self._runners:
            runner.cancel()
        await asyncio.gather(*self._runners, return_exceptions=True)
        await asyncio.gather(*(slot.close() for slot in self.slots), return_exceptions=True)

    async def _serve(self, index: int) -> None:
        with contextlib.suppress(WorkerLost):  # the first unit will find out
            await self.slots[index].start()
        while True:
            async with self._wake:
                unit = self._next(index, other=False)
                if unit is None and self._open[index]:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._wake.wait_for(lambda: self._mine(index)), LINGER)
                while (unit := unit or self._next(index)) is None:
                    await self._wake.wait()
            if unit.done.done():
                continue
            try:
                result = await self.slots[index].run(unit.work)
            except WorkerLost as error:
                unit.tries += 1
                if self._stopped or unit.tries > RETRIES:
                    self._finish(unit, error=Stopped() if self._stopped else error)
                else:
                    async with self._wake:
                        self._pending[unit.work.task.id].append(unit)
                        self._wake.notify_all()
                await self._replaced(index)
            except (EnsuresError, Exception) as error:
                self._finish(unit, error=error)
            else:
                self._finish(unit, result)

    async def _replaced(self, index: int) -> None:
        """With its machine lost there may be no room for another worker: the slot takes no work until one is there."""
        for _ in range(STARTS):
            try:
                await self.slots[index].start()
            except WorkerLost:
                await asyncio.sleep(PAUSE)
            else:
                return

    def _finish(self, unit: _Unit, result: Any = None, error: Exception | None = None) -> None:
        if unit.done.done():
            return
        if error is not None:
            unit.done.set_exception(error)
        else:
            unit.done.set_result(result)

    def _mine(self, index: int) -> str | None:
        """A task with work among those that this worker has open, the last one first."""
        return next((task for task in reversed(self._open[index]) if self._pending.get(task)), None)

    def _next(self, index: int, other: bool = True) -> _Unit | None:
        """A unit of a task that this worker has open; else, if `other`, of the costliest that nobody has; else of any."""
        mine = self._mine(index)
        if mine is None:
            waiting = {task: units for task, units in self._pending.items() if units}
            if not waiting or not other:
                return None
            taken = {task for tasks in self._open.values() for task in tasks}
            free = {task: units for task, units in waiting.items() if task not in taken} or waiting
            mine = max(free, key=lambda task: (sum(unit.work.cost for unit in free[task]), task))
        else:
            self._open[index].remove(mine)
        self._open[index].append(mine)
        return self._pending[mine].pop(0)
