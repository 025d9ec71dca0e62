"""Multi-turn strategies through the real judge: icontract, JML and asserts, killed and resumed, feedback and score apart."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.metrics import at_least_one
from jobs.feedback import half
from tests import programs
from tests.benchmark import test_fixeval
from tests.jobs import conversations, demo, test_java
from tests.jobs.conversations import PerTask, probe, rows, submit

RIGHT = {
    "double": "@icontract.ensure(lambda values, result: result == [2 * value for value in values])",
    "clamp": "@icontract.ensure(lambda value, low, high, result: result == min(max(value, low), high))",
    "Counter.add": (
        "@icontract.snapshot(lambda self: self.count, name='before')\n"
        "@icontract.ensure(lambda self, step, OLD, result: self.count == OLD.before + step and result == self.count)"
    ),
}
WRONG = "@icontract.ensure(lambda result: result is None)"
WEAK = "@icontract.ensure(lambda result: result is not None)"
ANSWERS = {name: [probe(WRONG), "and now?", probe(WEAK), submit(WEAK), submit(text)] for name, text in RIGHT.items()}


@pytest.fixture
def given(tmp_path: Path) -> list[str]:
    dropped = ("model", "settings=", "k=", "tracker")
    made = [o for o in demo.write(tmp_path / "d") if not o.startswith(dropped)]
    return [
        *made,
        "model=openai-compatible",
        "model.served=scripted",
        "model.base_url=http://127.0.0.1:9/v1",
        "settings=[f2p]",
        "k=1",
    ]


def folder(overrides: list[str], name: str) -> Path:
    return Path(next(o.removeprefix("out=") for o in overrides if o.startswith("out="))) / name


def turns_of(path: Path, task: str) -> list[dict[str, Any]]:
    return sorted((row for row in rows(path, "turns") if row["task_id"].endswith(task)), key=lambda row: row["number"])


def test_exploratory_on_icontract(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    conversations.run([*given, "strategy=exploratory", "strategy.tau=0.7", "name=whole"], PerTask(ANSWERS), conclude=True)
    path = folder(given, "whole")
    for task, text in RIGHT.items():
        turns = turns_of(path, task)
        if task == "clamp":  # none of its mutants counts: the first correct submission leaves nothing to be caught
            assert [turn["kind"] for turn in turns] == ["probe", "malformed", "probe", "submit"]
            continue
        assert [turn["kind"] for turn in turns] == ["probe", "malformed", "probe", "submit", "submit"]
        first, second, third, fourth, last = (turn["observation"] for turn in turns)
        assert "Assertions are not correct.\nViolationError" in first and "(11 turns left)" in first
        assert "could not be read" in second
        assert third == "<observation>Assertions are correct. (9 turns left)</observation>"
        assert fourth == "<observation>Assertions are correct, but they can not catch a buggy implementation.</observation>"
        assert last == "<observation>Assertions are correct.</observation>"
        assert turns[3]["score"] < 0.7 <= turns[4]["score"]
        assert set(turns[3]["caught"]) < set(turns[4]["caught"])
        (answer,) = (row for row in rows(path, "completions") if row["task_id"].endswith(task))
        assert answer["text"] == text
    said = capsys.readouterr()
    assert "leaky" in said.out and "strategy.feedback_split=true" in said.err
    assert "(leaky)" in (path / "tables" / "overall.md").read_text()
    # what gave feedback was not run again to be scored
    scored = {(row["task_id"], row["subject"]): row["outcome"] for row in rows(path, "verdicts")}
    told = [row for row in rows(path, "feedback") if row["outcome"] == 0 and row["kind"] == "mutant"]
    assert all(row["model"] == "feedback" for row in told)
    assert {key for key, outcome in scored.items() if outcome == 0} <= {(row["task_id"], row["subject"]) for row in told}


@pytest.mark.parametrize("most", [1, 4, 7, 11])
def test_it_goes_on_from_the_last_finished_turn_with_the_same_rows(given: list[str], most: int) -> None:
    chosen = [*given, "strategy=exploratory", "strategy.tau=0.7"]
    conversations.run([*chosen, "name=whole"], PerTask(ANSWERS))
    conversations.run([*chosen, "name=halved"], PerTask(ANSWERS, most))
    assert 0 < len(rows(folder(given, "halved"), "turns")) <= most
    engine = PerTask(ANSWERS)
    conversations.run([*chosen, "name=halved"], engine)
    assert len(engine.requests) == 14 - most
    for name in ("turns", "completions", "verdicts"):
        assert rows(folder(given, "halved"), name) == rows(folder(given, "whole"), name), name


def test_greedy_and_its_feedback(given: list[str]) -> None:
    answers = {name: [submit(WRONG), submit(WEAK), submit(text)] for name, text in RIGHT.items()}
    chosen = [*given, "strategy=greedy", "strategy.mu=2", "strategy.feedback=score", "strategy.escalate=1", "name=greedy"]
    conversations.run(chosen, PerTask(answers))
    turns = turns_of(folder(given, "greedy"), "Counter.add")
    assert [turn["kind"] for turn in turns] == ["submit"] * 3
    assert "they catch only" in turns[1]["observation"] and turns[2]["score"] == 1.0
    assert [turn["feedback"] for turn in turns] == ["score", "score", "mutant"]


def test_random_sampling_of_recorded_completions(given: list[str], tmp_path: Path) -> None:
    """The demo's three recorded candidates as the draws of one answer."""
    original = demo.write(tmp_path / "recorded")
    dropped = ("k=", "settings=")
    chosen = [o for o in original if not o.startswith(dropped)]
    done = demo.run(
        *chosen, "settings=[f2p]", "k=1", "strategy=random_sampling", "strategy.mu=3", "name=random", "cluster=none"
    )
    assert done.returncode == 0, done.stderr
    turns = turns_of(folder(original, "random"), "double")
    assert [turn["number"] for turn in turns] == list(range(1, len(turns) + 1))
    best = max(turn["score"] or 0 for turn in turns)
    (answer,) = (row for row in rows(folder(original, "random"), "completions") if row["task_id"].endswith("double"))
    assert answer["text"] == next(turn["text"] for turn in turns if turn["correct"] and turn["score"] == best)
    short = demo.run(
        *chosen, "settings=[f2p]", "k=2", "strategy=random_sampling", "strategy.mu=3", "name=more", "cluster=none"
    )
    assert short.returncode == 2 and "k=2 times strategy.mu=3 are wanted" in short.stderr


