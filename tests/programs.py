"""A small benchmark of programs in EvalPlus's published form, for tests."""

import ast
import gzip
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmark.evalplus import EvalPlusConfig, load
from ensures.task import Task

SMALLEST = {
    "task_id": "HumanEval/900",
    "prompt": 'def smallest(numbers, k=1):\n    """The k smallest of the numbers, in order."""\n',
    "entry_point": "smallest",
    "canonical_solution": "    numbers.sort()\n    return numbers[:k]\n",
    "base_input": [[[3, 1, 2], 2], [[5], 1]],
    "plus_input": [[[], 3], [[2, 2, 1], 1]],
    "atol": 0,
}
HALVE = {
    "task_id": "HumanEval/901",
    "prompt": "def halve(x):\n    # Half of it.\n",
    "entry_point": "halve",
    "canonical_solution": "    return x / 2\n",
    "base_input": [[1.0], [3.0]],
    "plus_input": {},
    "atol": 0,
}
MUTANTS = [
    ("HumanEval/900", "def smallest(numbers, k=1):\n    return sorted(numbers)[:k]\n"),  # right, and leaves the list alone
    ("HumanEval/900", "def smallest(numbers, k=1):\n    return numbers[:k]\n"),  # wrong for two inputs
    ("HumanEval/900", "def smallest(numbers, k=1):\n    return None if k > 1 else sorted(numbers)[:k]\n"),
    ("HumanEval/900", "def smallest(numbers, k=1):\n    x = numbers[:k]\n    return x\n"),  # nothing new
    ("HumanEval/900", "def smallest(numbers, k=1):\n    while True:\n        pass\n"),
    ("HumanEval/900", "import os\nos._exit(0)\n"),
    ("HumanEval/901", "def halve(x):\n    return x / 2 + 1e-9\n"),  # as good as right
    ("HumanEval/901", "def halve(x):\n    return x // 2\n"),
]


def write(folder: Path, *records: dict[str, Any]) -> tuple[Path, Path]:
    """The benchmark and its mutants, as published."""
    tasks, mutants = folder / "plus.jsonl.gz", folder / "codes.jsonl"
    with gzip.open(tasks, "wt", encoding="utf-8") as file:
        for record in records or (SMALLEST, HALVE):
            file.write(json.dumps(record) + "\n")
    lines = [
        json.dumps({"task_id": task, "response_num": number, "solution": text, "compiles": True})
        for number, (task, text) in enumerate(MUTANTS)
    ]
    mutants.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tasks, mutants


def tasks(folder: Path, **options: Any) -> tuple[Task, ...]:
    path, mutants = write(folder)
    return load(EvalPlusConfig(path=str(path), mutants_path=str(mutants), **options), lambda *_: []).tasks


def contract_of(task: Task, text: str) -> Callable[..., None]:
    """The benchmark's own word on what inputs are allowed: asserts over the parameters, as a function of them."""
    function = next(node for node in ast.parse(task.implementation).body if getattr(node, "name", "") == task.qualname)
    assert isinstance(function, ast.FunctionDef)
    body = textwrap.indent(textwrap.dedent(text.strip("\n")) + "\npass", "    ")
    scope: dict[str, Any] = {}
    exec(f"from __future__ import annotations\nimport re\ndef contract({ast.unparse(function.args)}):\n{body}", scope)
    return scope["contract"]  # type: ignore[no-any-return]
