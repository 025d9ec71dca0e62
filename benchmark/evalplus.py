"""dataset=humaneval and dataset=mbpp: HumanEval+ and MBPP+ (EvalPlus), with mutants of nl2postcond's file or by our operators.

Tasks have inputs in place of tests, named base/0, base/1, ..., plus/0, ... Mutants are nl2postcond's programs in their order
(those meant to be right as well: whatever gives a wrong output is a mutant), or else made by the rule operators.
"""

import ast
import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from benchmark import mbpp_types
from benchmark.source import Selection, Tasks, read
from ensures.errors import InputError
from ensures.task import Language, Mutant, Program, Task

# Left out by SpecMind's runs, which count 159 tasks (its artifact's list).
SPECMIND = (32, 36, 83, 139, 160)


class Inputs(StrEnum):
    ALL = "all"
    BASE = "base"
    PLUS = "plus"


class Exclude(StrEnum):
    NONE = "none"
    SPECMIND = "specmind"


@dataclass
class EvalPlusConfig(Selection):
    """`path`: the published .jsonl or .jsonl.gz; empty: from the Hugging Face hub. `mutants_path`: nl2postcond's programs
    (.jsonl, .jsonl.gz or .zip); empty: mutants by the rule operators, at most `mutants` a task (0: all)."""

    kind: str = "humaneval"
    path: str = ""
    inputs: Inputs = Inputs.ALL
    mutants_path: str = ""
    mutants: int = 0
    exclude: Exclude = Exclude.NONE


@dataclass
class MbppConfig(EvalPlusConfig):
    kind: str = "mbpp"


HUB = {"humaneval": ("evalplus/humanevalplus", "HumanEval+"), "mbpp": ("evalplus/mbppplus", "MBPP+")}
Operators = Callable[[str, str], list[Mutant]]  # of a program and its entry point


def load(config: EvalPlusConfig, operators: Operators) -> Tasks:
    """The tasks. Raises InputError."""
    rows = list(records(Path(config.path), "dataset.path")) if config.path else list(_from_hub(config.kind))
    given = _programs(Path(config.mutants_path)) if config.mutants_path else None
    left_out = {f"HumanEval/{number}" for number in SPECMIND} if config.exclude is Exclude.SPECMIND else set()

    def make(record: Any, where: str) -> Task:
        task = _task(config, record, where)
        if given is not None:
            return _with(task, given.get(task.id, []))
        made = operators(task.implementation, task.qualname)
        return _with(task, made[: config.mutants] if config.mutants else made)

    items = [(record, where) for record, where in rows if str(record.get("task_id")) not in left_out]
    return read(items, make, config.skip_invalid)


def _task(config: EvalPlusConfig, record: dict[str, Any], where: str) -> Task:
    for name in ("task_id", "prompt", "entry_point", "canonical_solution"):
        if record.get(name) is None:
            raise InputError(f"{where}: the field {name!r} is missing")
    task_id = str(record["task_id"])
    program = record["prompt"] + record["canonical_solution"]
    try:
        function = _function(program, record["entry_point"])
    except SyntaxError as error:
        raise InputError(f"{where}: the reference of {task_id} is no Python: {error.msg}") from error
    if function is None:
        raise InputError(f"{where}: the reference of {task_id} defines no {record['entry_point']}")
    named = {name: text for name, text in _inputs(config, record, where) if config.inputs in (Inputs.ALL, name.split("/")[0])}
    if not named:
        raise InputError(f"{where}: {task_id} has no {config.inputs} inputs")
    return Task(
        id=task_id,
        language=Language.PYTHON,
        source=Program(
            task_id,
            HUB[config.kind][1],
            str(record.get("version", "")),
            "Apache-2.0",
            tuple(named.values()),
            float(record.get("atol") or 0),
        ),
        file="program.py",
        qualname=record["entry_point"],
        start_line=1,
        end_line=program.count("\n") + 1,
        signature=ast.unparse(function).split("\n")[0],
        comment=ast.get_docstring(function) or record["prompt"],
        implementation=program,
        tests=tuple(named),
    )