def on_programs(tmp_path: Path, *more: str) -> list[str]:
    path, mutants = programs.write(tmp_path)
    return [
        *("dataset=humaneval", f"dataset.path={path}", f"dataset.mutants_path={mutants}", "settings=[f2p]", "k=1"),
        *("model=openai-compatible", "model.served=s", "model.base_url=http://127.0.0.1:9/v1", f"out={tmp_path / 'runs'}"),
        *more,
    ]


GOOD = "assert return_value == sorted(numbers)[:k]"


def test_asserts_on_programs(tmp_path: Path) -> None:
    answers = {"900": [probe("assert len(return_value) > 9"), submit(GOOD)], "901": [submit("assert return_value * 2 == x")]}
    engine = PerTask(answers)
    conversations.run(on_programs(tmp_path, "name=asserts", "strategy=exploratory", "strategy.mu=3"), engine)
    turns = turns_of(tmp_path / "runs" / "asserts", "900")
    assert "AssertionError" in turns[0]["observation"] and turns[1]["score"] == 1.0
    text = engine.requests[0].prompts[0].text
    assert text.startswith("Objective: Verify correctness of a Python function") and "`return_value`" in text


def test_feedback_and_score_from_disjoint_tests_and_mutants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {"900": [submit(GOOD)], "901": [submit("assert return_value * 2 == x")]}
    chosen = on_programs(tmp_path, "strategy=greedy", "strategy.mu=1", "strategy.feedback_split=true", "name=split")
    pipeline = conversations.run(chosen, PerTask(answers), conclude=True)
    path = tmp_path / "runs" / "split"
    for task, scored in zip(pipeline.tasks, pipeline.scored, strict=True):
        whole = {mutant.id for mutant in task.mutants if mutant.excluded is None}
        if scored == task:  # too small: its feedback can't be had
            assert len(task.tests) < 2 or len(whole) < 2
            continue
        told, own = half(task, 0), half(task, 1)
        assert own == scored
        assert set(told.tests) | set(own.tests) == set(task.tests) and not set(told.tests) & set(own.tests)
        ids = [{mutant.id for mutant in part.mutants} for part in (told, own)]
        assert ids[0] | ids[1] == whole and not ids[0] & ids[1]
    given = {(row["task_id"], row["subject"]) for row in rows(path, "feedback") if row["kind"] == "mutant"}
    scored_by = {(row["task_id"], row["subject"]) for row in rows(path, "verdicts") if row["kind"] == "mutant"}
    assert given and scored_by and not given & scored_by
    both = zip(pipeline.tasks, pipeline.scored, strict=True)
    assert {item.task for item in pipeline.unresolved} == {task.id for task, scored in both if task == scored}
    assert "leaky" not in capsys.readouterr().out


