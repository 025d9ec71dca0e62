"""What a run's model is called in tables: with its strategy, and with what a reader has to know of it."""

from collections.abc import Mapping
from typing import Any

from analysis.comparison import GUIDED

LEAKY = " (leaky)"  # what gave feedback also scores


def shown(model: str, config: Mapping[str, Any]) -> str:
    """`config`: as it is stored in the run folder."""
    strategy = config.get("strategy") or {}
    name = strategy.get("name", "single_pass")
    label = model
    if name != "single_pass":
        tau = strategy.get("tau", -1)
        label += f" {name} μ={strategy.get('mu')}" + (f" τ={tau:g}" if tau >= 0 else "")
    if leaky(config):
        label += LEAKY
    return label + GUIDED if (config.get("prompt") or {}).get("guidance") else label


def leaky(config: Mapping[str, Any]) -> bool:
    strategy = config.get("strategy") or {}
    return strategy.get("name", "single_pass") != "single_pass" and not strategy.get("feedback_split", False)
