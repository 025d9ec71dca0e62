"""What is known of a checkpoint before it is loaded, and what is said where it can't be had."""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from huggingface_hub import errors

from ensures.errors import InputError
from inference import checkpoint
from inference.engines.vllm import VllmConfig, gpus_for, places, replicas_for
from inference.sampling import Preset, SamplingConfig, resolve

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ROOT = Path(__file__).resolve().parents[2]


def folder(tmp_path: Path, name: str = "m", **config: object) -> Path:
    made = tmp_path / name
    made.mkdir()
    (made / "config.json").write_text(
        json.dumps({"architectures": ["Qwen3ForCausalLM"], "max_position_embeddings": 64, **config})
    )
    (made / "model.safetensors").write_bytes(b"weights" * 100)
    (made / "tokenizer_config.json").write_text(json.dumps({"chat_template": "T", "other": 1}))
    return made


def test_a_folder(tmp_path: Path) -> None:
    found = checkpoint.on_disk(folder(tmp_path, text_config={"max_position_embeddings": 128, "num_attention_heads": 8}))
    assert (found.architecture, found.context, found.heads, found.bytes) == ("Qwen3ForCausalLM", 128, 8, 700)
    assert not found.on_hub
    assert checkpoint.fetch(found) == found.folder


def test_the_revision_is_the_content(tmp_path: Path) -> None:
    one, two = folder(tmp_path, "one"), folder(tmp_path, "two")
    assert checkpoint.on_disk(one).revision == checkpoint.on_disk(two).revision
    (two / "model.safetensors").write_bytes(b"Weights" * 100)
    assert checkpoint.on_disk(one).revision != checkpoint.on_disk(two).revision


def test_the_template_counts_and_its_neighbours_do_not(tmp_path: Path) -> None:
    made = folder(tmp_path)
    before = checkpoint.on_disk(made).template_hash
    (made / "tokenizer_config.json").write_text(json.dumps({"chat_template": "T", "other": 2}))
    assert checkpoint.on_disk(made).template_hash == before
    (made / "chat_template.jinja").write_text("another")
    assert checkpoint.on_disk(made).template_hash != before


def test_large_files_are_told_apart_by_their_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_WHOLE", 100)
    monkeypatch.setattr(checkpoint, "_EDGE", 10)
    made = folder(tmp_path)
    before = checkpoint.on_disk(made).revision
    (made / "model.safetensors").write_bytes(b"weights" * 99 + b"weightS")
    assert checkpoint.on_disk(made).revision != before


@pytest.mark.parametrize(("path", "said"), [("none", "is not a folder"), ("", "has no config.json")])
def test_no_checkpoint(tmp_path: Path, path: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        checkpoint.on_disk(tmp_path / path)


def _response(status: int) -> httpx.Response:
    return httpx.Response(status, request=httpx.Request("GET", "https://hub/x"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (errors.GatedRepoError("no", response=_response(403)), "o/m is gated: accept its licence"),
        (errors.RepositoryNotFoundError("no", response=_response(404)), "o/m is not on the model hub, or private"),
        (errors.RevisionNotFoundError("no", response=_response(404)), "o/m has no revision r; set model.revision"),
        (errors.LocalEntryNotFoundError("no"), "not in the hub's cache and the model hub can't be reached"),
        (errors.HFValidationError("no"), "is not a name on the model hub"),
        (httpx.ConnectError("refused"), "can't be fetched from the model hub: refused"),
    ],
)
def test_the_hubs_errors(monkeypatch: pytest.MonkeyPatch, error: Exception, said: str) -> None:
    import huggingface_hub

    def refuse(*arguments: object, **named: object) -> None:
        raise error

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(InputError, match=said):
        checkpoint.from_hub("o/m", "r")


def test_offline_from_the_hubs_cache(tmp_path: Path) -> None:
    """The cache's own layout: a commit behind a reference, files as links to blobs."""
    home = tmp_path / "hub"
    repository = home / "models--o--m"
    place = repository / "snapshots" / COMMIT
    place.parent.mkdir(parents=True)
    folder(place.parent, COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    found = offline(home, "main", "o/m")
    assert found == f"{COMMIT} True {place} {place}"
    assert "o/other is not in the hub's cache and HF_HUB_OFFLINE is set; fetch it first" in offline(home, "main", "o/other")


def offline(home: Path, revision: str, name: str) -> str:
    """In a process of its own: the hub's library reads the environment when it is imported."""
    script = (
        "import sys\nfrom inference import checkpoint\nfrom ensures.errors import InputError\n"
        "try:\n    found = checkpoint.from_hub(*sys.argv[1:])\n"
        "    print(found.revision, found.on_hub, found.folder, checkpoint.fetch(found))\n"
        "except InputError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(home), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script, name, revision], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# Sampling


def test_presets() -> None:
    generation = {"do_sample": True, "temperature": 0.6, "top_p": 0.95, "top_k": 20}
    paper, nothing = SamplingConfig(temperature=0.7, top_p=0.8), SamplingConfig()
    published = resolve(generation, paper, nothing, Preset.PAPER, 2048)
    assert (published.temperature, published.top_p, published.top_k, published.max_tokens) == (0.7, 0.8, 20, 2048)
    vendor = resolve(generation, paper, nothing, Preset.VENDOR, 2048)
    assert (vendor.temperature, vendor.top_p, vendor.top_k) == (0.6, 0.95, 20)
    mine = resolve(generation, paper, SamplingConfig(temperature=0.0), Preset.PAPER, 10)
    assert (mine.temperature, mine.top_p) == (0.0, 0.8)
    assert resolve({"do_sample": False, "temperature": 0.9}, nothing, nothing, Preset.VENDOR, 10).temperature == 0.0
    assert resolve({}, nothing, nothing, Preset.PAPER, 10).temperature == 1.0


# GPUs


def large(gib: float, heads: int = 64) -> checkpoint.Checkpoint:
    return checkpoint.Checkpoint("o/m", "r", Path(), True, "A", 40960, heads, int(gib * 2**30), {}, "", "")


@pytest.mark.parametrize(("gib", "card", "gpus"), [(61, 141, 1), (61, 80, 2), (61, 24, 4), (15, 24, 1), (400, 80, 8)])
def test_as_few_gpus_as_hold_the_weights(gib: float, card: float, gpus: int) -> None:
    assert gpus_for(VllmConfig(), large(gib), card, 8) == gpus


def test_too_few_gpus_are_said_before_anything_is_loaded() -> None:
    with pytest.raises(InputError, match=r"o/m needs 8 GPUs of 80 GiB for its 400 GiB of weights, and there are 4"):
        gpus_for(VllmConfig(), large(400), 80, 4)
    with pytest.raises(InputError, match="can't be spread over 16 GPUs: it has 40 attention heads"):
        gpus_for(VllmConfig(tensor_parallel=16), large(400, heads=40), 80, 16)


def test_replicas() -> None:
    assert replicas_for(VllmConfig(), 3) == 3
    assert replicas_for(VllmConfig(replicas="2"), 3) == 2
    with pytest.raises(InputError, match=r"model\.replicas=4: the cluster holds 3"):
        replicas_for(VllmConfig(replicas="4"), 3)


@pytest.mark.parametrize(
    ("gpus", "each", "held"), [([8, 8], 4, 4), ([6, 6], 4, 2), ([4, 4], 8, 1), ([1], 1, 1), ([2, 1], 2, 1), ([4, 4, 4], 8, 1)]
)
def test_replicas_on_nodes(gpus: list[int], each: int, held: int) -> None:
    assert places(gpus, each) == held
