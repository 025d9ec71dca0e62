"""What the miner's grammars speak about, in whichever language: an expression, and what it was in the calls seen."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Seen:
    """`seen`: the descriptions that the expression had, one a call."""

    text: str
    seen: tuple[dict[str, Any], ...]

    @property
    def types(self) -> set[str]:
        return {str(picture["type"]) for picture in self.seen}

    @property
    def values(self) -> list[Any]:
        return [picture["value"] for picture in self.seen if "value" in picture]

    def all_of(self, *types: str) -> bool:
        return bool(self.seen) and self.types <= set(types)
