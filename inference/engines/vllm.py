"""A checkpoint served by vLLM, in as many replicas as the cluster holds.

Nothing is started before the first completion is asked for. The k samples of a prompt are one request, so that the prompt
is computed once. Where replicas live is the caller's: `launch` makes them.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ensures.candidate import CONTEXT
from ensures.errors import InputError, PromptTooLong, Stopped
from ensures.task import Setting, Task
from inference import checkpoint as checkpoints
from inference.checkpoint import Checkpoint
from inference.engine import Completion, Prompt, Request
from inference.fit import fitted, runs
from inference.fleet import Ask, Fleet, Replica
from inference.prompts import LADDER
from inference.sampling import Preset, SamplingConfig, resolve
from inference.thinking import cut
from inference.tiny import Architecture

HEADROOM = 1.25  # of a GPU's memory for weights: what vLLM needs beside them, the KV cache first of all
AHEAD = 2.0  # samples asked for at once, as a share of what the replicas work on: some of a request end long before others


@dataclass
class VllmConfig:
    """`checkpoint` is a name on the model hub, `path` a folder instead of it, `random` a tiny one made on the spot."""

    engine: str = "vllm"
    name: str = ""  # as it appears in tables
    checkpoint: str = ""
    path: str = ""
    random: Architecture = Architecture.NONE
    revision: str = "main"
    preset: Preset = Preset.PAPER
    paper: SamplingConfig = field(default_factory=SamplingConfig)  # what the published runs set beside the generation config
    sampling: SamplingConfig = field(default_factory=SamplingConfig)  # the user's, above either preset
    max_tokens: int = 2048
    thinking: bool = False
    thinking_end: str = "</think>"
    template: dict[str, Any] = field(default_factory=dict)  # further arguments of the chat template
    cutoff: str = ""  # of the training data, where it is known
    context: int = 0  # tokens of prompt and answer; 0: all that the model has
    dtype: str = "auto"
    load_format: str = "auto"  # dummy: random weights at the real size
    tensor_parallel: int = 0  # GPUs of one replica; 0: as few as hold the weights
    replicas: str = "auto"  # as many as the cluster holds (one without GPUs), or a number
    concurrent: int = 256  # samples that a replica works on at once
    memory_fraction: float = 0.9  # of a GPU's memory
    eager: bool = False
    block_size: int = 0  # tokens of a block of the KV cache: the grain of prefix caching; 0: vLLM's own
    text_only: bool = False  # of a model that could read images
    cpu_cache_gb: int = 1  # KV cache of a replica without a GPU

    @property
    def label(self) -> str:
        return self.name or Path(self.path).name or self.checkpoint.rpartition("/")[2]


Launch = Callable[["Vllm"], Awaitable[Sequence[Replica]]]


def locate(config: VllmConfig, random: Callable[[Architecture], Any]) -> Checkpoint:
    """The configured checkpoint, by its small files. Raises InputError."""
    if config.path:
        return checkpoints.on_disk(Path(config.path))
    if config.random is not Architecture.NONE:
        return checkpoints.on_disk(random(config.random))
    if not config.checkpoint:
        raise InputError(f"model={config.name} names no checkpoint; set model.checkpoint=owner/name or model.path=FOLDER")
    return checkpoints.from_hub(config.checkpoint, config.revision)


class Vllm:
    hostile = True
    setting: Setting | None = None

    def __init__(self, config: VllmConfig, checkpoint: Checkpoint, launch: Launch) -> None:
        self.config, self.checkpoint, self.launch = config, checkpoint, launch
        self.name = config.label
        self.sampling = resolve(checkpoint.generation, config.paper, config.sampling, config.preset, config.max_tokens)
        self.context = config.context or checkpoint.context
        if 0 < checkpoint.context < config.context:
            limit = checkpoint.context
            raise InputError(
                f"model.context={config.context}: {self.name} has {limit} positions; set model.context={limit} or less"
            )
        if not (config.replicas == "auto" or (config.replicas.isdigit() and int(config.replicas))):
            raise InputError(f"model.replicas={config.replicas}: auto or a number above 0")
        if self.context and self.context <= config.max_tokens:
            raise InputError(f"model.max_tokens={config.max_tokens} leaves no room for a prompt in {self.context} tokens")
        content = [checkpoint.revision, checkpoint.name if checkpoint.on_hub else "", checkpoint.template_hash]
        drawn = [
            self.sampling,
            config.thinking,
            config.thinking_end,
            dict(config.template),
            self.context,
            config.dtype,
            config.load_format,
        ]
        self.identity: Any = ["vllm", *content, *drawn, LADDER]
        self.origin = {
            "engine": "vllm",
            "model": checkpoint.name,
            "revision": checkpoint.revision,
            "tokenizer": checkpoint.tokenizer_hash,
            "chat_template": checkpoint.template_hash,
            "sampling": json.dumps(asdict(self.sampling)),
        }
        self._fleet: Fleet | None = None
        self._opening = asyncio.Lock()
        self._starting: asyncio.Future[None] | None = None
        self._stopped = False

    def covers(self, task: Task, setting: Setting) -> bool:
        return True

    @property
    def capacity(self) -> int:
        replicas = len(self._fleet.replicas) if self._fleet else 1
        return int(self.config.concurrent * replicas * AHEAD)

    @property
    def restarts(self) -> int:
        return self._fleet.restarts if self._fleet else 0

    async def complete(self, request: Request) -> list[Completion]:
        fleet = await self._serving()
        parts = await asyncio.gather(*(self._draw(fleet, request, first, n) for first, n in runs(request.samples)))
        return [completion for part in parts for completion in part]

    def stop(self) -> None:
        self._stopped = True
        if self._starting is not None:  # nothing is in flight yet, and loading may take minutes
            self._starting.cancel()

    async def close(self) -> None:
        fleet, self._fleet = self._fleet, None
        if fleet is not None:
            await fleet.close()

    async def _serving(self) -> Fleet:
        async with self._opening:
            if self._stopped:
                raise Stopped()
            if self._fleet is None:
                self._starting = asyncio.ensure_future(self._start())
                try:
                    await self._starting
                except asyncio.CancelledError:
                    if self._stopped:
                        raise Stopped() from None
                    raise
                finally:
                    self._starting = None
            assert self._fleet is not None
            return self._fleet

    async def _start(self) -> None:
        fleet = Fleet(await self.launch(self))
        try:
            await fleet.start()
        except BaseException:
            await fleet.close()
            raise
        self._fleet = fleet
        self.origin = {**self.origin, **fleet.facts}

    async def _draw(self, fleet: Fleet, request: Request, first: int, n: int) -> list[Completion]:
        prompt, sampling = request.prompts[0], self.sampling.wanting(request.wanted)
        started = time.monotonic()

        async def draw(prompt: Prompt) -> Any:
            ask = Ask(prompt.messages, n, request.seed + first, sampling)
            return await fleet.run(lambda replica: replica.generate(ask))

        try:
            reply = await draw(prompt)
        except PromptTooLong:
            shorter = await fitted(
                request.prompts, lambda one: fleet.run(lambda replica: replica.excess(one.messages, sampling))
            )
            if shorter is None:
                last = request.prompts[-1]
                return [Completion(sample, "", CONTEXT, last) for sample in range(first, first + n)]
            prompt, reply = shorter, await draw(shorter)
        seconds = (time.monotonic() - started) / n
        found = []
        for offset, drawn in enumerate(reply.drawn):
            thinking, answer = cut(drawn.text, self.config.thinking_end if self.config.thinking else "")
            found.append(
                Completion(
                    first + offset,
                    answer,
                    drawn.finish_reason,
                    prompt,
                    reply.rendered,
                    thinking,
                    reply.prompt_tokens,
                    reply.cached_tokens,
                    drawn.tokens,
                    drawn.thinking_tokens,
                    seconds=seconds,
                )
            )
        return found


def gpus_for(config: VllmConfig, checkpoint: Checkpoint, gpu_gib: float, gpus: int) -> int:
    """GPUs of one replica: the least power of two whose memory holds the weights. Raises InputError where it can't."""
    if config.tensor_parallel:
        wanted = config.tensor_parallel
    else:
        wanted = 1
        while wanted * gpu_gib * config.memory_fraction < checkpoint.gib * HEADROOM:
            wanted *= 2
    if checkpoint.heads % wanted:
        raise InputError(f"{checkpoint.name} can't be spread over {wanted} GPUs: it has {checkpoint.heads} attention heads")
    if wanted > gpus:
        raise InputError(
            f"{checkpoint.name} needs {wanted} GPUs of {gpu_gib:.0f} GiB for its {checkpoint.gib:.0f} GiB of weights, and "
            f"there are {gpus}; ask for more, or choose a smaller model="
        )
    return wanted


def places(gpus: Sequence[int], each: int) -> int:
    """How many replicas of `each` GPUs nodes with those GPUs hold: each on one node, or across where none is large enough."""
    return sum(count // each for count in gpus) or sum(gpus) // each


def replicas_for(config: VllmConfig, most: int) -> int:
    """How many replicas are started, of `most` that the cluster holds. Raises InputError."""
    if config.replicas == "auto":
        return most
    if int(config.replicas) > most:
        raise InputError(f"model.replicas={config.replicas}: the cluster holds {most}")
    return int(config.replicas)
