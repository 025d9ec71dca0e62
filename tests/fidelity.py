"""Replays published candidates and compares verdicts with the published ones; disagreements are listed with both sides.

nl2postcond's labelled half: 820 GPT-4 postconditions of 82 HumanEval+ tasks, each with whether it was correct and how many of
the task's distinct mutants it killed. PostcondBench's `pancake_sort`: seven samples and the reference (27 mutants); it is
replayed where a checkout of its repository is given.

python -m tests.fidelity [--json FILE] [--tasks GLOB] [--workers N] [--list N]
"""

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmark.evalplus import EvalPlusConfig, load, records
from benchmark.source import select
from construction import sample as construction
from containers.choose import AutoConfig, choose
from ensures.candidate import Malformed
from ensures.subject import original
from ensures.task import Task
from ensures.verdict import Outcome, published_outcome
from evaluation.asserts.session import AssertChecker
from evaluation.checker import Submission
from inference.dialects import asserts
from tests import grown_inputs
from tests.projects import DATA

LABELLED = DATA / "nl2pc_postconds_even_labelled.jsonl"
LEFT_OUT = "HumanEval/160"  # published as all wrong; a re-run finds all ten right (the data's README)


@dataclass
class Compared:
    """One published postcondition: their word and ours. Counts of mutants are None where it is not correct."""

    task: str
    number: int
    text: str
    theirs: bool
    ours: bool
    said: str
    theirs_killed: int | None = None
    theirs_run: int | None = None
    killed: int | None = None  # under the published rule: whatever is raised counts
    strictly_killed: int | None = None  # under ours
    run: int | None = None
    theirs_pairs: int | None = None
    theirs_pairs_run: int | None = None
    pairs: int | None = None
    pairs_run: int | None = None

    @property
    def difference(self) -> float | None:
        """Ours minus theirs, in the fraction of mutants killed, where both found it correct."""
        if not (self.theirs and self.ours and self.theirs_run and self.run):
            return None
        return self.killed / self.run - self.theirs_killed / self.theirs_run  # type: ignore[operator]


@dataclass
class Replayed:
    task: str
    seconds: float
    inputs: int
    mutants: int
    pairs: int
    excluded: tuple[str, ...]
    compared: list[Compared] = field(default_factory=list)
    grown: "Replayed | None" = None  # the same with more inputs, where the published run must have had more


def replay(work: tuple[Task, list[dict[str, Any]], str]) -> Replayed:
    task, published, contract = work
    found = _replayed(task, published)
    pairs = max((record["pub_bopi_run"] or 0 for record in published), default=0)
    if found.pairs and grown_inputs.too_few(task, pairs):
        count = round(len(task.tests) * pairs / found.pairs)  # at as many pairs an input as there are here
        found.grown = _replayed(grown_inputs.grown(task, contract, count), published)
    return found


def _replayed(task: Task, published: list[dict[str, Any]]) -> Replayed:
    started = time.perf_counter()
    checker = AssertChecker(choose(AutoConfig(), hostile=True)[0])
    session = checker.prepare(task, construction.program_workspace())
    try:
        baseline = session.survey(task)
        subjects = baseline.counted(task)
        pairs = sum(len(session.pairs(task)[subject.id]) for subject in subjects)
        found = Replayed(task.id, 0.0, len(task.tests), len(subjects), pairs, baseline.excluded)
        for record in published:
            found.compared.append(_compare(session, task, record))
        found.seconds = time.perf_counter() - started
        return found
    finally:
        session.close()


def _compare(session: Any, task: Task, record: dict[str, Any]) -> Compared:
    text = record["postcondition"]
    artifact = asserts.parse(text)
    whole = (task.id, int(record["n"]), text, bool(record["pub_correct"]))
    if isinstance(artifact, Malformed):
        return Compared(*whole, False, artifact.message)
    submission = Submission(artifact)
    ((verdict,),) = session.check(original(task), [submission])
    compared = Compared(*whole, verdict.outcome is Outcome.HOLDS, f"{verdict.reason} {verdict.message}".strip())
    compared.theirs_killed, compared.theirs_run = record["pub_codes_killed"], record["pub_codes_run"]
    compared.theirs_pairs, compared.theirs_pairs_run = record["pub_bopi_killed"], record["pub_bopi_run"]
    if compared.ours:
        verdicts = [session.check(subject, [submission])[0][0] for subject in session.baseline.counted(task)]
        compared.killed = sum(published_outcome(v.status) is Outcome.VIOLATED for v in verdicts)
        compared.strictly_killed = sum(v.outcome is Outcome.VIOLATED for v in verdicts)
        compared.run = len(verdicts)
        compared.pairs = sum(v.pairs_killed + v.pairs_raised for v in verdicts)
        compared.pairs_run = sum(v.pairs for v in verdicts)
    return compared


