"""The result table: dashes where there is nothing, intervals where there are some."""

import csv
import io
import json

from analysis import tables
from analysis.candidates import summaries
from ensures.candidate import Candidate, Clauses
from ensures.subject import mutants
from ensures.task import Mutant, Setting
from evaluation.metrics import Expected, score, summarize
from tests.ensures.test_keys import a_task

TASK = a_task(
    id="<demo>",
    implementation="def f(a):\n    return a + 1",
    mutants=(
        Mutant("def f(a):\n    return a - 1", ("rule",), "operator_replacement"),
        Mutant("def f(a):\n    return 7", ("llm",)),
    ),
)
TEXT = "@icontract.ensure(lambda a, result: a < result)"


def candidate(sample: int) -> Candidate:
    return Candidate(f"c{sample}", TASK.id, "m", Setting.F2P, sample, TEXT, Clauses(TEXT, (), (), (TEXT,)))


def verdicts() -> list[dict[str, object]]:
    """Candidate 0: correct, kills the first mutant of two. Candidate 1: violated on the original."""
    ids = [subject.id for subject in mutants(TASK)]
    rows = [("c0", "original", 1, "passed"), ("c0", ids[0], 0, "postcondition_violated"), ("c0", ids[1], -1, "test_failed")]
    rows.append(("c1", "original", 0, "postcondition_violated"))
    statuses = {1: "passed", 0: "icontract_fail", -1: "failed"}
    return [
        {
            "task_id": TASK.id,
            "model": "m",
            "setting": "f2p",
            "view": "all",
            "candidate_id": of,
            "subject": subject,
            "outcome": outcome,
            "status": statuses[outcome],
            "reason": reason,
            "message": "ViolationError: <b>a</b>" if of == "c1" else "",
        }
        for of, subject, outcome, reason in rows
    ]


def rows() -> list[dict[str, object]]:
    expected = Expected(TASK.id, "p", "python", "m", "f2p", 2, frozenset(subject.id for subject in mutants(TASK)))
    return summarize(*score(verdicts(), [expected]), [1, 2], 0)


def test_summaries() -> None:
    first, second = summaries([TASK], {TASK.id: [candidate(0), candidate(1)]}, verdicts())
    assert (first.correct, first.complete, first.killed, first.outcomes) == (True, False, 1, (0, -1))
    assert (second.correct, second.reason, second.outcomes) == (False, "postcondition_violated", (None, None))


def test_the_terminal_table() -> None:
    out = io.StringIO()
    tables.show(rows(), out)
    assert "0.500 [0.50, 0.50]" in out.getvalue()
    assert "0.250" in out.getvalue()  # killed: half of the mutants by one of two candidates


def test_dashes_where_there_is_nothing() -> None:
    empty = summarize([], [Expected("t", "r", "python", "m", "f2p", 1, frozenset())], [1], 0)
    out = io.StringIO()
    tables.show(empty, out)
    assert tables.DASH in out.getvalue()
    assert tables.DASH in tables.markdown(empty)
    tables.show([], out)
    assert json.loads(tables.metrics_json([], [], ["a line"])) == {"rows": [], "generation": [], "said": ["a line"]}


def test_markdown_and_csv_agree() -> None:
    read = list(csv.DictReader(io.StringIO(tables.comma_separated(rows()))))
    assert [float(row["corr"]) for row in read] == [row["corr"] for row in rows()]
    assert tables.markdown(rows()).count("\n") == len(rows()) + 2
