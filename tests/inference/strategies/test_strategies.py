"""Every branch of the strategies, with an engine that answers from a list and a judge that knows what is right."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ensures.candidate import Artifact, Clauses, Malformed
from ensures.errors import InputError
from ensures.task import Setting
from ensures.verdict import Reason
from inference.engine import Completion, Prompt, Request
from inference.engines.scripted import Scripted
from inference.strategies.conversation import Conversation
from inference.strategies.exploratory import Exploratory, ExploratoryConfig
from inference.strategies.greedy import Greedy, GreedyConfig
from inference.strategies.multi_turn import Preset, Showing, Telling, check
from inference.strategies.random_sampling import RandomSampling, RandomSamplingConfig
from inference.strategy import Assignment, Feedback, Strategy, Tools, Turn
from tests.analysis import synthetic

TASK = replace(synthetic.tasks(1, (4, 4))[0], implementation="def f(a):\n    return a")
NAMES = tuple(mutant.id for mutant in TASK.mutants)
WORK = Assignment(TASK, Setting.F2P, (0,), 1, "key", (Prompt("the task", "h"), Prompt("less of the task", "h2")))


class Known:
    """What is said of a text: an int is how many of the four mutants it catches, None that it is wrong."""

    def __init__(self, **texts: int | None) -> None:
        self.texts, self.asked = texts, list[tuple[str, str]]()

    async def correctness(self, work: Assignment, artifact: Artifact) -> Feedback:
        assert isinstance(artifact, Clauses)
        self.asked.append(("correctness", artifact.text))
        right = self.texts[artifact.text] is not None
        return Feedback(right, "" if right else f"AssertionError: {artifact.text}")

    async def completeness(self, work: Assignment, artifact: Artifact) -> Feedback:
        first = await self.correctness(work, artifact)
        self.asked[-1] = ("completeness", self.asked[-1][1])
        count = self.texts[artifact.text] if isinstance(artifact, Clauses) else None
        return first if count is None else Feedback(True, "", NAMES[:count], NAMES[count:], 8, 2 * count)

    def mutant(self, work: Assignment, name: str) -> str:
        return f"def f(a):\n    return {name!r}"


class Noted:
    def __init__(self, turns: Sequence[Turn] = ()) -> None:
        self.kept = list(turns)

    def turns(self, work: Assignment, sample: int) -> list[Turn]:
        return list(self.kept)

    def add(self, work: Assignment, sample: int, turn: Turn) -> None:
        self.kept.append(turn)


def parse(text: str) -> Artifact:
    return Malformed(Reason.SYNTAX_ERROR, "line 1: no") if text == "bad" else Clauses(text, (), (), (text,))


def probe(text: str) -> str:
    return f"<think>thinking of {text}</think><assert>{text}</assert>"


def submit(text: str) -> str:
    return f"<think>sure of {text}</think><solution>{text}</solution>"


class Ran:
    def __init__(
        self, strategy: Strategy, answers: list[str], judge: Known, turns: Sequence[Turn] = (), work: Assignment = WORK
    ) -> None:
        self.heard: list[Request] = []
        self.journal = Noted(turns)
        self.recorded: list[Completion] = []
        tools = Tools(
            Scripted(answers, self.heard.append), parse, lambda _, done: self.recorded.append(done), judge, self.journal
        )
        asyncio.run(strategy.infer(work, tools))
        self.turns = self.journal.kept
        (self.answer,) = self.recorded

    @property
    def kinds(self) -> list[str]:
        return [turn.kind for turn in self.turns]


def exploratory(**values: object) -> Exploratory:
    return Exploratory(ExploratoryConfig(**values))  # type: ignore[arg-type]


def greedy(**values: object) -> Greedy:
    return Greedy(GreedyConfig(**values))  # type: ignore[arg-type]


def test_probes_are_told_correctness_only_and_are_never_the_answer() -> None:
    judge = Known(one=4, two=None, three=3)
    ran = Ran(exploratory(tau=0.7), [probe("one"), probe("two"), submit("three")], judge)
    assert ran.kinds == ["probe", "probe", "submit"]
    assert judge.asked == [("correctness", "one"), ("correctness", "two"), ("completeness", "three")]
    assert ran.answer.text == "three"
    first, second, third = (turn.observation for turn in ran.turns)
    assert first == "<observation>Assertions are correct. (11 turns left)</observation>"
    assert second == "<observation>Assertions are not correct.\nAssertionError: two\n(10 turns left)</observation>"
    assert third == "<observation>Assertions are correct.</observation>"  # three of four are enough
    assert [turn.score for turn in ran.turns] == [None, None, 0.75]
    assert ran.turns[2].caught == NAMES[:3]


def test_the_history_is_part_of_every_prompt_and_grows_at_its_end() -> None:
    ran = Ran(exploratory(tau=0.7), [probe("one"), submit("two")], Known(one=1, two=4))
    first, second = (request.prompts[0] for request in ran.heard)
    assert first.messages == [{"role": "user", "content": "the task"}]
    assert second.messages[:1] == first.messages
    assert [message["role"] for message in second.messages] == ["user", "assistant", "user"]
    assert second.turns == (probe("one"), ran.turns[0].observation)
    assert ran.heard[0].seed != ran.heard[1].seed
    assert ran.heard[0].wanted.temperature == 0.0 and ran.heard[0].wanted.max_tokens == 1024
    assert ran.heard[0].wanted.stop == ("</assert>", "</solution>")


@pytest.mark.parametrize(("tau", "turns"), [(0.5, 1), (0.75, 2), (1.0, 4), (-1.0, 1)])
def test_it_ends_at_tau_or_mu(tau: float, turns: int) -> None:
    texts = [submit("half"), submit("most"), submit("half"), submit("most")]
    ran = Ran(greedy(tau=tau, mu=4), texts, Known(half=2, most=3))
    assert len(ran.turns) == turns
    assert ran.answer.text == ("half" if turns == 1 else "most")


def test_without_tau_wrong_submissions_do_not_end_it() -> None:
    ran = Ran(greedy(tau=-1.0, mu=4), [submit("wrong"), submit("right")], Known(wrong=None, right=0))
    assert ran.kinds == ["submit", "submit"] and ran.answer.text == "right"


def test_ties_replace_the_best_as_published_and_do_not_by_the_text() -> None:
    judge = Known(one=2, two=2, three=1)
    answers = [submit("one"), submit("two"), submit("three")]
    assert Ran(greedy(mu=3), answers, judge).answer.text == "two"
    assert Ran(greedy(mu=3, ties="keep"), answers, judge).answer.text == "one"
    assert Ran(greedy(mu=3, preset=Preset.TEXT), answers, judge).answer.text == "one"


def test_tau_is_a_share_of_pairs_or_of_mutants() -> None:
    class Lopsided(Known):
        async def completeness(self, work: Assignment, artifact: Artifact) -> Feedback:
            return replace(await super().completeness(work, artifact), pairs=10, pairs_caught=9)

    answers = [submit("one"), submit("one")]
    assert len(Ran(greedy(mu=2, tau=0.9), answers, Lopsided(one=2)).turns) == 1
    assert len(Ran(greedy(mu=2, tau=0.9, tau_of="mutants"), answers, Lopsided(one=2)).turns) == 2


def test_if_nothing_correct_was_submitted_the_last_text_is_the_answer() -> None:
    judge = Known(one=None, two=None, three=4)
    assert Ran(exploratory(mu=3), [submit("one"), submit("two"), probe("three")], judge).answer.text == "two"
    assert Ran(exploratory(mu=2), [probe("one"), probe("two")], judge).answer.text == "two"
    assert Ran(exploratory(mu=2), ["no", "nothing"], judge).answer.text == ""


def test_a_malformed_turn_costs_a_turn_and_says_so() -> None:
    ran = Ran(exploratory(mu=3), ["I wonder", probe("bad"), submit("one")], Known(one=4))
    assert ran.kinds == ["malformed", "probe", "submit"]
    assert "could not be read: there is no action" in ran.turns[0].observation and "(2 turns left)" in ran.turns[0].observation
    assert "line 1: no" in ran.turns[1].observation  # what can't be parsed is not judged
    assert ran.turns[1].correct is False


def test_greedy_may_not_probe() -> None:
    ran = Ran(greedy(mu=2), [probe("one"), submit("one")], Known(one=4))
    assert ran.kinds == ["malformed", "submit"]
    assert ran.heard[0].wanted.stop == ("</solution>",)


def test_the_model_may_stop_where_that_is_offered_and_something_was_submitted() -> None:
    answers = ["<stop/>", submit("one"), "<think>enough</think><stop/>", submit("two")]
    ran = Ran(exploratory(preset=Preset.TEXT, mu=4), answers, Known(one=1, two=4))
    assert ran.kinds == ["stop", "submit", "stop"] and ran.answer.text == "one"
    assert "Nothing was submitted yet." in ran.turns[0].observation
    assert Ran(exploratory(mu=2), ["<stop/>", submit("two")], Known(two=4)).kinds == ["malformed", "submit"]


def test_richer_feedback() -> None:
    told = Ran(greedy(mu=1, feedback=Telling.SCORE), [submit("one")], Known(one=1)).turns[0].observation
    assert "they catch only 25% of buggy implementations." in told
    full = Ran(greedy(mu=1, feedback=Telling.MUTANT), [submit("one")], Known(one=1)).turns[0].observation
    assert "they can not catch this buggy implementation:\n```\ndef f(a):\n    return 'm-" in full
    assert any(name in full for name in NAMES[1:]) and NAMES[0] not in full
    again = Ran(greedy(mu=1, feedback=Telling.MUTANT), [submit("one")], Known(one=1)).turns[0].observation
    assert again == full  # drawn by the key
    short = Ran(greedy(mu=1, feedback=Telling.MUTANT, mutant_as=Showing.DIFF), [submit("one")], Known(one=1))
    assert "-    return a\n+    return 'm-" in short.turns[0].observation
    assert Ran(greedy(mu=1), [submit("one")], Known(one=4)).turns[0].observation == (
        "<observation>Assertions are correct.</observation>"
    )


def test_hard_cases_are_told_more_in_extra_turns() -> None:
    ran = Ran(greedy(mu=2, escalate=2), [submit("one")] * 4, Known(one=1))
    assert [turn.feedback for turn in ran.turns] == ["binary", "binary", "mutant", "mutant"]
    assert ["this buggy implementation" in turn.observation for turn in ran.turns] == [False, False, True, True]
    assert len(Ran(greedy(mu=2, escalate=2), [submit("one"), submit("two")], Known(one=1, two=4)).turns) == 2


def test_it_goes_on_from_the_last_finished_turn() -> None:
    judge, answers = Known(one=1, two=2, three=4), [probe("one"), submit("two"), submit("three")]
    whole = Ran(exploratory(), answers, judge)
    for done in range(3):
        rest = Ran(exploratory(), answers[done:], judge, whole.turns[:done])
        assert rest.turns == whole.turns and rest.answer == whole.answer
        assert [request.seed for request in rest.heard] == [request.seed for request in whole.heard[done:]]


def test_tokens_of_all_turns_are_the_answers() -> None:
    ran = Ran(exploratory(), [probe("one"), submit("two")], Known(one=1, two=4))
    assert ran.answer.completion_tokens == sum(turn.completion_tokens for turn in ran.turns) > 0


# Beyond the context


def turn(number: int, kind: str) -> Turn:
    return Turn(number, kind, "", f"said {number}", "", "", f"seen {number}")


def test_the_oldest_probes_go_first_never_the_task_the_best_or_the_last_turn() -> None:
    turns = [turn(1, "probe"), turn(2, "submit"), turn(3, "malformed"), turn(4, "submit"), turn(5, "probe"), turn(6, "submit")]
    rungs = list(Conversation(WORK.prompts, turns, best=2))
    shown = [[text for text in rung.turns if text.startswith("said")] for rung in rungs]
    assert [[int(text[-1]) for text in rung] for rung in shown] == [
        [1, 2, 3, 4, 5, 6],
        [2, 3, 4, 5, 6],
        [2, 4, 5, 6],
        [2, 4, 6],
        [2, 6],
        [2, 6],
    ]
    assert [rung.text for rung in rungs] == ["the task"] * 5 + ["less of the task"]
    assert rungs[2].left_out == ("turn 1", "turn 3")
    assert len({rung.hash for rung in rungs}) == 6
    assert list(Conversation(WORK.prompts, [], None)) == list(WORK.prompts)


# Random sampling


def test_random_sampling_ends_at_tau_and_takes_the_best() -> None:
    judge = Known(one=1, two=None, three=3, four=4)
    ran = Ran(RandomSampling(RandomSamplingConfig(tau=0.7)), ["one", "two", "three", "four"], judge)
    assert [turn.score for turn in ran.turns] == [0.25, 0.0, 0.75] and ran.answer.text == "three"
    assert [request.samples for request in ran.heard] == [(0,), (1,), (2,)]
    assert all(request.prompts[0].turns == () for request in ran.heard)  # independent: no history
    few = Ran(RandomSampling(RandomSamplingConfig(tau=0.9, mu=2)), ["one", "two"], judge)
    assert len(few.turns) == 2 and few.answer.text == "one"
    none = Ran(RandomSampling(RandomSamplingConfig(mu=2)), ["two", "bad"], judge)
    assert none.answer.text == "bad" and none.turns[1].correct is False


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"tau": 1.5}, "strategy.tau=1.5: a share up to 1"),
        ({"mu": 0}, "strategy.mu=0: at least one turn"),
        ({"escalate": -1}, "strategy.escalate=-1"),
        ({"ties": "both"}, "strategy.ties=both is not known; choose one of replace, keep"),
        ({"tau_of": "x"}, "strategy.tau_of=x is not known"),
    ],
)
def test_bad_values_are_one_line(values: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        check(ExploratoryConfig(**values))  # type: ignore[arg-type]
