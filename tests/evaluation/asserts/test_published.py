"""Published postconditions get their published verdicts (`python -m tests.fidelity` compares all of them)."""

import json
from pathlib import Path

import pytest

from benchmark.evalplus import EvalPlusConfig, load
from tests.fidelity import replay


@pytest.mark.parametrize("task_id", ["HumanEval/120", "HumanEval/124"])
def test_nl2postcond(shared_data: Path, task_id: str) -> None:
    """120: mutants that change their argument in place. 124: candidates that take a module for granted."""
    mutants = str(shared_data / "nl2pc_codes_49200.jsonl.zip")
    config = EvalPlusConfig(path=str(shared_data / "HumanEvalPlus.jsonl.gz"), mutants_path=mutants)
    (task,) = (task for task in load(config, lambda *_: []).tasks if task.id == task_id)
    lines = (shared_data / "nl2pc_postconds_even_labelled.jsonl").read_text(encoding="utf-8").splitlines()
    published = [record for record in map(json.loads, lines) if record["task_id"] == task_id]
    found = replay((task, published, "")).compared
    assert len(found) == 10
    assert [item.ours for item in found] == [item.theirs for item in found]
    assert [(item.killed, item.run) for item in found if item.theirs] == [
        (item.theirs_killed, item.theirs_run) for item in found if item.theirs
    ]
