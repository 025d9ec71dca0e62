"""One replica of a model in vLLM's asynchronous engine. Lives in a process of its own, on a GPU or, with small models, a CPU.

vLLM is imported here and nowhere else.
"""

import asyncio
import contextlib
import hashlib
import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ensures.errors import EngineFailed, EnsuresError, InputError, PromptTooLong
from inference.engine import Message
from inference.engines.vllm import VllmConfig
from inference.fleet import Ask, Drawn, Reply
from inference.sampling import Sampling
from inference.thinking import cut

ENVIRONMENT = {
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # replicas on one machine would be bound to the same cores
    "TOKENIZERS_PARALLELISM": "false",
}
LOG = "log"


@dataclass(frozen=True, slots=True)
class Serving:
    """What a replica is started with. `name` is the model's, in messages; `model` the folder with its checkpoint."""

    config: VllmConfig
    name: str
    model: str
    gpus: int = 0  # of the replica; 0: none, or the one that vLLM finds


class VllmReplica:
    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self._engine: Any = None
        self._numbers = itertools.count()
        self._folder: Path | None = None

    async def start(self) -> dict[str, str]:
        os.environ.update({**ENVIRONMENT, "VLLM_CPU_KVCACHE_SPACE": str(self.serving.config.cpu_cache_gb)})
        if self.serving.config.eager:
            os.environ["TORCH_COMPILE_DISABLE"] = "1"
        await self.close()
        # vLLM's engine is a child, which writes the cause of its end here and nowhere else; its sockets need a short path
        self._folder = Path(tempfile.mkdtemp(prefix="ensures-vllm-", dir="/tmp"))
        os.environ["VLLM_RPC_BASE_PATH"] = str(self._folder)
        try:
            import vllm
            from vllm import AsyncEngineArgs
            from vllm.platforms import current_platform
            from vllm.v1.engine.async_llm import AsyncLLM
        except ImportError as error:
            raise InputError(
                f"model={self.serving.name} is served by vLLM, which is not installed ({error}); "
                "slurm/run.sh installs it (extras: gpu, cpu)"
            ) from error
        if current_platform.is_cpu():  # the model in the engine's own process: one in between would spin on a core
            os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        with _written_to(self._folder / LOG):
            try:
                config = AsyncEngineArgs(**self._arguments(current_platform.is_cpu())).create_engine_config()
            except Exception as error:  # it would be so at every try
                raise explained(self.serving, str(error), InputError) from error
            try:
                start = partial(AsyncLLM.from_vllm_config, config, disable_log_stats=True)
                self._engine = await asyncio.to_thread(start)
            except Exception as error:
                raise explained(self.serving, f"{self._said()}\n{error}") from error
        return {"vllm": vllm.__version__, "device": str(current_platform.device_name or current_platform.device_type)}

    def _arguments(self, on_cpu: bool) -> dict[str, Any]:
        """vLLM's own names."""
        config, gpus = self.serving.config, self.serving.gpus
        found: dict[str, Any] = {
            "model": self.serving.model,
            "dtype": config.dtype,
            "tensor_parallel_size": max(1, gpus),
            "max_num_seqs": config.concurrent,
            "gpu_memory_utilization": config.memory_fraction,
            "load_format": config.load_format,
            "enforce_eager": config.eager,
            "enable_prefix_caching": True,
            "disable_log_stats": True,
            "seed": 0,
        }
        if config.context:
            found["max_model_len"] = config.context
        if config.block_size:
            found["block_size"] = config.block_size
        if gpus > 1:  # workers on the GPUs of the placement group that the replica lives in
            found["distributed_executor_backend"] = "ray"
        if config.text_only:
            found["limit_mm_per_prompt"] = {"image": 0}
        if on_cpu:
            # vLLM 0.32 dies of a seeded request whose prompt is computed in parts: torch can't rewind its generator there
            found |= {"enable_chunked_prefill": False, "max_num_batched_tokens": max(config.context, 8192)}
        return found

    def _tokens(self, messages: list[Message]) -> tuple[str, list[int]]:
        """The prompt after the chat template, and its tokens."""
        tokenizer = self._engine.get_tokenizer()
        given = {"enable_thinking": self.serving.config.thinking, **self.serving.config.template}
        try:
            rendered = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **given)
        except ValueError as error:
            raise InputError(
                f"model={self.serving.name} has no chat template: choose an instruction-tuned checkpoint"
            ) from error
        return rendered, tokenizer.encode(rendered, add_special_tokens=False)

    async def excess(self, messages: list[Message], sampling: Sampling) -> int:
        return len(self._tokens(messages)[1]) + sampling.max_tokens - int(self._engine.model_config.max_model_len)

    async def generate(self, ask: Ask) -> Reply:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind
        from vllm.v1.engine.exceptions import EngineDeadError

        rendered, tokens = self._tokens(ask.messages)
        excess = len(tokens) + ask.sampling.max_tokens - int(self._engine.model_config.max_model_len)
        if excess > 0:
            raise PromptTooLong(excess)
        given = {**asdict(ask.sampling), "stop": list(ask.sampling.stop) or None, "include_stop_str_in_output": True}
        wanted = SamplingParams(n=ask.n, seed=ask.seed, output_kind=RequestOutputKind.FINAL_ONLY, **given)
        last = None
        try:
            async for part in self._engine.generate({"prompt_token_ids": tokens}, wanted, str(next(self._numbers))):
                last = part
        except EngineDeadError as error:
            why = last_error(self._said()) or str(error)
            raise EngineFailed(f"vLLM's engine of {self.serving.name} died: {why}") from error
        if last is None or len(last.outputs) != ask.n:
            raise EngineFailed(f"vLLM gave {len(last.outputs) if last else 0} samples of {self.serving.name}, not {ask.n}")
        drawn = tuple(
            Drawn(output.text, len(output.token_ids), self._thought(output), output.finish_reason or "stop")
            for output in sorted(last.outputs, key=lambda output: output.index)
        )
        return Reply(drawn, len(tokens), last.num_cached_tokens or 0, hashlib.sha256(rendered.encode()).hexdigest()[:32])

    def _thought(self, output: Any) -> int:
        """Tokens up to the tag that ends the thinking, it included."""
        if not self.serving.config.thinking:
            return 0
        thinking, answer = cut(output.text, self.serving.config.thinking_end)
        if not answer:
            return len(output.token_ids) if thinking else 0
        return min(len(output.token_ids), len(self._engine.get_tokenizer().encode(thinking, add_special_tokens=False)))

    def _said(self) -> str:
        """Nothing after the end."""
        return (self._folder / LOG).read_text(encoding="utf-8", errors="replace")[-200_000:] if self._folder else ""

    async def close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            await asyncio.to_thread(engine.shutdown)
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


