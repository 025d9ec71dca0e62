"""The adapter to Ray: a private cluster, and slots of the pool that are actors.

An actor holds a station, that is, the client of one sandboxed worker; foreign code never runs in it. Lost actors are
started again, and what they were doing is done again by the pool.
"""

import asyncio
import contextlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from typing import Any

from ensures.errors import EnsuresError, WorkerLost
from evaluation.station import Station, Work
from slurm.ray_node import OWN, QUIET


@dataclass
class LocalClusterConfig:
    """A Ray cluster of this machine alone, started for the run and ended with it."""

    kind: str = "local"


@dataclass
class NoClusterConfig:
    """Everything in one process, one worker: for debugging."""

    kind: str = "none"


class RayCluster:
    """Started in the background: the driver has other things to do for the seconds that it takes."""

    def __init__(self, workers: int, replicas: int) -> None:
        """Replicas of a model are beside the evaluation workers."""
        self.workers, self.cpus = workers, workers + replicas
        self.resources: dict[str, float] = {}  # of one evaluation worker
        # Ray's sockets need a short path
        self._folder = tempfile.mkdtemp(prefix="ens-", dir="/tmp")

    def start(self) -> None:
        given = started()
        import ray

        ray.init(
            address="local",
            num_cpus=self.cpus,
            object_store_memory=100 << 20,
            include_dashboard=False,
            log_to_driver=False,
            _temp_dir=self._folder,
            **given,
        )

    def stop(self) -> None:
        import ray

        with contextlib.suppress(Exception):
            ray.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)


def started() -> dict[str, Any]:
    """What every `ray.init` is given; what Ray reads from the environment is set."""
    os.environ.update({**QUIET, **OWN})
    return {
        "configure_logging": True,
        "logging_level": "ERROR",
        "runtime_env": {"env_vars": {"PYTHONPATH": os.getcwd()}},
    }


async def answer(call: Any, who: str, lost: type[EnsuresError]) -> Any:
    """What an actor's call gave. Our own errors come as values and are raised; `lost` is, where the actor or Ray failed."""
    from ray.exceptions import RayActorError, RayError

    try:
        good, result = await call
    except RayActorError as error:
        raise lost(f"{who} died ({type(error).__name__})") from error
    except RayError as error:
        raise lost(f"{who} failed: {' '.join(str(error).split())[-300:]}") from error
    if not good:
        raise result
    return result


async def end(actor: Any, seconds: float) -> None:
    """Lets the actor close what it holds, then ends it."""
    import ray

    with contextlib.suppress(Exception):
        await asyncio.wait_for(actor.close.remote(), timeout=seconds)
    with contextlib.suppress(Exception):
        ray.kill(actor)


class StationActor:
    """What runs in the actor's process."""

    def __init__(self, make_station: Any) -> None:
        self.station: Station = make_station()

    def run(self, work: Work) -> tuple[bool, Any]:
        """Our own errors travel as values, so that they arrive as what they are."""
        try:
            return True, self.station.run(work)
        except EnsuresError as error:
            return False, error

    def pid(self) -> int:
        return os.getpid()

    def close(self) -> None:
        self.station.close()


class RaySlot:
    """A slot of the pool that is one actor, replaced when it dies."""

    def __init__(self, make_station: Any, resources: dict[str, float]) -> None:
        self._make, self._resources = make_station, resources
        self._actor: Any = None

    def _started(self) -> Any:
        import ray

        if self._actor is None:
            options: dict[str, Any] = {"num_cpus": 1, "resources": self._resources, "scheduling_strategy": "SPREAD"}
            self._actor = ray.remote(max_restarts=0, **options)(StationActor).remote(self._make)
        return self._actor

    async def start(self) -> None:
        await self.pid()

    async def run(self, work: Work) -> Any:
        from ray.exceptions import RayActorError

        try:
            return await answer(self._started().run.remote(work), "an evaluation worker", WorkerLost)
        except WorkerLost as error:
            if isinstance(error.__cause__, RayActorError):
                self._actor = None
            raise

    async def pid(self) -> int:
        from ray.exceptions import RayError

        try:
            return int(await self._started().pid.remote())
        except RayError as error:
            self._actor = None
            raise WorkerLost(f"an evaluation worker did not start: {type(error).__name__}") from error

    async def close(self) -> None:
        if self._actor is not None:
            await end(self._actor, 5)
            self._actor = None
