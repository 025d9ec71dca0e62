"""strategy=greedy: submit, read the feedback, submit again, until tests pass and the completeness reaches tau, or mu turns are
spent (SpecMind, section 4; Figure 3 without its highlighted action)."""

from dataclasses import dataclass

from inference.strategies.multi_turn import MultiTurn, MultiTurnConfig


@dataclass
class GreedyConfig(MultiTurnConfig):
    name: str = "greedy"


class Greedy(MultiTurn):
    def __init__(self, config: GreedyConfig) -> None:
        super().__init__(config, probing=False)