def _inputs(config: EvalPlusConfig, record: dict[str, Any], where: str) -> Iterator[tuple[str, str]]:
    """Names and Python expressions. The hub's rows hold them as a list in the text of their test, base and plus in one."""
    if record.get("base_input") is None and record.get("test"):
        for node in ast.parse(record["test"]).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "inputs" and isinstance(node.value, ast.List):
                yield from ((f"plus/{index}", ast.unparse(item)) for index, item in enumerate(node.value.elts))
        return
    for part in (Inputs.BASE, Inputs.PLUS):
        given = record.get(f"{part}_input")
        if given is None:
            raise InputError(f"{where}: the field '{part}_input' is missing")
        for index, arguments in enumerate(given or ()):  # a task without plus inputs has an empty dictionary there
            meant = mbpp_types.as_meant(str(record["task_id"]), arguments) if config.kind == "mbpp" else arguments
            yield f"{part}/{index}", repr(meant)


def _function(program: str, name: str) -> ast.FunctionDef | None:
    found = [node for node in ast.parse(program).body if isinstance(node, ast.FunctionDef) and node.name == name]
    return found[-1] if found else None


def _with(task: Task, mutants: list[Mutant]) -> Task:
    distinct = {mutant.implementation: mutant for mutant in reversed(mutants) if mutant.implementation != task.implementation}
    return replace(task, mutants=tuple(reversed(distinct.values())))


# Files


def _programs(path: Path) -> dict[str, list[Mutant]]:
    """nl2postcond's programs of each task, in the order of their numbers."""
    numbered: dict[str, list[tuple[int, str]]] = {}
    for record, where in records(path, "dataset.mutants_path"):
        for name in ("task_id", "response_num", "solution"):
            if record.get(name) is None:
                raise InputError(f"{where}: the field {name!r} is missing")
        if record.get("compiles", True):
            numbered.setdefault(record["task_id"], []).append((int(record["response_num"]), record["solution"]))
    return {
        task: [Mutant(text, ("nl2postcond",), f"program {number}") for number, text in sorted(found)]
        for task, found in numbered.items()
    }


def records(path: Path, key: str) -> Iterator[tuple[dict[str, Any], str]]:
    try:
        with _opened(path) as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    try:
                        record = json.loads(line)
                    except ValueError as error:
                        raise InputError(f"{path}, line {number}: not JSON: {error}") from error
                    yield record, f"{path}, line {number}"
    except (OSError, EOFError, UnicodeDecodeError, zipfile.BadZipFile) as error:
        raise InputError(f"{key}={path} can't be read: {error}") from error


def _opened(path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    if path.suffix == ".zip":
        archive = zipfile.ZipFile(path)
        names = [name for name in archive.namelist() if name.endswith(".jsonl")]
        if len(names) != 1:
            raise InputError(f"{path} holds {len(names)} .jsonl files, one is wanted")
        return io.TextIOWrapper(archive.open(names[0]), encoding="utf-8")
    return path.open(encoding="utf-8")


def _from_hub(kind: str) -> Iterator[tuple[dict[str, Any], str]]:
    from datasets import load_dataset

    name = HUB[kind][0]
    try:
        rows = load_dataset(name, split="test")
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"{name} can't be had from the hub ({said}); give a file with dataset.path") from error
    for number, row in enumerate(rows):
        record = dict(row)
        if kind == "mbpp" and "code" in record:
            called = re.search(r"assertion\((\w+)\(", record.get("test") or "")
            record["task_id"] = f"Mbpp/{record['task_id']}"
            record["prompt"] = f'"""\n{record["prompt"]}\n"""\n'
            record["canonical_solution"] = record["code"]
            record["entry_point"] = called.group(1) if called else None
        yield record, f"{name}, row {number}"
