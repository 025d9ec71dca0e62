"""Checkpoints: what is known of a model from its small files, before anything is loaded or its weights are fetched.

A checkpoint is a repository on the model hub (the hub's own cache is used, and with HF_HUB_OFFLINE=1 nothing but it), a
folder on disk, or random weights made on the spot. Its revision names its content: the hub's commit, or a hash.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ensures.errors import InputError

_SMALL = ["*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken"]
_WEIGHTS = ("*.safetensors", "*.bin", "*.gguf", "*.pt")
_TEMPLATES = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json")
_WHOLE = 16 << 20  # files up to this size are hashed whole, larger ones by their size and both ends
_EDGE = 1 << 20


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`folder` holds the small files; `bytes` is what the weights take, 0 where the hub does not say."""

    name: str  # the hub's, or the folder's
    revision: str
    folder: Path
    on_hub: bool
    architecture: str
    context: int  # positions
    heads: int
    bytes: int
    generation: dict[str, Any]
    tokenizer_hash: str
    template_hash: str

    @property
    def gib(self) -> float:
        return self.bytes / 2**30


def on_disk(folder: Path) -> Checkpoint:
    """A checkpoint in the layout of the hub's. Raises InputError."""
    if not folder.is_dir():
        raise InputError(f"model.path={folder} is not a folder; name one that holds a checkpoint (config.json, weights)")
    return _read(str(folder), _content_hash(folder), folder, on_hub=False)


def from_hub(name: str, revision: str) -> Checkpoint:
    """A repository's small files, from the hub or its cache. Raises InputError with what to do."""
    from huggingface_hub import snapshot_download

    with _explained(name, revision):
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=_SMALL))
    return _read(name, folder.name, folder, on_hub=True)


def fetch(checkpoint: Checkpoint) -> Path:
    """The folder with the weights, fetched into the hub's cache where they are not there yet. Shows progress."""
    if not checkpoint.on_hub:
        return checkpoint.folder
    from huggingface_hub import snapshot_download

    with _explained(checkpoint.name, checkpoint.revision):
        return Path(
            snapshot_download(
                checkpoint.name,
                revision=checkpoint.revision,
                allow_patterns=[*_SMALL, "*.safetensors"],
                ignore_patterns=["original/*", "consolidated*"],
            )
        )


@contextlib.contextmanager
def _explained(name: str, revision: str) -> Iterator[None]:
    """The hub's errors as one line that says what to do."""
    from huggingface_hub import errors

    try:
        yield
    except Exception as error:
        if isinstance(error, errors.GatedRepoError):
            said = f"{name} is gated: accept its licence on its page on the model hub, then set HF_TOKEN (or `hf auth login`)"
        elif isinstance(error, errors.RevisionNotFoundError):
            said = f"{name} has no revision {revision}; set model.revision"
        elif isinstance(error, errors.RepositoryNotFoundError):
            said = f"{name} is not on the model hub, or private to others; mend model.checkpoint or set HF_TOKEN"
        elif isinstance(error, (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled)):
            offline = os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0")
            why = "HF_HUB_OFFLINE is set" if offline else "the model hub can't be reached"
            said = f"{name} is not in the hub's cache and {why}; fetch it first, or give a folder with model.path="
        elif isinstance(error, errors.HFValidationError):
            said = f"model.checkpoint={name} is not a name on the model hub (owner/name)"
        elif isinstance(error, (errors.HfHubHTTPError, OSError, RuntimeError)) or "httpx" in type(error).__module__:
            first = str(error).strip().split("\n")[0] or type(error).__name__
            said = f"{name} can't be fetched from the model hub: {first}"
        else:
            raise
        raise InputError(said) from error


def _read(name: str, revision: str, folder: Path, on_hub: bool) -> Checkpoint:
    config = _json(folder / "config.json")
    if config is None:
        raise InputError(f"{name} has no config.json: it is no checkpoint that vLLM can serve")
    text = config.get("text_config") or config
    architectures = config.get("architectures") or ["unknown"]
    return Checkpoint(
        name,
        revision,
        folder,
        on_hub,
        str(architectures[0]),
        int(text.get("max_position_embeddings") or 0),
        int(text.get("num_attention_heads") or 1),
        _weights(folder),
        _json(folder / "generation_config.json") or {},
        _hash_of(folder, ("tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt")),
        _template_hash(folder),
    )


def _weights(folder: Path) -> int:
    for index in folder.glob("*.index.json"):
        total = (_json(index) or {}).get("metadata", {}).get("total_size")
        if total:
            return int(total)
    return sum(path.stat().st_size for pattern in _WEIGHTS for path in folder.glob(pattern))


def _template_hash(folder: Path) -> str:
    """Of the chat template alone: other entries of the tokenizer's configuration do not count."""
    for name in _TEMPLATES:
        path = folder / name
        if path.suffix == ".jinja" and path.is_file():
            return _digest(path.read_bytes())
        template = (_json(path) or {}).get("chat_template")
        if template:
            return _digest(json.dumps(template).encode())
    return ""


def _hash_of(folder: Path, names: tuple[str, ...]) -> str:
    parts = [path.read_bytes() for name in names if (path := folder / name).is_file()]
    return _digest(b"\0".join(parts)) if parts else ""


def _content_hash(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")):
        found.update(path.name.encode() + b"\0")
        for part in _telling(path):
            found.update(part)
    return found.hexdigest()[:40]


def _telling(path: Path) -> Iterator[bytes]:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= _WHOLE:
            yield file.read()
            return
        yield str(size).encode() + file.read(_EDGE)
        file.seek(-_EDGE, os.SEEK_END)
        yield file.read()


def _json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
