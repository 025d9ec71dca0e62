"""Runs that nobody made: tasks, and verdict rows drawn at random, as the run folder would hold them."""

import itertools
import random
from collections.abc import Iterator

import pyarrow as pa

from ensures.task import Language, Mutant, Repository, Task

OPERATORS = {"python": ["math_p", "keyword", "strings"], "java": ["math", "null_returns", "increments"]}
FAMILIES = (("rule",), ("llm",), ("rule", "llm"))


def task(number: int, language: str, mutants: int, rng: random.Random) -> Task:
    made = []
    for index in range(mutants):
        families = FAMILIES[rng.randrange(3)]
        operator = rng.choice(OPERATORS[language]) if "rule" in families else None
        made.append(Mutant(f"mutant {index} of {number}", families, operator))
    return Task(
        id=f"{language}-{number}",
        language=Language(language),
        source=Repository(f"repository {number % 7}", "0" * 40),
        file="f",
        qualname="q",
        start_line=1,
        end_line=rng.randint(3, 90),
        signature="s",
        comment="some words",
        implementation=f"implementation {number}",
        tests=("t",),
        mutants=tuple(made),
        complexity=3,
    )


def tasks(count: int, mutants: tuple[int, int], seed: int = 0) -> list[Task]:
    rng = random.Random(seed)
    return [task(number, rng.choice(["python", "java"]), rng.randint(*mutants), rng) for number in range(count)]


def rows(
    of: list[Task], models: int, samples: int, seed: int = 0, settings: tuple[str, ...] = ("c2p", "n2p", "f2p")
) -> Iterator[dict[str, object]]:
    rng = random.Random(seed)
    for one, model, setting, sample in itertools.product(of, range(models), settings, range(samples)):
        name = f"{one.id}/{model}/{setting}/{sample}"
        head = {"task_id": one.id, "model": f"model-{model}", "setting": setting, "sample": sample}
        head |= {"candidate_id": name, "view": "all"}
        right = rng.random() < 0.6
        reason = "passed" if right else "test_failed"
        first = {"subject": "original", "outcome": 1 if right else -1, "reason": reason, "status": reason}
        yield {**head, **first, "key": name}
        strong = rng.random() < 0.3
        for mutant in one.mutants if right else ():
            outcome = 0 if strong or rng.random() < 0.8 else 1
            reason, status = ("postcondition_violated", "icontract_fail") if outcome == 0 else ("passed", "passed")
            found = {"subject": mutant.id, "outcome": outcome, "reason": reason, "status": status}
            yield {**head, **found, "key": f"{name}/{mutant.id}"}


CLAUSES = tuple(f"@icontract.ensure(lambda value, result: result >= value + {n})" for n in range(40))


def completions(
    of: list[Task], models: int, samples: int, seed: int = 0, settings: tuple[str, ...] = ("c2p", "n2p", "f2p")
) -> Iterator[dict[str, object]]:
    """A text for each of the candidates of `rows`."""
    rng = random.Random(seed)
    for one, model, setting, sample in itertools.product(of, range(models), settings, range(samples)):
        text = "\n".join(["```python", *rng.sample(CLAUSES, rng.randint(1, 8)), "```"])
        key = f"{one.id}/{model}/{setting}/{sample}"
        yield {"key": key, "task_id": one.id, "model": f"model-{model}", "setting": setting, "sample": sample, "text": text}


def table(of: list[Task], models: int = 2, samples: int = 3, seed: int = 0) -> pa.Table:
    return pa.Table.from_pylist(list(rows(of, models, samples, seed)))
