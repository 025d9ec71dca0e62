"""What executions of a Java original show: its calls, where clauses held on them, and what candidates leave unsaid."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ensures.candidate import Clauses
from ensures.subject import original
from evaluation.checker import Submission
from evaluation.diagnosis import Diagnosis
from evaluation.java import purity
from evaluation.java.candidates import read, translated
from evaluation.java.jml.syntax import Implication, Specification, written
from evaluation.java.translate import Translated

if TYPE_CHECKING:
    from evaluation.java.session import JmlSession


def spec(number: int, given: Sequence[Submission]) -> dict[str, Any]:
    """What the harness is told of a candidate: its number in the unit, and the views of all that it stands for."""
    return {"index": number, "views": [[view.part.value, view.salt] for one in given for view in one.views]}


def describe(session: "JmlSession") -> list[dict[str, Any]]:
    """One record a call of the original: what it was given, what it gave back, what it changed."""
    answer = session.bare(original(session.task), look="observe")
    names = ["this", *session.method.names]
    found = []
    for event in answer.events if answer is not None else ():
        if event["e"] == "seen":
            pictures = {when: dict(zip(names, event[when], strict=True)) for when in ("pre", "post")}
            if session.method.static:
                pictures = {when: {n: p for n, p in shown.items() if n != "this"} for when, shown in pictures.items()}
            found.append({**event, **pictures, "same": [session.method.names[index] for index in event["same"]]})
    return found


def truths(session: "JmlSession", given: Sequence[Submission]) -> list[tuple[str, int, str | None]]:
    """For each call of the original (test, number, truths): a character a clause set, 1 held, 0 false, x raised or did
    not compile."""
    made = [translated(submission.clauses.text, bool(session.method.result)) for submission in given]
    candidates = tuple(dict.fromkeys(one for one in made if isinstance(one, Translated)))
    held = session.built(candidates, session.task.implementation)
    position = {candidate: number for number, candidate in enumerate(candidates)}
    wanted = {held.numbers[candidate]: number for candidate, number in position.items()}
    rows: dict[tuple[str, int], list[str] | None] = {}
    for unit in held.found.units:
        members = [(wanted[of], number) for of, number in unit.candidates.items() if of in wanted]
        specs = [spec(number, [Submission(given[0].clauses)]) for _, number in members]
        answer = session.execute(original(session.task), unit, held.body, candidates=specs, every_call=True, whole=True)
        for event in answer.events:
            if event["e"] != "call":
                continue
            row = rows.setdefault((event["test"], event["n"]), ["x"] * len(candidates))
            if event["truths"] is None:
                rows[event["test"], event["n"]] = None
            elif row is not None:
                for (candidate, _), letter in zip(members, event["truths"], strict=False):
                    row[candidate] = letter
    columns = [position[one] if isinstance(one, Translated) else None for one in made]
    return [
        (test, n, None if row is None else "".join("x" if at is None else row[at] for at in columns))
        for (test, n), row in rows.items()
    ]


def diagnose(session: "JmlSession", submissions: Sequence[Submission]) -> list[Diagnosis | None]:
    """For candidates that hold on the original. None where they can't share an execution, or there is no result that
    could be another."""
    found: list[Diagnosis | None] = [None] * len(submissions)
    if session.baseline.original.iterators or not session.method.result:
        return found
    pure = [index for index, submission in enumerate(submissions) if purity.shares(submission.clauses.text)]
    made = {index: translated(submissions[index].clauses.text, True) for index in pure}
    usable = {index: one for index, one in made.items() if isinstance(one, Translated)}
    if not usable:
        return found
    held = session.built(tuple(dict.fromkeys(usable.values())), session.task.implementation)
    unused = _unused(session, submissions, list(usable))
    for unit in held.found.units:
        members: dict[int, list[int]] = {}
        for index, one in usable.items():
            if held.numbers[one] in unit.candidates:
                members.setdefault(unit.candidates[held.numbers[one]], []).append(index)
        specs = [spec(number, [Submission(submissions[alike[0]].clauses)]) for number, alike in members.items()]
        if specs:
            answer = session.execute(original(session.task), unit, held.body, candidates=specs, perturb=True, whole=True)
            for alike, noticed in zip(members.values(), answer.end.get("noticed", ()), strict=False):
                for index in alike:
                    found[index] = Diagnosis(not noticed, tuple(unused.get(index, ())))
    return found


def _unused(session: "JmlSession", submissions: Sequence[Submission], indices: Sequence[int]) -> dict[int, list[int]]:
    """Clauses that are implications whose left side never held."""
    parts = []
    for index in indices:
        specification = read(submissions[index].clauses.text)
        for position, clause in enumerate(specification.ensures if isinstance(specification, Specification) else ()):
            if isinstance(clause.expression, Implication):
                side = clause.expression.right if clause.expression.backward else clause.expression.left
                parts.append((index, position, Submission(Clauses(f"//@ ensures {written(side)};", (), (), ()))))
    rows = truths(session, [submission for _, _, submission in parts]) if parts else []
    held = {at for _, _, letters in rows if letters for at, letter in enumerate(letters) if letter != "0"}
    found: dict[int, list[int]] = {}
    for at, (index, position, _) in enumerate(parts):
        if rows and at not in held:
            found.setdefault(index, []).append(position)
    return found
