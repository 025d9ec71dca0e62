"""On a machine with a GPU: the engine's checks, and tokens a second at a real architecture's size with random weights.

No download is needed: the configuration of the architecture is written here, the weights are vLLM's dummies, the tokenizer is
the tiny one, filled up to the real vocabulary. Needs the extra `gpu` (ENSURES_EXTRAS=gpu bash slurm/run.sh model=reference k=1
installs it).

python -m tests.gpu.serving [--size 0.6b|8b|32b|tiny] [--tasks N] [--repeat N] [--json FILE]
"""

import argparse
import asyncio
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from ensures.task import Setting
from inference import tiny
from inference.engine import Completion, Prompt, Request
from inference.tiny import Architecture
from tests.performance.generation import Kept, pipeline, task_of, throughput

# Qwen3's published configurations
SIZES: dict[str, dict[str, int]] = {
    "tiny": {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 1024,
    },
    "0.6b": {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16},
    "8b": {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32},
    "32b": {"hidden_size": 5120, "intermediate_size": 25600, "num_hidden_layers": 64, "num_attention_heads": 64},
}


def write(size: str, folder: Path) -> Path:
    """A checkpoint without weights."""
    from transformers import AutoTokenizer

    base = tiny.checkpoint(Architecture.QWEN3, folder / "base")
    made = folder / size
    made.mkdir()
    config = json.loads((base / "config.json").read_text())
    config |= {"num_key_value_heads": 8 if size != "tiny" else 2, "head_dim": 128 if size != "tiny" else 32}
    config |= {"vocab_size": 151_936, "max_position_embeddings": 40_960, "tie_word_embeddings": False, **SIZES[size]}
    config |= {"layer_types": ["full_attention"] * SIZES[size]["num_hidden_layers"]}
    (made / "config.json").write_text(json.dumps(config))
    (made / "generation_config.json").write_text((base / "generation_config.json").read_text())
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.add_tokens([f"<{number}>" for number in range(config["vocab_size"] - len(tokenizer))])
    tokenizer.save_pretrained(made)
    return made


def overrides(checkpoint: Path, size: str) -> list[str]:
    given = [
        "model=tiny-qwen3",
        "model.random=NONE",
        f"model.path={checkpoint}",
        "model.load_format=dummy",
        "model.context=8192",
    ]
    return given if size == "tiny" else [*given, "model.eager=false", "model.block_size=0", "model.concurrent=256"]


async def checks(given: list[str], folder: Path) -> dict[str, Any]:
    """n samples differ, a seed repeats itself, the prompt is computed once. On a GPU sums depend on the batch: a repeated
    draw is compared alone, one request at a time."""
    made, _ = pipeline(folder, [task_of(0, 12)], *given, "evaluation.workers=1")
    made.engine.__class__ = Kept
    started = time.perf_counter()
    await made.generate()
    loaded = time.perf_counter() - started
    task, prompt = made.tasks[0], (Prompt("def f(value): return value\n" * 100, "h"),)

    async def draw(samples: range, seed: int) -> list[Completion]:
        return await made.engine.complete(Request(task, Setting.F2P, samples, seed, prompt))

    five, again = await draw(range(5), 7), await draw(range(5), 7)
    grown = [*await draw(range(2), 7), *await draw(range(2, 5), 7)]
    found = {
        "seconds_to_the_first_completions": loaded,
        "origin": made.engine.origin,
        "distinct": len({completion.text for completion in five}),
        "repeated": [one.text for one in five] == [two.text for two in again],
        "grown": [one.text for one in five] == [two.text for two in grown],
        "cached_tokens": again[0].cached_tokens,
    }
    await super(Kept, made.engine).close()  # type: ignore[misc]
    await made.parts.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=tuple(SIZES), default="8b")
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        given = overrides(write(chosen.size, Path(place)), chosen.size)
        found: dict[str, Any] = {"size": chosen.size, "checks": asyncio.run(checks(given, Path(place) / "checks"))}
        print(json.dumps(found["checks"], indent=1), flush=True)
        found["throughput"] = throughput(given, chosen.tasks, chosen.repeat)
    asked = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        found["gpu"] = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        found["gpu"] = "none"
    print(f"{chosen.size} on {found['gpu']}: {found['throughput']['ratio']:.2f} of vLLM's own")
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
