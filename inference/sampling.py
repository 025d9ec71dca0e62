"""How tokens are drawn: the model's generation config, then what the preset adds, then what the user says."""

import enum
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from inference.engine import Wanted


class Preset(enum.StrEnum):
    """`paper`: as the published runs sampled (PostcondBench, D.1). `vendor`: the model's own generation config."""

    PAPER = "paper"
    VENDOR = "vendor"


@dataclass
class SamplingConfig:
    """What is not set is left to whoever comes before: the preset, the generation config, the engine."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """`max_tokens` counts thinking as well. Names and defaults are vLLM's; top_k 0 is all tokens."""

    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    stop: tuple[str, ...] = ()

    def wanting(self, wanted: Wanted) -> "Sampling":
        """With what a strategy asks for in its place."""
        return replace(
            self,
            temperature=self.temperature if wanted.temperature is None else wanted.temperature,
            max_tokens=wanted.max_tokens or self.max_tokens,
            stop=wanted.stop or self.stop,
        )


def resolve(
    generation: Mapping[str, Any], paper: SamplingConfig, chosen: SamplingConfig, preset: Preset, max_tokens: int
) -> Sampling:
    """One sampling of the three sources. A generation config that says `do_sample: false` is greedy."""
    names = [field.name for field in fields(SamplingConfig)]
    found: dict[str, Any] = {name: generation[name] for name in names if generation.get(name) is not None}
    if generation.get("do_sample") is False:
        found["temperature"] = 0.0
    return Sampling(max_tokens, **found | given(paper, chosen, preset))


def given(paper: SamplingConfig, chosen: SamplingConfig, preset: Preset) -> dict[str, Any]:
    """What the preset and the user set."""
    configs = (paper, chosen) if preset is Preset.PAPER else (chosen,)
    return {name: value for config in configs for name, value in asdict(config).items() if value is not None}