_MEMORY = re.compile(
    r"out of memory|No available memory for the cache|Free memory on device|KV cache is needed|not enough memory|"
    r"larger than the available KV cache|can't allocate memory|Cannot allocate memory",
    re.IGNORECASE,
)
_ARCHITECTURE = re.compile(r"Model architectures? (\[[^\]]*\]) (?:are not supported|failed to be inspected)")
_KIND = re.compile(r"has model type `([^`]*)` but Transformers does not recognize")
_CONTEXT = re.compile(r"max_model_len \((\d+)\) is greater than the derived max_model_len \([^=]*=([\d.]+)")


def explained(serving: Serving, said: str, otherwise: type[EnsuresError] = EngineFailed) -> Exception:
    """What kept vLLM from starting: an error that names the setting to change where there is one."""
    name = serving.name
    if found := _ARCHITECTURE.search(said):
        return InputError(f"model={name}: this vLLM does not support the architecture {found[1]}; choose another model=")
    if found := _CONTEXT.search(said):
        limit = int(float(found[2]))
        return InputError(f"model.context={found[1]}: {name} has {limit} positions; set model.context={limit} or less")
    if _MEMORY.search(said):
        config, gpus = serving.config, max(1, serving.gpus)
        return InputError(
            f"model={name} does not fit into memory: lower model.context (now {config.context or 'the whole'}) or "
            f"model.concurrent (now {config.concurrent}), or raise model.tensor_parallel (now {gpus}) or "
            f"model.memory_fraction={config.memory_fraction}"
        )
    if found := _KIND.search(said):
        return InputError(f"model={name}: this vLLM does not know the kind of model {found[1]}; choose another model=")
    return otherwise(f"vLLM could not start {name}: {last_error(said) or ' '.join(said.split())[:300]}")


def last_error(said: str) -> str:
    """The last line of a log that names an error, without what the logger put in front."""
    lines = [line.strip() for line in said.splitlines() if re.search(r"\b\w*(Error|Exception)\b.*:", line)]
    telling = [line for line in lines if "root cause" not in line and "EngineDeadError" not in line] or lines
    return re.sub(r"^\(?\w+ pid=\d+\)?\s*(\w+ [\d-]+ [\d:.]+ \[[^\]]*\]\s*)?", "", telling[-1]) if telling else ""


@contextlib.contextmanager
def _written_to(path: Path) -> Iterator[None]:
    """What this process, and those that it starts meanwhile, write to stdout and stderr goes into a file."""
    kept = [os.dup(1), os.dup(2)]
    with path.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        for number, old in zip((1, 2), kept, strict=True):
            os.dup2(old, number)
            os.close(old)
