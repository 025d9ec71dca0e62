"""What drawing came to, from rows of completions."""

from typing import Any

from analysis.generation import drawn, lines


def row(setting: str, sample: int, **more: Any) -> dict[str, Any]:
    plain = {"task_id": "t", "setting": setting, "prompt_hash": setting, "sample": sample, "finish_reason": "stop"}
    return {**plain, "left_out": 0, "prompt_tokens": 100, "completion_tokens": 10, "thinking_tokens": 4, "cost": 0.0, **more}


def test_sums_by_setting() -> None:
    rows = [
        row("f2p", 0, finish_reason="length", cost=0.5),
        row("f2p", 1, left_out=3, cost=0.25),
        row("c2p", 0, finish_reason="context", left_out=1, completion_tokens=0, prompt_tokens=0),
    ]
    c2p, f2p = drawn(rows)
    assert (c2p.setting, c2p.completions, c2p.too_long, c2p.shortened) == ("c2p", 1, 1, 0)
    assert (f2p.completions, f2p.cut_off, f2p.shortened, f2p.share_cut_off) == (2, 1, 1, 0.5)
    assert (f2p.prompt_tokens, f2p.completion_tokens, f2p.thinking_tokens, f2p.cost) == (100, 20, 8, 0.75)
    said = lines([c2p, f2p], "EUR")
    assert said == [
        "cut off by the limit of output tokens: 1 of 3 completions (33%)",
        "answering a prompt that was shortened to fit into the model's context: 1 of 3 completions",
        "not drawn, since the method alone exceeds the model's context: 1 of 3 (unsupported)",
        "cost: 0.75 EUR (20 tokens written)",
    ]


def test_nothing_to_say() -> None:
    assert lines(drawn([row("f2p", 0)])) == []
    assert drawn([]) == []
