"""Real vLLM on the CPU with random checkpoints, in Ray actors, as the job serves the large ones."""

import asyncio
import os
import re
import signal
import time
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from construction import environment
from ensures.candidate import CONTEXT
from ensures.errors import EngineFailed, InputError
from ensures.task import Setting
from inference import tiny
from inference.checkpoint import on_disk
from inference.engine import Completion, Prompt, Request
from inference.engines.vllm import Vllm, VllmConfig
from inference.engines.vllm_replica import Serving, explained
from inference.fleet import Fleet, Replica
from inference.prompts import Ladder, PromptConfig
from inference.sampling import SamplingConfig
from inference.tiny import Architecture
from jobs.ray_cluster import RayCluster
from jobs.ray_replicas import RayReplica
from tests.inference.test_prompts import python_task

pytest.importorskip("vllm", reason="vLLM is not installed (tests/run.sh installs it)")
pytestmark = pytest.mark.timeout(900)

TASK, MODULE = python_task()
LONG = MODULE + "".join(f"\n\ndef filler_{index}(a):\n    return a + {index} * len('{'x' * 200}')\n" for index in range(60))


class Served:
    """Two replicas of one tiny model on a private cluster, for all tests of this file: each takes half a minute to load."""

    def __init__(self, config: VllmConfig) -> None:
        self.loop = asyncio.new_event_loop()
        self.cluster = RayCluster(3, replicas=1)
        self.cluster.start()
        self.replicas: list[RayReplica] = []
        checkpoint = on_disk(tiny.checkpoint(config.random, environment.cache_root()))

        async def launch(engine: Vllm) -> Sequence[Replica]:
            started = Serving(config, engine.name, str(checkpoint.folder))
            self.replicas = [RayReplica(started) for _ in range(2)]
            return self.replicas

        self.engine = Vllm(config, checkpoint, launch)

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    def draw(
        self, samples: Sequence[int], seed: int = 5, prompts: Any = None, text: str = "def f(a): return a"
    ) -> list[Completion]:
        request = Request(TASK, Setting.F2P, samples, seed, prompts or (Prompt(text, "h"),))
        found: list[Completion] = self.do(self.engine.complete(request))
        return found

    def close(self) -> None:
        self.do(self.engine.close())
        self.cluster.stop()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    config = VllmConfig(
        name="tiny-qwen3",
        random=Architecture.QWEN3,
        sampling=SamplingConfig(temperature=1.0, top_p=1.0, top_k=0),
        max_tokens=200,
        context=2048,
        concurrent=64,
        eager=True,
        block_size=32,
        thinking=True,
    )
    made = Served(config)
    yield made
    made.close()


def test_n_distinct_samples_seeded_one_by_one(served: Served) -> None:
    five = served.draw(range(5))
    assert [completion.sample for completion in five] == list(range(5))
    assert len({completion.thinking + completion.text for completion in five}) == 5
    assert [c.text for c in served.draw(range(5))] == [c.text for c in five]
    # k grows: sample i has seed + i whoever draws it, alone or with others
    alone = [served.draw([sample])[0] for sample in range(5)]
    assert [(c.thinking, c.text, c.finish_reason) for c in alone] == [(c.thinking, c.text, c.finish_reason) for c in five]
    two, three = served.draw(range(2)), served.draw(range(2, 5))
    assert [c.text for c in (*two, *three)] == [c.text for c in five]
    assert [c.text for c in served.draw(range(5), seed=6)[:4]] == [c.text for c in five[1:]]


def test_what_is_known_of_a_completion(served: Served) -> None:
    (found,) = served.draw([0], text="def g(a): return a + 1")
    assert found.prompt_tokens > 10
    assert 0 < found.completion_tokens <= 200
    assert found.finish_reason in ("stop", "length")
    assert len(found.rendered) == 32
    origin = served.engine.origin
    assert origin["vllm"].startswith("0.")
    assert origin["revision"] == served.engine.checkpoint.revision
    assert origin["tokenizer"] and origin["chat_template"] and origin["device"] == "cpu"


def test_thinking_is_cut(served: Served) -> None:
    """A tag is one token of half a thousand: of many samples, some close their thinking."""
    found = served.draw(range(200), seed=1000)
    answered = [completion for completion in found if completion.text]
    assert answered
    for completion in found:
        assert "</think>" not in completion.text or completion.thinking.endswith("</think>")
        assert completion.thinking.endswith("</think>") or completion.text == ""
        assert completion.thinking or completion.completion_tokens == 1  # ended before it began
        assert 0 <= completion.thinking_tokens <= completion.completion_tokens
        assert bool(completion.thinking_tokens) is bool(completion.thinking)
        if not completion.text and completion.thinking:
            assert completion.thinking_tokens == completion.completion_tokens


