"""Thinking and answer: what a reasoning model writes before its closing tag is no part of the candidate."""


def cut(text: str, end: str) -> tuple[str, str]:
    """(thinking, answer). Without the closing tag all of it was thinking: the answer was never begun.

    `end` is the model's tag, as in Qwen3's own reasoning format; empty for models that do not think.
    """
    if not end:
        return "", text
    before, tag, after = text.partition(end)
    return (before + tag, after.lstrip("\n")) if tag else (text, "")
