"""Random checkpoints of half a megabyte, made on the spot: real architectures, a real tokenizer, no knowledge at all.

They let the whole path (vLLM, its scheduler, chat templates, sampling, thinking) run on any CPU without a download. The
same versions of the libraries make the same checkpoint: the seed is fixed.
"""

import enum
import json
import os
import shutil
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from ensures.keys import content_key

RECIPE = "1"  # raised when what is made changes: part of the folder's name
CONTEXT = 8192

_CORPUS = """
@icontract.snapshot(lambda self: self.items[:], name="items")
@icontract.ensure(lambda self, value, result, OLD: result == len(OLD.items) and value in self.items)
//@ ensures \\result >= 0 && (\\old(size) == size || \\result == size - 1);
def method(self, value, other=None): if value is None: return None for item in value: total = total + 1 while True: break
return result import typing from collections class Example: not in range(len(values)) isinstance(value, int) assert
# Code Context # Target Method # Guideline Above is the Python code context and target method. You should generate
public static int method(String value) { for (int i = 0; i < n; i++) { if (x == null) { return -1; } } return true; }
"""


class Architecture(enum.StrEnum):
    NONE = "none"
    QWEN3 = "qwen3"
    GEMMA3 = "gemma3"
    LLAMA = "llama"


_CHATML = (
    "{%- for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n"
    "{%- if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
_TURNS = (
    "{{ bos_token }}{%- for message in messages %}<start_of_turn>{{ message['role'] }}\n{{ message['content'] }}"
    "<end_of_turn>\n{% endfor %}{%- if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
_HEADERS = (
    "{{ bos_token }}{%- for message in messages %}<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n\n"
    "{{ message['content'] }}<|eot_id|>{% endfor %}"
    "{%- if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
# chat template, end of turn, further special tokens, generation config
_KINDS: dict[Architecture, tuple[str, str, tuple[str, ...], dict[str, Any]]] = {
    Architecture.QWEN3: (
        _CHATML,
        "<|im_end|>",
        ("<|im_start|>",),
        {"do_sample": True, "temperature": 0.6, "top_p": 0.95, "top_k": 20},
    ),
    Architecture.GEMMA3: (
        _TURNS,
        "<end_of_turn>",
        ("<start_of_turn>",),
        {"do_sample": True, "temperature": 1.0, "top_p": 0.95, "top_k": 64},
    ),
    Architecture.LLAMA: (
        _HEADERS,
        "<|eot_id|>",
        ("<|start_header_id|>", "<|end_header_id|>"),
        {"do_sample": True, "temperature": 0.6, "top_p": 0.9},
    ),
}


def checkpoint(architecture: Architecture, cache: Path) -> Path:
    """The folder of the random checkpoint, made if it is not in the cache yet."""
    versions = [metadata.version(name) for name in ("torch", "transformers", "tokenizers")]
    place = cache / "checkpoints" / f"tiny-{architecture.value}-{content_key(RECIPE, versions)[:12]}"
    if (place / "config.json").is_file():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=place.parent, prefix=".making-"))
    try:
        _make(architecture, made)
        os.chmod(made, 0o755)
        os.rename(made, place)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if not (place / "config.json").is_file():  # somebody else was first
            raise
    return place


def _make(architecture: Architecture, folder: Path) -> None:
    import torch
    from transformers import (
        Gemma3ForCausalLM,
        Gemma3TextConfig,
        LlamaConfig,
        LlamaForCausalLM,
        Qwen3Config,
        Qwen3ForCausalLM,
    )
    from transformers.utils import logging

    logging.disable_progress_bar()  # there is half a megabyte to write
    template, end, special, generation = _KINDS[architecture]
    tokenizer = _tokenizer(template, end, special)
    size = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "max_position_embeddings": CONTEXT,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    torch.manual_seed(0)
    model: Any
    if architecture is Architecture.QWEN3:
        model = Qwen3ForCausalLM(Qwen3Config(**size, tie_word_embeddings=True))
    elif architecture is Architecture.GEMMA3:
        window = {"sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"]}
        model = Gemma3ForCausalLM(Gemma3TextConfig(**size, **window))
    else:
        model = LlamaForCausalLM(LlamaConfig(**size, tie_word_embeddings=True))
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    ends = {"eos_token_id": tokenizer.eos_token_id, "bos_token_id": tokenizer.bos_token_id}
    (folder / "generation_config.json").write_text(json.dumps({**generation, **ends}, indent=1) + "\n", encoding="utf-8")


def _tokenizer(template: str, end: str, special: tuple[str, ...]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    named = ["<pad>", "<bos>", end, *special]
    trainer = trainers.BpeTrainer(
        vocab_size=512, special_tokens=named, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    bare.train_from_iterator([_CORPUS], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bare, pad_token="<pad>", bos_token="<bos>", eos_token=end, chat_template=template
    )
    tokenizer.add_tokens(["<think>", "</think>"])  # no special tokens, as with Qwen3: they stay in the text
    return tokenizer
