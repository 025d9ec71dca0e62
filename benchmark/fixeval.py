"""dataset=fixeval: a wrong and a right submission to a programming contest (FixEval), for bug detection (SpecMind, RQ5).

A task is the right program, its problem's tests are its inputs, and the wrong program is its one mutant. A record of
`dataset.path` (JSON lines, JSON or Parquet):

    {"problem": "p02618", "description": "...", "correct": "...", "buggy": "...", "verdict": "Wrong Answer",
     "id": "optional", "tests": [{"input": "3\\n", "output": "1\\n"}]}

Tests may lie in a folder instead: `dataset.tests_path`/PROBLEM/in/NAME and out/NAME. Only pairs with the verdict Wrong Answer
are taken (the paper left runtime errors out), and of those only what this Python can parse.
"""

import ast
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.schema import Record, records
from benchmark.source import Selection, Tasks, read
from ensures.errors import InputError
from ensures.keys import content_key
from ensures.task import Language, Mutant, Script, Task

WANTED = "Wrong Answer"
BENCHMARK = "FixEval"


@dataclass
class FixEvalConfig(Selection):
    """`sample`: so many pairs, drawn with `sample_seed` (the paper: 384; 0: all). `seconds` a test, as published, and
    `memory_mb`."""

    kind: str = "fixeval"
    path: str = ""
    tests_path: str = ""
    sample: int = 0
    sample_seed: int = 0
    seconds: float = 15.0
    memory_mb: int = 5120


def load(config: FixEvalConfig) -> Tasks:
    """The tasks. Raises InputError."""
    if not config.path:
        raise InputError("dataset=fixeval needs dataset.path: a file of pairs (problem, correct, buggy, verdict)")
    if not Path(config.path).is_file():
        raise InputError(f"dataset.path={config.path} does not exist")
    if config.tests_path and not Path(config.tests_path).is_dir():
        raise InputError(f"dataset.tests_path={config.tests_path} is not a folder")
    left_out: Counter[str] = Counter()
    pairs = [(record, where) for record, where in records(Path(config.path)) if _wanted(record, where, left_out)]
    if config.sample and config.sample < len(pairs):
        kept = random.Random(config.sample_seed).sample(range(len(pairs)), config.sample)
        pairs = [pairs[at] for at in sorted(kept)]
    found = read(pairs, lambda record, where: _task(config, record, where), config.skip_invalid)
    return Tasks(found.tasks, (*(f"{count} pairs: {why}" for why, count in left_out.items()), *found.skipped))


def _wanted(record: Any, where: str, left_out: Counter[str]) -> bool:
    fields = Record(record, where)
    verdict = fields.text("verdict")
    if verdict.strip().lower() != WANTED.lower():
        left_out[f"the verdict is {verdict}, not {WANTED}"] += 1
        return False
    for name in ("correct", "buggy"):
        program = fields.text(name)
        try:
            ast.parse(program)
        except (SyntaxError, ValueError):
            left_out[f"the {name} program is no Python 3"] += 1
            return False
    return True


def _task(config: FixEvalConfig, record: dict[str, Any], where: str) -> Task:
    fields = Record(record, where)
    problem, correct, buggy = fields.text("problem"), fields.text("correct"), fields.text("buggy")
    tests = list(_tests(config, fields, problem))
    if not tests:
        raise InputError(f"{where}: {problem} has no tests; give them in the record or in dataset.tests_path")
    name = fields.text("id", "") or f"{problem}/{content_key(correct, buggy)[:8]}"
    source = Script(
        problem,
        BENCHMARK,
        "",
        "",
        tuple(repr([_lines(given)]) for _, given, _ in tests),
        outputs=tuple(repr(_lines(expected)) for _, _, expected in tests),
        seconds=config.seconds,
        memory_mb=config.memory_mb,
    )
    return Task(
        id=name,
        language=Language.PYTHON,
        source=source,
        file="program.py",
        qualname=problem,
        start_line=1,
        end_line=correct.rstrip("\n").count("\n") + 1,
        signature="lines -> return_values",
        comment=fields.text("description", ""),
        implementation=correct,
        tests=tuple(f"test/{test}" for test, _, _ in tests),
        mutants=(Mutant(buggy, ("submitted",), WANTED),),
    )


def _tests(config: FixEvalConfig, fields: Record, problem: str) -> Iterator[tuple[str, str, str]]:
    """(name, input, expected output)."""
    if config.tests_path:
        folder = Path(config.tests_path) / problem
        for path in sorted((folder / "in").glob("*")):
            expected = folder / "out" / path.name
            if not expected.is_file():
                raise InputError(f"{path} has no {expected}")
            try:
                yield path.name, path.read_text(encoding="utf-8"), expected.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"the test {path} can't be read: {error}") from error
        return
    for number, test in enumerate(fields.record.get("tests") or ()):
        own = Record(test, f"{fields.where}, test {number}")
        yield str(number), own.text("input"), own.text("output")


def _lines(text: str) -> list[str]:
    """Without the white space at the ends of lines and the empty lines at the end, as a script's output is compared."""
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines
