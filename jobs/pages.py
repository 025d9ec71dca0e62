"""What the report shows of every method, from run folders; one method at a time, so that no run is too large."""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.report import CandidateShown, Method, MutantShown, TurnShown
from benchmark import postcondbench
from ensures.candidate import CLAUSE, Clauses
from ensures.task import Mutant, Task
from ensures.verdict import Outcome, Reason
from evaluation.metrics import outcome
from evaluation.rows import COMPLETIONS, DIAGNOSES, PROMPTS, TURNS, stored
from inference.dialects import dialect, icontract
from jobs.study import CLAUSES, Run

_LETTERS = {Reason.CONDITION_RAISED: "r", Reason.TEST_FAILED: "f", Reason.TIMEOUT: "t"}
_VERDICT = "task_id candidate_id subject outcome reason status clause message".split()
_TURN = "task_id setting sample number kind thought proposal observation score caught".split()
Row = dict[str, Any]


class Slices:
    """A table's rows by task, made into dictionaries when they are asked for."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table.sort_by([("task_id", "ascending")]) if table.num_rows else table
        names = self._table["task_id"].combine_chunks().dictionary_encode()
        codes = names.indices.to_numpy(zero_copy_only=False)
        firsts = np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1, [len(codes)]]) if len(codes) else np.zeros(1, int)
        known = names.dictionary.to_pylist()
        self._places = {known[codes[at]]: (int(at), int(end - at)) for at, end in pairwise(firsts)}

    def of(self, task: str) -> list[Row]:
        first, count = self._places.get(task, (0, 0))
        found: list[Row] = self._table.slice(first, count).to_pylist()
        return found


class Shown:
    """One run's methods."""

    def __init__(self, run: Run, rule: str) -> None:
        self.run, self.rule = run, rule
        judged = set(run.rows["candidate_id"].unique().to_pylist())
        drawn = stored(run.path / "completions", COMPLETIONS, ["task_id", "model", "setting", "sample", "text", "thinking"])
        self.drawn = Slices(drawn.filter(pc.is_in(drawn["key"], value_set=pa.array(sorted(judged), pa.string()))))
        self.verdicts = Slices(run.verdicts(_VERDICT))
        self.clauses = Slices(run.verdicts(_VERDICT, CLAUSES))
        self.turns = Slices(stored(run.path / "turns", TURNS, _TURN))
        self.prompts = Slices(stored(run.path / "prompts", PROMPTS, ["task_id", "setting", "text"]))
        diagnoses = stored(run.path / "diagnoses", DIAGNOSES, ["candidate_id", "insensitive", "unused"])
        self.diagnoses = {row["candidate_id"]: row for row in diagnoses.to_pylist()}

    def prompts_of(self, task: Task) -> dict[str, str]:
        return {row["setting"]: row["text"] for row in self.prompts.of(task.id)}

    def candidates(self, task: Task, mutants: Sequence[Mutant]) -> Iterator[CandidateShown]:
        seen: dict[str, dict[str, Row]] = defaultdict(dict)
        for row in self.verdicts.of(task.id):
            seen[row["candidate_id"]][row["subject"]] = row
        alone: dict[str, dict[int, dict[str, Row]]] = defaultdict(lambda: defaultdict(dict))
        for row in self.clauses.of(task.id):
            name, _, position = row["candidate_id"].rpartition(CLAUSE)
            alone[name][int(position)][row["subject"]] = row
        ids = [mutant.id for mutant in mutants]
        said: dict[tuple[str, int], list[Row]] = defaultdict(list)
        for row in self.turns.of(task.id):
            said[row["setting"], row["sample"]].append(row)
        rows = {row["key"]: row for row in self.drawn.of(task.id)}.values()
        for row in sorted(rows, key=lambda row: (row["model"], row["setting"], row["sample"])):
            subjects = seen.get(row["key"], {})
            if "original" in subjects:
                found = self._candidate(task, row, subjects, alone.get(row["key"], {}), ids)
                yield replace(found, turns=tuple(_turns(said[row["setting"], row["sample"]], ids)))

    def _candidate(
        self, task: Task, row: Row, subjects: dict[str, Row], alone: dict[int, dict[str, Row]], ids: Sequence[str]
    ) -> CandidateShown:
        first = subjects["original"]
        artifact = self._parsed(row["text"] or "", task)
        known = isinstance(artifact, Clauses)
        return CandidateShown(
            row["model"],
            row["setting"],
            row["sample"],
            row["text"] or "",
            "\n".join((*artifact.preamble, artifact.text)) if isinstance(artifact, Clauses) else row["text"] or "",
            first["reason"],
            first["message"] or "",
            outcome(first, self.rule) is Outcome.HOLDS,
            "".join(self._letter(subjects.get(name)) for name in ids),
            artifact.ensures if isinstance(artifact, Clauses) else (),
            first["clause"],
            tuple(-1 if (at := subjects.get(name, {}).get("clause")) is None else at for name in ids) if known else (),
            tuple(self._alone(found, ids) for _, found in sorted(alone.items())),
            tuple(self._notes(row["key"])),
        )

    def _alone(self, found: dict[str, Row], ids: Sequence[str]) -> tuple[bool, tuple[int, ...]]:
        holds = "original" in found and outcome(found["original"], self.rule) is Outcome.HOLDS
        kills = (at for at, name in enumerate(ids) if name in found and outcome(found[name], self.rule) is Outcome.VIOLATED)
        return holds, tuple(kills) if holds else ()

    def _letter(self, row: Row | None) -> str:
        if row is None:
            return "n"
        found = outcome(row, self.rule)
        if found is Outcome.VIOLATED:
            return "k"
        return "h" if found is Outcome.HOLDS else _LETTERS.get(Reason(row["reason"]), "e")

    def _notes(self, key: str) -> Iterator[str]:
        known = self.diagnoses.get(key)
        if known is not None and known["insensitive"]:
            yield "would notice no other result"
        if known is not None and known["unused"]:
            yield f"{len(known['unused'])} implications whose left side never held"

    def _parsed(self, text: str, task: Task) -> Any:
        parsing = icontract.Parsing(self.run.config.get("parsing", "published").lower())
        return dialect.parse(dialect.of(task), text, parsing)