def test_the_prompt_is_computed_once(served: Served) -> None:
    text = "class A: " + "value " * 200
    served.draw(range(5), text=text)
    again = [served.draw(range(5), seed=seed, text=text)[0].cached_tokens for seed in range(4)]
    assert max(again) > 100
    assert all(cached % 32 == 0 for cached in again)


def test_a_prompt_beyond_the_context(served: Served) -> None:
    ladder = Ladder(TASK, Setting.F2P, LONG, PromptConfig(), "icontract")
    found = served.draw(range(3), prompts=ladder)
    prompt = found[0].prompt
    assert prompt is not None and prompt.left_out
    assert found[0].prompt_tokens + 200 <= 2048
    assert "BODY_TARGET" in prompt.text
    # the next longer one would not have fitted
    longer = ladder[list(ladder).index(prompt) - 1]
    assert served.do(served.replicas[0].excess(longer.messages, served.engine.sampling)) > 0


def test_a_method_beyond_the_context(served: Served) -> None:
    found = served.draw(range(3), text="x = 1\n" * 3000)
    assert [completion.finish_reason for completion in found] == [CONTEXT] * 3


def test_both_replicas_work_and_one_may_be_killed(served: Served) -> None:
    """SIGKILL in the middle: its requests are done by the other one, it comes back, and all is as it would have been."""
    served.draw([0])
    fleet = served.engine._fleet
    assert isinstance(fleet, Fleet)
    deadline = time.monotonic() + 120
    while len(fleet._load) < 2 and time.monotonic() < deadline:
        served.do(asyncio.sleep(0.2))
    assert len(fleet._load) == 2
    calm = [completion.text for seed in range(8) for completion in served.draw(range(5), seed=seed * 10)]

    async def storm() -> list[list[Completion]]:
        pid = await served.replicas[0].pid()
        children = children_of(pid)
        prompts = (Prompt("def f(a): return a", "h"),)
        requests = [Request(TASK, Setting.F2P, range(5), seed * 10, prompts) for seed in range(8)]
        running = [asyncio.ensure_future(served.engine.complete(request)) for request in requests]
        await asyncio.sleep(0.15)
        assert any(load > 0 for load in fleet._load.values())
        os.kill(pid, signal.SIGKILL)
        done = await asyncio.gather(*running)
        for _ in range(100):
            if not any(alive(child) for child in children):
                break
            await asyncio.sleep(0.2)
        assert not any(alive(child) for child in children), "vLLM's engine outlived its replica"
        return done

    found = served.do(storm())
    assert [completion.text for part in found for completion in part] == calm
    assert served.engine.restarts == 1
    deadline = time.monotonic() + 180
    while len(fleet._load) < 2 and time.monotonic() < deadline:
        served.do(asyncio.sleep(0.5))
    assert len(fleet._load) == 2


def children_of(pid: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if f"\nPPid:\t{pid}\n" in text:
            found.append(int(status.parent.name))
    return found


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


# What keeps vLLM from starting

SERVING = Serving(VllmConfig(context=4096), "m", "path")


@pytest.mark.parametrize(
    ("said", "kind", "message"),
    [
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried",
            InputError,
            r"lower model\.context \(now 4096\) or model\.concurr",
        ),
        (
            "ValueError: To serve at least one request with the models's max seq len (4096), (2.00 GiB KV cache is needed, "
            "which is larger than the available KV cache memory (1.00 GiB).",
            InputError,
            r"lower model\.context",
        ),
        (
            "ValueError: Free memory on device (3.1/79.2 GiB) on startup is less than desired",
            InputError,
            r"memory_fraction=0\.9",
        ),
        (
            "ValueError: Model architectures ['FooForCausalLM'] are not supported for now.",
            InputError,
            r"does not support the architecture \['FooForCausalLM'\]",
        ),
        (
            "Error parsing config: The checkpoint you are trying to load has model type `foo` but Transformers does not "
            "recognize this architecture.",
            InputError,
            "does not know the kind of model foo; choose another model=",
        ),
        (
            "User-specified max_model_len (4096) is greater than the derived max_model_len (max_position_embeddings=2048.0 or",
            InputError,
            r"m has 2048 positions; set model\.context=2048 or less",
        ),
        (
            "(EngineCore pid=12) ERROR 11-22 05:34:00 [core.py:1] RuntimeError: odd thing\nRuntimeError: see root cause above",
            EngineFailed,
            "vLLM could not start m: RuntimeError: odd thing$",
        ),
    ],
)
def test_what_keeps_vllm_from_starting(said: str, kind: type[Exception], message: str) -> None:
    error = explained(SERVING, said)
    assert isinstance(error, kind)
    assert re.search(message, str(error)), str(error)