@pytest.mark.parametrize("split", [False, True])
def test_bug_detection(tmp_path: Path, capsys: pytest.CaptureFixture[str], split: bool) -> None:
    """Table 3: as published the strategy stops when the bug that scores is caught; split, it never hears of it."""
    pairs = test_fixeval.write(tmp_path, {**test_fixeval.PAIR, "id": "p1/a", "tests": test_fixeval.TESTS * 3})
    chosen = ["dataset=fixeval", f"dataset.path={pairs}", "settings=[f2p]", "k=1", "strategy=exploratory", "strategy.mu=4"]
    chosen += ["model=openai-compatible", "model.served=s", "model.base_url=http://127.0.0.1:9/v1", f"out={tmp_path}"]
    exact = "assert int(return_values[0]) == max(map(int, lines[1].split()))"
    answers = [probe("assert return_values == []"), submit("assert len(return_values) == 1"), submit(exact)]
    engine = PerTask({"p1/a": answers})
    split_or_not = [f"strategy.feedback_split={str(split).lower()}", "name=bugs"]
    conversations.run([*chosen, *split_or_not], engine, conclude=True)
    turns = turns_of(tmp_path / "bugs", "p1/a")
    prompt = engine.requests[0].prompts[0].text
    assert "# The greatest of N." in prompt and "`return_values`" in prompt and "sys.stdin.read()" in prompt
    assert "AssertionError" in turns[0]["observation"]
    said = capsys.readouterr()
    if split:  # the first that is correct: nothing is left to be caught
        assert [turn["kind"] for turn in turns] == ["probe", "submit"] and not turns[-1]["caught"]
        assert "leaky" not in said.out
    else:
        assert [turn["score"] for turn in turns] == [None, 0.0, 1.0]
        assert "leaky" in said.out
        with (tmp_path / "bugs" / "tables" / "bugs.csv").open() as file:
            table = [(row["μ"], row["% Corr."], row["% dist. bugs"]) for row in csv.DictReader(file)]
        assert [(mu, float(right), float(caught)) for mu, right, caught in table] == [("3", 1, 1), ("4", 1, 1)]


def test_jml(tmp_path: Path) -> None:
    own = [o for o in test_java.written(tmp_path) if not o.startswith(("model", "k=", "name=", "tracker"))]
    right = {
        "Clamp.clamp": "//@ ensures \\result == Math.min(Math.max(value, low), high);",
        "demo--demo--clamp": RIGHT["clamp"],
    }
    wrong = {"Clamp.clamp": "//@ ensures \\result > value;", "demo--demo--clamp": WRONG}
    answers = {name: [probe(wrong[name]), submit(text)] for name, text in right.items()}
    model = ("model=openai-compatible", "model.served=s", "model.base_url=http://127.0.0.1:9/v1", "k=1", "name=jml")
    conversations.run([*own, *model, "strategy=exploratory", "strategy.tau=0.7"], PerTask(answers))
    for name in right:
        turns = turns_of(folder(own, "jml"), name)
        assert [turn["kind"] for turn in turns] == ["probe", "submit"], turns
        assert "Assertions are not correct." in turns[0]["observation"]
        assert turns[1]["score"] == 1.0


