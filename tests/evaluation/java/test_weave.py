"""Every kind of method can carry candidates: the same verdicts together, alone, and from a fresh compiler and JVM."""

import pytest

from containers.choose import AutoConfig, choose
from ensures.subject import Subject, mutants, original
from ensures.verdict import Outcome
from evaluation.java.session import JmlChecker
from tests import java_projects

SUBJECT = """
package demo;

import java.io.IOException;
import java.util.*;
import java.util.function.*;

public class Kinds<K extends Comparable<K>> extends Base implements Shape {
    private final List<K> items = new ArrayList<>();
    private final int size;
    public final String label;

    /** Chained. */
    public Kinds(int size) {
        this(size, "none");
    }

    /** A constructor with an early return. */
    public Kinds(int size, String label) {
        super(label.length());
        this.label = label;
        if (size > 10) {
            this.size = 10;
            return;
        }
        this.size = size;
    }

    public int getSize() { return size; }

    /** An instance method that gives nothing. */
    public void put(K item) {
        items.add(item);
    }

    /** A generic static method with a variable number of arguments. */
    @SafeVarargs
    public static <T extends Comparable<? super T>> T largest(final T... given) {
        T best = given[0];
        for (T each : given) { if (each.compareTo(best) > 0) { best = each; } }
        return best;
    }

    /** Overloaded. */
    public int twice(int n) { return n * 2; }

    /** Overloaded. */
    public String twice(String n) { return n + n; }

    /** Declares a checked exception. */
    public synchronized int parse(String text) throws IOException {
        if (text.isEmpty()) { throw new IOException("empty"); }
        return Integer.parseInt(text);
    }

    /** Recursive. */
    public static long factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }

    /** Overrides. */
    @Override
    public int describe(int n) { return super.describe(n) + 1; }

    /** An array, in the old way. */
    public int dims()[] { return new int[] {1, 2}; }

    public static class Nested {
        private int hidden = 3;
        /** Nested. */
        public int reveal(int more) { return hidden + more; }
    }

    public class Inner {
        int factor = 2;
        /** Inner. */
        public int times(int n) { return n * factor + size; }
    }

    /** Holds a local class. */
    public int local(int n) {
        class Adder {
            int add(int m) { return n + m; }
        }
        return new Adder().add(1);
    }
}

class Base {
    final int base;
    Base(int base) { this.base = base; }
    public int describe(int n) { return n + base; }
}

interface Shape {
    /** A default method. */
    default double area(double side) { return side * side; }
}

enum Level {
    LOW(1), HIGH(5);
    private final int weight;
    Level(int weight) { this.weight = weight; }
    /** Of an enum. */
    int over(int other) { return weight - other; }
}

record Pair(int left, int right) {
    /** Of a record. */
    int sum() { return left + right; }
}
"""
TEST = """
package demo;

import static org.junit.Assert.*;
import org.junit.Test;

public class KindsTest {
    @Test public void constructor() {
        assertEquals(4, new Kinds<String>(4, "abc").getSize());
        assertEquals(10, new Kinds<String>(40, "").getSize());
        assertEquals("none", new Kinds<String>(4).label);
    }
    @Test public void put() { new Kinds<String>(1).put("x"); }
    @Test public void largest() { assertEquals("c", Kinds.largest("a", "c", "b")); assertEquals(3, (int) Kinds.largest(3)); }
    @Test public void twice() {
        assertEquals(4, new Kinds<String>(1).twice(2));
        assertEquals("aa", new Kinds<String>(1).twice("a"));
    }
    @Test public void parse() throws Exception {
        assertEquals(12, new Kinds<String>(1).parse("12"));
        assertThrows(java.io.IOException.class, () -> new Kinds<String>(1).parse(""));
    }
    @Test public void factorial() { assertEquals(120, Kinds.factorial(5)); }
    @Test public void describe() { assertEquals(7, new Kinds<String>(1, "ab").describe(4)); }
    @Test public void dims() { assertEquals(2, new Kinds<String>(1).dims().length); }
    @Test public void nested() { assertEquals(5, new Kinds.Nested().reveal(2)); }
    @Test public void inner() { assertEquals(7, new Kinds<String>(1).new Inner().times(3)); }
    @Test public void local() { assertEquals(3, new Kinds<String>(1).local(2)); }
    @Test public void area() { assertEquals(9.0, new Kinds<String>(1).area(3), 0); }
    @Test public void level() { assertEquals(3, Level.HIGH.over(2)); }
    @Test public void pair() { assertEquals(3, new Pair(1, 2).sum()); }
}
"""
# method, line among overloaded ones, test, a clause that holds, one that is false, what is replaced in the mutant, by what,
# and does the first clause notice
CASES = [
    ("Kinds.Kinds:2", "constructor", r"this.size == Math.min(\old(size), 10) && this.label == label", "this.size > 5",
     "this.size = 10;", "this.size = 11;"),
    ("Kinds.Kinds:1", "constructor", "this.size == size", "this.size != size", None, None),
    ("Kinds.put", "put", r"items.size() == \old(items.size()) + 1", r"items.size() == \old(items.size())",
     "items.add(item);", ";"),
    ("Kinds.largest", "largest", r"java.util.Arrays.asList(given).contains(\result) && \result.compareTo(given[0]) >= 0 && "
     r"(\forall int i; 0 <= i && i < given.length; \result.compareTo(given[i]) >= 0)", r"\result == given[0]", "> 0", "< 0"),
    ("Kinds.twice:1", "twice", r"\result == n + n", r"\result == n", "* 2", "* 3"),
    ("Kinds.twice:2", "twice", r"\result.length() == 2 * n.length()", r"\result.isEmpty()", "n + n", "n + n + n"),
    ("Kinds.parse", "parse", r'\result == Integer.parseInt(text)', r"\result < 0", "Integer.parseInt(text)", "0"),
    ("Kinds.factorial", "factorial", r"n <= 1 ? \result == 1 : \result == n * factorial(n - 1)", r"\result > 1", "n *", "n +"),
    ("Kinds.describe", "describe", r"\result == n + base + 1", r"\result == n", "+ 1", "- 1"),
    ("Kinds.dims", "dims", r"\result.length == 2 && \result[0] < \result[1]", r"\result.length == 0", "{1, 2}", "{1}"),
    ("Kinds.Nested.reveal", "nested", r"\result == hidden + more", r"\result == more", "hidden +", "hidden -"),
    ("Kinds.Inner.times", "inner", r"\result == n * factor + size", r"\result == n", "+ size", "- size"),
    ("Kinds.local.Adder.add", "local", r"\result == n + m", r"\result == m", "n + m", "n - m"),
    ("Shape.area", "area", r"\result >= 0 && \result == side * side", r"\result == side", "side * side", "side + side"),
    ("Level.over", "level", r"\result == weight - other && this == HIGH", r"this == LOW", "- other", "+ other"),
    ("Pair.sum", "pair", r"\result == left + right", r"\result == left()", "+ right", "- right"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "test", "holds", "fails", "this", "that"), CASES, ids=[case[0] for case in CASES])