def _turns(rows: Sequence[Row], ids: Sequence[str]) -> Iterator[TurnShown]:
    for row in sorted(rows, key=lambda row: int(row["number"])):
        caught = tuple(at for at, name in enumerate(ids) if name in (row["caught"] or ()))
        seen = row["observation"].removeprefix("<observation>").removesuffix("</observation>")
        yield TurnShown(row["kind"], row["thought"], row["proposal"], seen, row["score"], caught)


def methods(runs: Sequence[Run], rule: str) -> Iterator[Method]:
    """Every task of the runs, with the candidates of all runs that hold it."""
    shown = [Shown(run, rule) for run in runs]
    tasks = {task.key: task for run in runs for task in run.tasks}
    holds = [{task.key for task in run.tasks} for run in runs]
    for key, task in tasks.items():
        own = [one for one, keys in zip(shown, holds, strict=True) if key in keys]
        mutants = task.counted
        candidates = (candidate for one in own for candidate in one.candidates(task, mutants))
        yield _method(task, mutants, candidates, {name: text for one in own for name, text in one.prompts_of(task).items()})


def published_methods(path: Path, tasks: Sequence[Task]) -> Iterator[Method]:
    """Those of published results: statuses in the place of verdicts."""
    samples: dict[str, list[Row]] = defaultdict(list)
    for folder in postcondbench.result_folders(path):
        for sample in postcondbench.published_samples(str(folder)):
            samples[sample["task_id"]].append(sample)
    for task in tasks:
        mutants = task.counted
        yield _method(task, mutants, (_published(task, mutants, sample) for sample in samples[task.id]), {})


def _published(task: Task, mutants: Sequence[Mutant], sample: Row) -> CandidateShown:
    letters = {"passed": "h", "failed": "f", "timeout": "t", None: "n"} | dict.fromkeys(postcondbench.KILLED, "k")
    text, status = sample["text"] or "", sample["published"]
    verdicts = "".join(letters.get(sample["kills"].get(mutant.id), "e") for mutant in mutants)
    who = (sample["model"], sample["setting"], sample["sample"])
    return CandidateShown(*who, text, text, status, "", status == "passed", verdicts, first=(-1,) * len(mutants))


def _method(task: Task, mutants: Sequence[Mutant], candidates: Iterable[CandidateShown], prompts: dict[str, str]) -> Method:
    return Method(
        task.id,
        task.language.value,
        task.repository,
        task.file,
        task.lines,
        task.comment,
        task.implementation,
        task.reference or "",
        tuple(MutantShown(mutant.id, _made_by(mutant), change(task, mutant.implementation)) for mutant in mutants),
        tuple(candidates),
        prompts,
    )


def _made_by(mutant: Mutant) -> str:
    return mutant.operator or ", ".join(mutant.families)


def change(task: Task, implementation: str) -> str:
    """The lines that differ, as a unified diff without its head."""
    lines: Iterable[str] = difflib.unified_diff(
        task.implementation.splitlines(), implementation.splitlines(), lineterm="", n=1
    )
    return "\n".join(list(lines)[3:])
