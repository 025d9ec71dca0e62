"""Every kind of clause, from its text to what it comes to on a real call."""

from pathlib import Path

import pytest

from containers.choose import AutoConfig, choose
from ensures.subject import original
from ensures.verdict import Outcome, Reason
from evaluation.java.session import JmlChecker
from tests import java_projects

BOX = """
package demo;

import java.util.ArrayList;
import java.util.List;

public class Box<T extends Comparable<T>> {
    enum Color { RED, GREEN }

    static class Inner { int deep = 1; }

    static int created = 7;
    public int count = 5;
    protected List<String> names = new ArrayList<>(List.of("a", "bb", "ccc"));
    private int[] values = {1, 2, 3};
    final Object[] given2 = {"a", 1};
    final Object[] holes = {"a", null};
    T top;
    long big = 1L << 40;
    double ratio = 0.5;
    char letter = 'x';
    boolean flag = false;
    Color color = Color.RED;
    Inner inner = new Inner();
    Box<T> other = this;

    private int secret() { return 42; }

    <S> S same(S given) { return given; }

    static int countOf(List<?> items) { return items.size(); }

    /** Adds. */
    public int add(int n, int[] given, String text, List<String> more, Object any) {
        count += n;
        flag = !flag;
        names.add("new");
        given[0] *= 10;
        return count;
    }
}
"""
TEST = """
package demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import java.util.List;
import org.junit.jupiter.api.Test;

class BoxTest {
    @Test
    void adds() {
        assertEquals(8, new Box<String>().add(3, new int[] {4, 5, 6}, "hello", List.of("x", "y"), null));
    }
}
"""
LETTERS = {
    (Outcome.HOLDS, Reason.PASSED): "T",
    (Outcome.VIOLATED, Reason.POSTCONDITION_VIOLATED): "F",
    (Outcome.ERROR, Reason.CONDITION_RAISED): "X",
    (Outcome.ERROR, Reason.COMPILE_ERROR): "C",
    (Outcome.ERROR, Reason.SYNTAX_ERROR): "S",
    (Outcome.ERROR, Reason.UNSUPPORTED): "U",
}


def clauses() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for line in Path(__file__).with_name("clauses.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            found[-1] = (found[-1][0], f"{found[-1][1]}\n//@ {line[1:]}")
        elif line and not line.startswith("#"):
            found.append((line[0], line[2:]))
    return found


def test_every_kind_of_clause_comes_to_what_it_should(tmp_path: Path) -> None:
    folder = java_projects.write(tmp_path, {"src/main/java/demo/Box.java": BOX, "src/test/java/demo/BoxTest.java": TEST})
    task = java_projects.task(folder, "src/main/java/demo/Box.java", "Box.add", ("demo.BoxTest#adds",))
    session = JmlChecker(choose(AutoConfig(), hostile=False)[0], seconds=20.0).prepare(
        task, java_projects.workspace(folder, task)
    )
    given = clauses()
    assert len(given) > 150
    try:
        submissions = [java_projects.submission(f"//@ ensures {text};") for _, text in given]
        found = session.check(original(task), submissions)
        alone = {
            text: session.alone(original(task), submission)[0]
            for (_, text), submission in list(zip(given, submissions, strict=True))[::9]
        }
    finally:
        session.close()
    wrong = []
    for (letter, text), (verdict,) in zip(given, found, strict=True):
        said = LETTERS.get((verdict.outcome, verdict.reason), verdict.reason)
        if said != letter:
            wrong.append(f"{letter} is {said} ({verdict.message}): {text}")
        if text in alone and (alone[text].outcome, alone[text].reason) != (verdict.outcome, verdict.reason):
            wrong.append(f"alone {alone[text].reason}, together {verdict.reason}: {text}")
    if wrong:
        pytest.fail("\n".join(wrong))