def figures(compared: Sequence[Compared]) -> dict[str, Any]:
    counted = [item for item in compared if item.task != LEFT_OUT]
    agree = [item.theirs == item.ours for item in counted]
    both = [item for item in counted if item.difference is not None]
    differences = [item.difference or 0.0 for item in both]
    return {
        "postconditions": len(compared),
        f"leaving {LEFT_OUT} out": len(counted),
        "agreement on correctness": sum(agree) / max(1, len(agree)),
        "both correct": len(both),
        "completeness, theirs (mean)": statistics.mean(i.theirs_killed / i.theirs_run for i in both) if both else None,  # type: ignore[operator]
        "completeness, ours (mean)": statistics.mean(i.killed / i.run for i in both) if both else None,  # type: ignore[operator]
        "completeness, ours, strict rule": statistics.mean(i.strictly_killed / i.run for i in both) if both else None,  # type: ignore[operator]
        "difference of the means": statistics.mean(differences) if both else None,
        "same number killed": statistics.mean(i.killed == i.theirs_killed for i in both) if both else None,
        "same number of mutants": statistics.mean(i.run == i.theirs_run for i in both) if both else None,
        "within 0.10": statistics.mean(abs(d) <= 0.10 for d in differences) if both else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tasks", default="*")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--list", type=int, default=30, help="disagreements to print")
    chosen = parser.parse_args()
    if not LABELLED.is_file():
        sys.exit(f"the published data is not at {DATA}; nothing to compare with")
    config = EvalPlusConfig(
        path=str(DATA / "HumanEvalPlus.jsonl.gz"),
        mutants_path=str(DATA / "nl2pc_codes_49200.jsonl.zip"),
        tasks=chosen.tasks,
    )
    published: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in LABELLED.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        published[record["task_id"]].append(record)
    tasks = [t for t in select(load(config, lambda *_: []).tasks, config, "humaneval") if t.id in published]
    contracts = {record["task_id"]: record.get("contract", "") for record, _ in records(Path(config.path), "dataset.path")}
    work = [(task, sorted(published[task.id], key=lambda record: record["n"]), contracts[task.id]) for task in tasks]
    construction.program_workspace()
    results = []
    with ProcessPoolExecutor(chosen.workers) as pool:
        for done, result in enumerate(pool.map(replay, work), 1):
            results.append(result)
            agree = sum(item.theirs == item.ours for item in result.compared)
            print(
                f"{done:3}/{len(work)} {result.task:<14} {result.mutants:3} mutants {result.pairs:6} pairs "
                f"{agree}/{len(result.compared)} agree, {result.seconds:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    compared = [item for result in results for item in result.compared]
    summary = figures(compared)
    grown = {result.task: result.grown for result in results if result.grown is not None}
    if grown:  # the same figures, with what the published run had more of
        summary["tasks published with more inputs"] = ", ".join(f"{name} ({one.inputs})" for name, one in grown.items())
        swapped = figures([item for r in results for item in grown.get(r.task, r).compared])
        summary |= {f"{name}, grown": swapped[name] for name in ("difference of the means", "within 0.10")}
    for name, value in summary.items():
        print(f"{name:<32}{value:>10.4f}" if isinstance(value, float) else f"{name:<32} {value!s:>9}")
    apart = [item for item in compared if item.theirs != item.ours]
    far = sorted((i for i in compared if abs(i.difference or 0) > 0.10), key=lambda i: -abs(i.difference or 0))
    for item in [*apart, *far][: chosen.list]:
        print(f"\n{item.task} #{item.number}: published {_side(item, True)}; ours {_side(item, False)}")
        print("    " + item.text.strip().replace("\n", "\n    "))
    if chosen.json:
        rows = [asdict(item) for item in compared]
        more = {name: asdict(one) for name, one in grown.items()}
        chosen.json.write_text(json.dumps({**summary, "compared": rows, "grown": more}, indent=1) + "\n", encoding="utf-8")


def _side(item: Compared, theirs: bool) -> str:
    if theirs:
        return f"correct, kills {item.theirs_killed} of {item.theirs_run}" if item.theirs else "not correct"
    return f"correct, kills {item.killed} of {item.run}" if item.ours else f"not correct: {item.said}"


if __name__ == "__main__":
    main()
