"""Hostile JML comes to what it should, harms no neighbour, leaves nothing behind, and the worker goes on."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ensures.subject import mutants, original
from ensures.task import Task
from ensures.verdict import Outcome, Reason
from evaluation.java.session import JmlChecker, JmlSession
from tests import java_projects
from tests.containers import engines
from tests.hostile.java_corpus import PIECES, Piece

TARGET = """
package demo;

import java.util.ArrayList;
import java.util.List;

public class Target {
    static int created = 1;
    int total = 0;
    final List<Integer> values = new ArrayList<>(List.of(3, 1, 2));

    /** Adds a number to the total. */
    public int add(int n) {
        total += n;
        return total;
    }
}
"""
TEST = """
package demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import org.junit.jupiter.api.Test;

class TargetTest {
    private final Target target = new Target();

    @Test void adds() {
        assertEquals(2, target.add(2));
        assertEquals(5, target.add(3));
        assertEquals("[3, 1, 2]", target.values.toString());
    }
    @Test void again() { assertEquals(7, new Target().add(7)); assertEquals(1, Target.created); }
}
"""
NEIGHBOURS = {
    "//@ ensures \\result == \\old(total) + n;": (Reason.PASSED, Reason.POSTCONDITION_VIOLATED),
    "//@ ensures \\result == n;": (Reason.POSTCONDITION_VIOLATED, Reason.POSTCONDITION_VIOLATED),
    "//@ ensures values.get(0) == 3 && total == \\result;": (Reason.PASSED, Reason.TEST_FAILED),
    "//@ ensures values.get(n + 5) == 7;": (Reason.CONDITION_RAISED, Reason.CONDITION_RAISED),
}


@pytest.fixture(scope="module", params=engines.ISOLATING)
def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Task, JmlSession]]:
    folder = java_projects.write(
        tmp_path_factory.mktemp("hostile"),
        {"src/main/java/demo/Target.java": TARGET, "src/test/java/demo/TargetTest.java": TEST},
    )
    task = java_projects.task(
        folder, "src/main/java/demo/Target.java", "Target.add", ("demo.TargetTest#adds", "demo.TargetTest#again")
    )
    task = java_projects.with_mutants(task, task.implementation.replace("total += n", "total -= n"))
    session = JmlChecker(engines.sandbox(request.param), seconds=3.0).prepare(task, java_projects.workspace(folder, task))
    session.survey(task)
    yield folder, task, session
    session.close()


def of_neighbours(task: Task, session: JmlSession, piece: Piece | None) -> list[list[Reason]]:
    submissions = [java_projects.submission(text) for text in NEIGHBOURS]
    if piece is not None:
        submissions.insert(1, java_projects.submission(piece.text))
    return [
        [verdict.reason for (verdict,) in session.check(subject, submissions)] for subject in [original(task), *mutants(task)]
    ]


def test_at_least_forty() -> None:
    assert len(PIECES) >= 40
    assert len({piece.name for piece in PIECES}) == len(PIECES)


@pytest.mark.parametrize("piece", PIECES, ids=[piece.name for piece in PIECES])
def test_a_piece(opened: tuple[Path, Task, JmlSession], piece: Piece) -> None:
    folder, task, session = opened
    expected = [[reasons[at] for reasons in NEIGHBOURS.values()] for at in range(2)]
    found = of_neighbours(task, session, piece)
    assert found[0][1] in piece.reasons, found[0][1]
    assert [[*reasons[:1], *reasons[2:]] for reasons in found] == expected
    if piece.reasons <= {Reason.TAMPERED, Reason.TIMEOUT, Reason.OUT_OF_MEMORY, Reason.CRASHED, Reason.COMPILE_ERROR}:
        verdict = session.alone(original(task), java_projects.submission(piece.text))[0]
        assert verdict.outcome is Outcome.ERROR
        assert verdict.status not in ("passed", "jml_fail")
    assert of_neighbours(task, session, None) == expected
    assert not list(folder.rglob("pwned"))
    assert not any("4321" in command for command in _commands())


def _commands() -> Iterator[str]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                yield (Path("/proc") / entry / "cmdline").read_text(errors="replace").replace("\0", " ")
            except OSError:
                continue
