"""The adapter to Ray for models: a replica of the fleet that is an actor on GPUs, or on a core where there are none.

With tensor parallelism the actor lives in the first bundle of a placement group and vLLM's own workers take the GPUs of the
others. A dead actor is a lost replica: the fleet starts it again.
"""

import asyncio
import contextlib
import os
import subprocess
from typing import Any

from ensures.errors import EngineFailed, EnsuresError
from inference.engine import Message
from inference.engines.vllm_replica import ENVIRONMENT, Serving, VllmReplica
from inference.fleet import Ask, Reply
from inference.sampling import Sampling
from jobs.ray_cluster import answer, end

PLACED_SECONDS = 600.0  # for a placement group: other jobs may hold the GPUs


class ReplicaActor:
    """What runs in the actor's process. Our own errors travel as values, so that they arrive as what they are."""

    def __init__(self, serving: Serving) -> None:
        self.replica = VllmReplica(serving)

    async def call(self, name: str, *arguments: Any) -> tuple[bool, Any]:
        try:
            return True, await getattr(self.replica, name)(*arguments)
        except EnsuresError as error:
            return False, error

    def pid(self) -> int:
        return os.getpid()

    async def close(self) -> None:
        await self.replica.close()


class RayReplica:
    """A replica that is one actor, made anew at every start."""

    def __init__(self, serving: Serving) -> None:
        self.serving, self.gpus = serving, serving.gpus
        self._actor: Any = None
        self._group: Any = None

    async def start(self) -> dict[str, str]:
        await self.close()
        import ray

        # threads of a tiny model only get in each other's way
        variables = {**ENVIRONMENT, "OMP_NUM_THREADS": "1"} if not self.gpus else dict(ENVIRONMENT)
        most = max(1000, 4 * self.serving.config.concurrent)
        options: dict[str, Any] = {"max_restarts": 0, "max_concurrency": most, "runtime_env": {"env_vars": variables}}
        options |= await self._placed()
        self._actor = ray.remote(**options)(ReplicaActor).remote(self.serving)
        return dict(await self._call("start"))

    async def _placed(self) -> dict[str, Any]:
        if self.gpus < 2:
            return {"num_cpus": 1, "num_gpus": self.gpus}
        from ray.util.placement_group import placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        self._group = placement_group([{"CPU": 1}, *({"GPU": 1, "CPU": 1} for _ in range(self.gpus))], strategy="PACK")
        try:
            await asyncio.wait_for(self._group.ready(), PLACED_SECONDS)
        except TimeoutError as error:
            raise EngineFailed(f"{self.gpus} GPUs for {self.serving.name} were not free for {PLACED_SECONDS:.0f} s") from error
        place = PlacementGroupSchedulingStrategy(
            placement_group=self._group, placement_group_bundle_index=0, placement_group_capture_child_tasks=True
        )
        return {"num_cpus": 1, "num_gpus": 0, "scheduling_strategy": place}

    async def generate(self, ask: Ask) -> Reply:
        reply: Reply = await self._call("generate", ask)
        return reply

    async def excess(self, messages: list[Message], sampling: Sampling) -> int:
        return int(await self._call("excess", messages, sampling))

    async def pid(self) -> int:
        return int(await self._actor.pid.remote())

    async def _call(self, name: str, *arguments: Any) -> Any:
        if self._actor is None:
            raise EngineFailed(f"the replica of {self.serving.name} was closed")
        return await answer(self._actor.call.remote(name, *arguments), f"a replica of {self.serving.name}", EngineFailed)

    async def close(self) -> None:
        actor, self._actor = self._actor, None
        group, self._group = self._group, None
        if actor is not None:
            await end(actor, 20)
        if group is not None:
            from ray.util.placement_group import remove_placement_group

            with contextlib.suppress(Exception):
                remove_placement_group(group)


def gpus() -> tuple[list[int], float]:
    """(GPUs of each node that has any, GiB of memory of one). Asks one of those nodes."""
    import ray

    found = [int(node["Resources"].get("GPU", 0)) for node in ray.nodes() if node["Alive"]]
    counts = [count for count in found if count]
    memory = float(ray.get(ray.remote(num_gpus=1, num_cpus=0)(_memory).remote())) if counts else 0.0
    return (counts, memory) if memory else ([], 0.0)


def _memory() -> float:
    """0 where no GPU of NVIDIA's is to be found, whatever was granted."""
    asked = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0.0
    return min((float(line) for line in said.split()), default=0.0) / 1024