# SpecMind, Figure 8 (tau = 50, mu = 4): get_max_triples, with the observations that the figure shows. On all inputs, which
# take minutes, the last exploratory submission catches 26 of 50 mutants (0.52), but 0.44 of the pairs: the figure follows the
# text's tau. On the base inputs it is 22 of 45.
N = "n * (n - 1) * (n - 2) // 6"
CORRECT = "<observation>Assertions are correct."
WEAKER = "<observation>Assertions are correct, but they can not catch a buggy implementation.</observation>"
EXPLORATORY = [
    probe("assert isinstance(return_value, int) and return_value >= 0"),
    probe(f"assert return_value <= {N}"),
    probe(f"assert isinstance(return_value, int) and return_value >= 0 and return_value <= {N}"),
    submit(
        "assert (n <= 2 and return_value is False) or (n > 2 and isinstance(return_value, int) and return_value >= 0 and "
        f"return_value <= {N})"
    ),
]
GREEDY = [
    submit(f"assert return_value <= {N}"),
    submit("assert isinstance(return_value, int) and return_value >= 0"),
    submit("assert get_max_triples(3) == 0 or get_max_triples(4) == 1"),
    submit("assert return_value <= n**3 // 6"),
]


@pytest.mark.parametrize("strategy", ["exploratory", "greedy"])
def test_figure_8(shared_data: Path, tmp_path: Path, strategy: str) -> None:
    chosen = [
        *(
            "dataset=humaneval",
            f"dataset.path={shared_data / 'HumanEvalPlus.jsonl.gz'}",
            "dataset.tasks=*147",
            "settings=[f2p]",
        ),
        *(f"dataset.mutants_path={shared_data / 'nl2pc_codes_49200.jsonl.zip'}", "k=1", f"out={tmp_path}", "name=figure"),
        *("model=openai-compatible", "model.served=s", "model.base_url=http://127.0.0.1:9/v1"),
        *(f"strategy={strategy}", "strategy.tau=0.45", "strategy.mu=4", "strategy.tau_of=mutants", "dataset.inputs=base"),
    ]
    conversations.run(chosen, PerTask({"147": EXPLORATORY if strategy == "exploratory" else GREEDY}))
    turns = turns_of(tmp_path / "figure", "147")
    assert [turn["correct"] for turn in turns] == [True] * 4
    if strategy == "exploratory":
        assert [turn["kind"] for turn in turns] == ["probe"] * 3 + ["submit"]
        assert all(turn["observation"].startswith(CORRECT) for turn in turns)
        assert "but" not in turns[3]["observation"] and len(turns[3]["caught"]) == 22
    else:
        assert [turn["observation"] for turn in turns] == [WEAKER] * 4
        assert all(turn["score"] < 0.45 for turn in turns)
        assert max(turn["score"] for turn in turns) == turns[0]["score"]  # its best appears in the first attempt


def test_gpt_4s_samples_as_draws(shared_data: Path, tmp_path: Path) -> None:
    """Ten recorded postconditions a task: the curves are those of the published verdicts."""
    recorded = shared_data / "nl2pc_postconds_even_labelled.jsonl"
    tasks = ("HumanEval/2", "HumanEval/4")
    chosen = [
        *(
            "dataset=humaneval",
            f"dataset.path={shared_data / 'HumanEvalPlus.jsonl.gz'}",
            "dataset.tasks='HumanEval/[24]'",
        ),
        *(f"dataset.mutants_path={shared_data / 'nl2pc_codes_49200.jsonl.zip'}", "settings=[f2p]", "k=1", f"out={tmp_path}"),
        *("model=replay", f"model.path={recorded}", "model.name=gpt-4", "strategy=random_sampling", "strategy.mu=10"),
        *("strategy.tau=2", "strategy.tau_of=mutants", "name=draws", "tracker=none", "cluster=none"),
    ]
    done = demo.run(*chosen, seconds=280)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in recorded.read_text(encoding="utf-8").splitlines()]
    right = {task: sum(bool(line["pub_correct"]) for line in lines if line["task_id"] == task) for task in tasks}
    with (tmp_path / "draws" / "tables" / "draws.csv").open() as file:
        table = list(csv.DictReader(file))
    assert len(table) == 10
    for row in table:
        mu = int(row["μ"])
        assert float(row["Corr."]) == pytest.approx(sum(at_least_one(10, c, mu) for c in right.values()) / len(tasks))
    assert [float(row["Comp."]) for row in table] == sorted(float(row["Comp."]) for row in table)
