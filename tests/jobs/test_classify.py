"""Thoughts classified by a model: an endpoint that answers by what it reads, each thought asked once, labels compared."""

import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis import reasoning
from tests.inference.endpoint import Endpoint, Handler, choice
from tests.jobs import conversations, demo, test_strategies
from tests.jobs.conversations import PerTask, rows

EDGE, VERIFY = "Check Edge Cases", "Verify Function Behavior"


def reads(handler: Handler, body: dict[str, Any]) -> None:
    thought = body["messages"][0]["content"].partition("Thought:")[2]
    said = f"It is **{EDGE}**." if "edge" in thought else "6" if "verify" in thought else "I can't say"
    handler.reply(200, {"choices": [choice(said)], "usage": {}})


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with Endpoint() as found:
        found.plan = [reads] * 50
        yield found


def classify(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jobs.classify", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=demo.ROOT)


def test_thoughts(tmp_path: Path, server: Endpoint) -> None:
    right = "<solution>@icontract.ensure(lambda result: result is not None)</solution>"
    answers = [f"<think>an edge</think>{right}", f"<think>to verify</think>{right}", f"<think>hm</think>{right}", right]
    chosen = [o for o in demo.write(tmp_path / "d") if not o.startswith(("model", "settings=", "k=", "tracker"))]
    chosen += ["model=openai-compatible", "model.served=s", f"model.base_url={server.url}", "settings=[f2p]", "k=1"]
    given = [*chosen, "strategy=greedy", "strategy.mu=4", "strategy.tau=1.0", "name=run", "dataset.tasks=*double"]
    conversations.run(given, PerTask({"": answers}), conclude=True)
    folder = test_strategies.folder(given, "run")
    turns = sorted(rows(folder, "turns"), key=lambda row: row["number"])
    assert len(turns) == 4
    labels = tmp_path / "labels.csv"
    with labels.open("w", newline="") as file:
        csv.writer(file).writerows([["key", "category"], [turns[0]["key"], EDGE], [turns[1]["key"], EDGE]])
    model = ("model=openai-compatible", "model.served=reader", f"model.base_url={server.url}")
    done = classify(f"run={folder}", *model, f"labels={labels}")
    assert done.returncode == 0, done.stderr
    assert "3 thoughts classified" in done.stdout and "1 of 2 the same (50%)" in done.stdout
    asked = len(server.heard)
    assert asked == 3 and server.heard[0]["temperature"] == 0.0
    again = classify(f"run={folder}", *model)
    assert again.returncode == 0 and len(server.heard) == asked
    analyzed = subprocess.run(
        [sys.executable, "-m", "jobs.analyze", str(folder), "--trials", "2"], capture_output=True, text=True
    )
    assert analyzed.returncode == 0, analyzed.stderr
    with (folder / "tables" / "reasoning.csv").open() as file:
        found = {row["Category"]: int(row["thoughts"]) for row in csv.DictReader(file)}
    assert found == {**dict.fromkeys(reasoning.CATEGORIES, 0), EDGE: 1, VERIFY: 1, "none named": 1}
    with (folder / "figures" / "reasoning-by-turn.csv").open() as file:
        by_turn = {(row["Category"], row["turn"]): row["thoughts"] for row in csv.DictReader(file)}
    assert (by_turn[EDGE, "1"], by_turn[EDGE, "2"], by_turn[VERIFY, "2"]) == ("1", "0", "1")
    wrong = classify(f"run={folder}", *model, "labels=/nowhere.csv")
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Refine Assertions", "Refine Assertions"),
        ("not Check Base Cases but check edge cases", EDGE),
        ("6", VERIFY),
        ("category 3.", EDGE),
        ("8", None),
        ("", None),
    ],
)
def test_what_an_answer_names(text: str, category: str | None) -> None:
    assert reasoning.named(text) == category


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "name a run folder"), (["run=/nowhere", "model=reference"], "/nowhere holds no tasks.parquet")],
)
def test_bad_input_is_one_line(arguments: list[str], said: str) -> None:
    done = classify(*arguments)
    assert done.returncode == 2
    assert said in done.stderr and done.stderr.count("\n") == 1
