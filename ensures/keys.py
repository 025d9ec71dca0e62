"""Keys: what is stored is named by the content that it depends on, so that a stale row can never be taken for a fresh one."""

import dataclasses
import enum
import hashlib
import json
from typing import Any


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"": type(value).__name__, **named}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(_plain(item) for item in value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise TypeError(f"a {type(value).__name__} has no content key")


def content_key(*parts: Any) -> str:
    """The first 128 bits, in hexadecimal, of the SHA-256 of the parts' canonical JSON."""
    text = json.dumps([_plain(part) for part in parts], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def seed_from(key: str) -> int:
    """A 31-bit seed out of a key: seeds depend on what is sampled, never on the order of arrival."""
    return int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) & 0x7FFFFFFF
