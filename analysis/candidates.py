"""One line a candidate: was it correct, complete, what did it kill, and what happened on the original."""

from collections import Counter, defaultdict
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
    insensitive: bool | None = None  # would have noticed no other result; None: it was not looked at
    unused: int = 0  # clauses whose left side never held

    @property
    def tautological(self) -> bool:
        """It says nothing: kills no mutant, and would notice no other result."""
        return self.correct and self.killed == 0 and bool(self.insensitive)

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
            "tautological": self.tautological,
            "unused": self.unused,
            "text": self.text,
        }


def summaries(
    tasks: Sequence[Task],
    candidates: Mapping[str, Sequence[Candidate]],
    verdicts: Iterable[Mapping[str, Any]],
    diagnoses: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Summary]:
    """For every candidate and view, in the order of tasks, settings and samples. `diagnoses`: candidate -> its row."""
    diagnosed = diagnoses or {}
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
                known = diagnosed.get(candidate.key, {})
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
                        known.get("insensitive"),
                        len(known.get("unused") or ()),
                    )
                )
    return found


def reasons(shown: Iterable[Summary]) -> list[str]:
    """One line: what happened to the candidates on the original, most frequent first."""
    counted = Counter(summary.reason for summary in shown if summary.view != "seen").most_common()
    return ["candidates on the original: " + ", ".join(f"{count} {reason}" for reason, count in counted)] if counted else []


def emptiness(shown: Iterable[Summary]) -> list[str]:
    """One line about correct candidates that say nothing, where there are any; those of a second view stand for the first."""
    scored = [summary for summary in shown if summary.view != "seen" and summary.correct and summary.insensitive is not None]
    empty = sum(summary.tautological for summary in scored)
    unused = sum(bool(summary.unused) for summary in scored)
    if not empty and not unused:
        return []
    return [
        f"of {len(scored)} correct candidates looked at, {empty} say nothing (no mutant killed, any result would do) "
        f"and {unused} hold an implication whose left side never held"
    ]
