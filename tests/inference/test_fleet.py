"""Requests go to the least busy replica; what dies is started again and its requests are done elsewhere."""

import asyncio
from collections import Counter

import pytest

from ensures.errors import EngineFailed, InputError
from inference.fleet import Fleet


class Stand:
    """A replica that notes what it is asked, and dies when told to."""

    def __init__(self, seconds: float = 0.01, dies_after: int | None = None, starts: list[Exception] | None = None) -> None:
        self.seconds, self.dies_after, self.starts = seconds, dies_after, list(starts or [])
        self.asked = self.started = self.most = self.now = 0

    async def start(self) -> dict[str, str]:
        self.started += 1
        await asyncio.sleep(0.01)
        if self.starts:
            raise self.starts.pop(0)
        return {"device": "stand"}

    async def work(self) -> str:
        self.asked += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds)
            if self.dies_after is not None and self.asked > self.dies_after:
                self.dies_after = None
                raise EngineFailed("died")
            return "done"
        finally:
            self.now -= 1

    async def close(self) -> None: ...


async def run(stands: list[Stand], requests: int) -> tuple[Fleet, list[str]]:
    fleet = Fleet(stands)  # type: ignore[arg-type]
    await fleet.start()
    done = await asyncio.gather(*(fleet.run(lambda replica: replica.work()) for _ in range(requests)))  # type: ignore[attr-defined]
    await fleet.close()
    return fleet, list(done)


def test_the_least_busy_is_asked() -> None:
    async def both() -> list[Stand]:
        stands = [Stand(), Stand()]
        fleet = Fleet(stands)  # type: ignore[arg-type]
        await fleet.start()
        await asyncio.sleep(0.05)  # both are up
        await asyncio.gather(*(fleet.run(lambda replica: replica.work()) for _ in range(20)))  # type: ignore[attr-defined]
        return stands

    assert [stand.asked for stand in asyncio.run(both())] == [10, 10]


def test_a_lost_replica_is_started_again_once() -> None:
    stands = [Stand(dies_after=0), Stand()]
    fleet, done = asyncio.run(run(stands, 30))
    assert Counter(done) == {"done": 30}
    assert fleet.restarts == 1
    assert stands[0].started == 2
    assert fleet.facts == {"device": "stand"}


def test_the_only_replica_may_die() -> None:
    fleet, done = asyncio.run(run([Stand(dies_after=3)], 10))
    assert len(done) == 10
    assert fleet.restarts == 1


def test_a_request_is_given_up_after_three_losses() -> None:
    class Mortal(Stand):
        async def work(self) -> str:
            raise EngineFailed("died again")

    with pytest.raises(EngineFailed, match="died again"):
        asyncio.run(run([Mortal()], 1))


def test_a_start_may_fail_twice() -> None:
    stand = Stand(starts=[EngineFailed("one"), EngineFailed("two")])
    _, done = asyncio.run(run([stand], 2))
    assert done == ["done", "done"]
    with pytest.raises(EngineFailed, match="three"):
        asyncio.run(run([Stand(starts=[EngineFailed("one"), EngineFailed("two"), EngineFailed("three")])], 1))


def test_what_is_the_users_to_mend_is_not_tried_again() -> None:
    stand = Stand(starts=[InputError("lower model.context")])
    with pytest.raises(InputError, match=r"lower model\.context"):
        asyncio.run(run([stand], 1))
    assert stand.started == 1
