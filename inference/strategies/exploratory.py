"""strategy=exploratory: probe single assertions, then submit; what was probed is never the answer (SpecMind, Figure 2)."""

from dataclasses import dataclass

from inference.strategies.multi_turn import MultiTurn, MultiTurnConfig


@dataclass
class ExploratoryConfig(MultiTurnConfig):
    name: str = "exploratory"


class Exploratory(MultiTurn):
    def __init__(self, config: ExploratoryConfig) -> None:
        super().__init__(config, probing=True)