def test_a_method_of_each_kind(
    tmp_path_factory: pytest.TempPathFactory, name: str, test: str, holds: str, fails: str, this: str | None, that: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "kinds"
    if not folder.exists():
        folder.mkdir()
        java_projects.write(folder, {"src/main/java/demo/Kinds.java": SUBJECT, "src/test/java/demo/KindsTest.java": TEST})
    name, _, which = name.partition(":")
    task = java_projects.task(
        folder, "src/main/java/demo/Kinds.java", name, (f"demo.KindsTest#{test}",), which=int(which or 1) - 1
    )
    if this is not None:
        assert this in task.implementation
        task = java_projects.with_mutants(task, task.implementation.replace(this, that))
    session = JmlChecker(choose(AutoConfig(), hostile=False)[0], seconds=20.0).prepare(
        task, java_projects.workspace(folder, task)
    )
    texts = [f"//@ ensures {holds};", f"//@ ensures {fails};", f"//@ requires false;\n//@ ensures {fails};"]
    submissions = [java_projects.submission(text) for text in texts]
    expected: list[tuple[Subject, list[Outcome]]] = [
        (original(task), [Outcome.HOLDS, Outcome.VIOLATED, Outcome.ERROR])  # the last one is never asked
    ]
    expected += [(mutant, [Outcome.VIOLATED]) for mutant in mutants(task)]
    try:
        for subject, outcomes in expected:
            found = [verdict.outcome for (verdict,) in session.check(subject, submissions)]
            assert found[: len(outcomes)] == outcomes, (subject.id, found)
            for submission, outcome in list(zip(submissions, outcomes, strict=False))[:2]:
                assert session.alone(subject, submission)[0].outcome is outcome
                assert session.cold(subject, submission)[0] is outcome
    finally:
        session.close()
