"""HumanEval+ and MBPP+ as published: read whole, meant types, mutants, and what is refused."""

import ast
import json
from pathlib import Path

import pytest

from benchmark import evalplus, schema
from benchmark.evalplus import EvalPlusConfig, Exclude, Inputs, MbppConfig, load
from construction.sample import program_mutants
from ensures.errors import InputError
from ensures.task import Program, Task
from tests import programs


def source(task: Task) -> Program:
    assert isinstance(task.source, Program)
    return task.source


def test_a_program_becomes_a_task(tmp_path: Path) -> None:
    smallest, halve = programs.tasks(tmp_path)
    assert smallest.tests == ("base/0", "base/1", "plus/0", "plus/1")
    assert source(smallest).inputs[0] == "[[3, 1, 2], 2]"
    assert smallest.comment == "The k smallest of the numbers, in order."
    assert [mutant.operator for mutant in smallest.mutants] == [f"program {n}" for n in range(6)]
    assert halve.tests == ("base/0", "base/1")
    assert halve.repository == "HumanEval/901"
    assert schema.from_record(schema.to_record(halve), "here") == halve


@pytest.mark.parametrize(("inputs", "names"), [(Inputs.BASE, ("base/0", "base/1")), (Inputs.PLUS, ("plus/0", "plus/1"))])
def test_inputs_can_be_chosen(tmp_path: Path, inputs: Inputs, names: tuple[str, ...]) -> None:
    path, _ = programs.write(tmp_path, programs.SMALLEST)
    (task,) = load(EvalPlusConfig(path=str(path), inputs=inputs), lambda *_: []).tasks
    assert task.tests == names
    assert len(source(task).inputs) == 2


def test_mutants_by_our_operators_are_whole_programs(tmp_path: Path) -> None:
    path, _ = programs.write(tmp_path, programs.HALVE)
    (task,) = load(EvalPlusConfig(path=str(path), mutants=2), program_mutants).tasks
    assert len(task.mutants) == 2
    for mutant in task.mutants:
        ast.parse(mutant.implementation)
        assert mutant.implementation.startswith("def halve")
        assert mutant.operator


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entry_point": None}, "line 1: the field 'entry_point' is missing"),
        ({"canonical_solution": "    return ("}, "is no Python"),
        ({"entry_point": "other"}, "defines no other"),
        ({"base_input": None}, "the field 'base_input' is missing"),
        ({"base_input": [], "plus_input": []}, "has no all inputs"),
    ],
)
def test_broken_records_are_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path, _ = programs.write(tmp_path, {**programs.SMALLEST, **change})
    with pytest.raises(InputError, match=message):
        load(EvalPlusConfig(path=str(path)), lambda *_: [])
    found = load(EvalPlusConfig(path=str(path), skip_invalid=True), lambda *_: [])
    assert len(found.skipped) == 1


def test_a_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path, _ = programs.write(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="can't be read"):
        load(EvalPlusConfig(path=str(path)), lambda *_: [])


def test_the_hubs_rows_hold_their_inputs_in_the_text_of_a_test(tmp_path: Path) -> None:
    record = {key: value for key, value in programs.SMALLEST.items() if not key.endswith("_input")}
    record["test"] = "from math import inf\ninputs = [[[3, 1, 2], 2], [(1,), inf]]\nresults = []\n"
    path = tmp_path / "hub.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    (task,) = load(EvalPlusConfig(path=str(path)), lambda *_: []).tasks
    assert task.tests == ("plus/0", "plus/1")
    assert source(task).inputs == ("[[3, 1, 2], 2]", "[(1,), inf]")


def test_all_of_humaneval(shared_data: Path) -> None:
    path = str(shared_data / "HumanEvalPlus.jsonl.gz")
    tasks = load(EvalPlusConfig(path=path), lambda *_: []).tasks
    assert len(tasks) == 164
    assert sum(len(task.tests) for task in tasks) == 124_253
    assert len(load(EvalPlusConfig(path=path, exclude=Exclude.SPECMIND), lambda *_: []).tasks) == 159
    mutants = str(shared_data / "nl2pc_codes_49200.jsonl.zip")
    (first,) = load(EvalPlusConfig(path=path, mutants_path=mutants), lambda *_: []).tasks[:1]
    assert first.mutants[0].operator == "program 0"


def test_mbpps_inputs_are_what_their_contracts_want(shared_data: Path) -> None:
    """The contract is the benchmark's own word on types, run here on the benchmark's inputs."""
    path = shared_data / "MbppPlus.jsonl.gz"
    contracts = {str(record["task_id"]): record["contract"] for record, _ in evalplus.records(path, "path")}
    tasks = load(MbppConfig(path=str(path)), lambda *_: []).tasks
    assert len(tasks) == 378
    names = {"inf": float("inf"), "nan": float("nan"), "set": set}
    refused = {}
    for task in tasks:
        contract, wrong = programs.contract_of(task, contracts[task.id]), 0
        for text in source(task).inputs:
            try:
                contract(*eval(text, dict(names)))
            except Exception:
                wrong += 1
        if wrong:
            refused[task.id] = wrong
    assert refused == {"Mbpp/267": 3, "Mbpp/734": 104}, "as published: floats for an int, empty lists"
