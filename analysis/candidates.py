"""One line a candidate: was it correct, complete, what did it kill, and what happened on the original."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ensures.candidate import Candidate
from ensures.subject import mutants
from ensures.task import Task
from ensures.verdict import Outcome, Reason


@dataclass(frozen=True, slots=True)
class Summary:
    """Under the strict rule. `outcomes`: one a mutant in the task's order; None where none was needed or it is missing."""

    task: str
    model: str
    setting: str
    sample: int
    view: str
    text: str
    reason: str
    message: str
    correct: bool
    killed: int
    outcomes: tuple[int | None, ...]

    @property
    def complete(self) -> bool:
        return self.correct and bool(self.outcomes) and self.killed == len(self.outcomes)

    def row(self) -> dict[str, Any]:
        return {
            "task_id": self.task,
            "model": self.model,
            "setting": self.setting,
            "sample": self.sample,
            "view": self.view,
            "correct": self.correct,
            "complete": self.complete,
            "killed": self.killed,
            "reason": self.reason,
            "text": self.text,
        }


def summaries(
    tasks: Sequence[Task], candidates: Mapping[str, Sequence[Candidate]], verdicts: Iterable[Mapping[str, Any]]
) -> list[Summary]:
    """For every candidate and view, in the order of tasks, settings and samples."""
    table: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for row in verdicts:
        table[row["candidate_id"], row["view"]][row["subject"]] = row
    found = []
    for task in tasks:
        subjects = [subject.id for subject in mutants(task)]
        for candidate in candidates.get(task.id, ()):
            for view in candidate.views:
                seen = table[candidate.key, view.part.value]
                first = seen.get("original")
                if first is None:
                    continue
                outcomes = tuple(seen[s]["outcome"] if s in seen else None for s in subjects)
                found.append(
                    Summary(
                        task.id,
                        candidate.model,
                        candidate.setting.value,
                        candidate.sample,
                        view.part.value,
                        candidate.text,
                        str(first["reason"]),
                        str(first["message"] or ""),
                        first["reason"] == Reason.PASSED,
                        sum(outcome == Outcome.VIOLATED for outcome in outcomes),
                        outcomes,
                    )
                )
    return found
