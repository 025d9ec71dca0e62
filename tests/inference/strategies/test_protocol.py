"""What a turn says, however wrong it is written; each has one fixed outcome."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.strategies.protocol import Kind, read, stops

BOTH = (Kind.PROBE, Kind.SUBMIT)
# text -> (kind, thought, proposal)
TURNS = {
    "<think>why</think><assert>assert a</assert>": (Kind.PROBE, "why", "assert a"),
    "<think>why</think>\n<solution>\nassert a\n</solution>": (Kind.SUBMIT, "why", "assert a"),
    "Let me see. <assert>assert a</assert>": (Kind.PROBE, "Let me see.", "assert a"),
    "<ASSERT>assert a</ASSERT>": (Kind.PROBE, "", "assert a"),
    "<think>one</think><think>two</think><assert>a</assert>": (Kind.PROBE, "one\ntwo", "a"),
    # both tags, several blocks: the first
    "<assert>a</assert><solution>b</solution>": (Kind.PROBE, "", "a"),
    "<solution>b</solution><assert>a</assert>": (Kind.SUBMIT, "", "b"),
    "<assert>a</assert><assert>b</assert>": (Kind.PROBE, "", "a"),
    # a fence inside stays: the dialect takes it out
    "<solution>```python\nassert a\n```</solution>": (Kind.SUBMIT, "", "```python\nassert a\n```"),
    # made up by the model
    "<assert>a</assert><observation>fine</observation><solution>b</solution>": (Kind.PROBE, "", "a"),
    "<observation>fine</observation><solution>b</solution>": (Kind.MALFORMED, "", ""),
    "<think>x</think><assert>a<observation>fine</observation>": (Kind.PROBE, "x", "a"),
    # tags in a thought are none
    "<think>first <assert>x</assert>, then</think><solution>b</solution>": (
        Kind.SUBMIT,
        "first <assert>x</assert>, then",
        "b",
    ),
    "<think>never closed <solution>b</solution>": (Kind.SUBMIT, "never closed", "b"),
    "<solution>b": (Kind.SUBMIT, "", "b"),
    "<think>I have nothing": (Kind.MALFORMED, "I have nothing", ""),
    "assert a": (Kind.MALFORMED, "assert a", ""),
    "": (Kind.MALFORMED, "", ""),
    "<solution></solution>": (Kind.MALFORMED, "", ""),
    "<solution/>": (Kind.MALFORMED, "", ""),
    "<stop/>": (Kind.MALFORMED, "", ""),
}


@pytest.mark.parametrize("text", TURNS)
def test_turns(text: str) -> None:
    said = read(text, "stop", BOTH)
    assert (said.kind, said.thought, said.proposal) == TURNS[text]
    assert bool(said.wrong) == (said.kind is Kind.MALFORMED)
    assert "<observation" not in said.text


def test_what_is_not_offered_is_malformed_and_says_what_is() -> None:
    said = read("<assert>a</assert>", "stop", (Kind.SUBMIT,))
    assert (said.kind, said.wrong) == (Kind.MALFORMED, "<assert> is no action here: use <solution>...</solution>")
    assert read("<stop/>", "stop", (*BOTH, Kind.STOP)).kind is Kind.STOP
    assert read("<think>done</think><stop></stop>", "stop", (*BOTH, Kind.STOP)).thought == "done"


def test_what_was_cut_off_is_no_submission() -> None:
    assert read("<solution>assert a and", "length", BOTH).kind is Kind.MALFORMED
    assert read("<solution>assert a</solution> and then", "length", BOTH).kind is Kind.SUBMIT


def test_an_action_that_the_engine_cut_at_its_tag_is_closed_again() -> None:
    assert read("<think>x</think><assert>a", "stop", BOTH).text == "<think>x</think><assert>a</assert>"
    assert stops(BOTH) == ("</assert>", "</solution>")


TAGS = "<think> </think> <assert> </assert> <solution> </solution> <observation> </observation> <stop/> x ```".split()


@given(st.text() | st.lists(st.sampled_from([*TAGS, "\n"])).map("".join))
def test_never_raises(text: str) -> None:
    said = read(text, "stop", BOTH)
    assert (said.kind in BOTH) == bool(said.proposal)
    assert said.kind is not Kind.STOP
