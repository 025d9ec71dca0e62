"""Candidates drawn at random on a method that is called in every way: shared, isolated and cold verdicts are the same."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ensures.subject import mutants, original
from ensures.task import Task
from ensures.verdict import Outcome, published_outcome
from ensures.view import ALL, halves
from evaluation.checker import Submission
from evaluation.java import purity
from evaluation.java.session import JmlSession
from tests import java_projects

WORK = """
package demo;

import java.util.List;

public class Work {
    int seen = 0;

    /** Adds up what is above the limit, and forgets the first. */
    public int[] work(List<Integer> values, int limit) {
        int total = 0;
        for (int value : values) {
            if (value > limit) {
                total += value;
            }
        }
        if (!values.isEmpty()) {
            values.remove(0);
        }
        seen++;
        return new int[] {total, values.size()};
    }
}
"""
TEST = """
package demo;

import static org.junit.jupiter.api.Assertions.*;
import java.util.*;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class WorkTest {
    private static List<Integer> list(Integer... given) { return new ArrayList<>(Arrays.asList(given)); }
    @Test void some() { assertArrayEquals(new int[] {7, 3}, new Work().work(list(1, 2, 3, 4), 2)); }
    @Test void none() { assertArrayEquals(new int[] {0, 0}, new Work().work(list(), 0)); }
    @Test void twice() {
        Work work = new Work();
        work.work(list(5, 6), 1);
        assertEquals(1, work.work(list(5, 6), 1)[1]);
        assertEquals(2, work.seen);
    }
    @Test void swallows() {
        try {
            new Work().work(list(5), 1);
        } catch (Throwable anything) {
            return;
        }
    }
    @Test void swallowsErrorsOnly() {
        try {
            new Work().work(list(8, 8), 9);
        } catch (Error error) {
            return;
        } finally {
            assertTrue(true);
        }
    }
    @Test void inAThread() throws Exception {
        Thread thread = new Thread(() -> new Work().work(list(7), 0));
        thread.setUncaughtExceptionHandler((t, e) -> { });
        thread.start();
        thread.join();
    }
    @Test void inAFuture() {
        CompletableFuture.supplyAsync(() -> new Work().work(list(2, 3), 0)).handle((result, error) -> 1).join();
    }
    @Test void throwing() { assertThrows(NullPointerException.class, () -> new Work().work(list(1, null), 0)); }
}
"""
TESTS = ("some", "none", "twice", "swallows", "swallowsErrorsOnly", "inAThread", "inAFuture", "throwing")
MUTANTS = [
    ("value > limit", "value >= limit"),
    ("total += value", "total -= value"),
    ("seen++;", ""),
    ("remove(0)", "clear()"),
]

terms = st.sampled_from(
    "\\result[0] \\result[1] values.size() limit \\old(values.size()) seen \\old(seen) values.get(0) 0 1 3".split()
)
comparisons = st.tuples(terms, st.sampled_from(["==", "!=", "<", "<=", ">"]), terms).map(" ".join)
conditions = st.one_of(
    comparisons,
    st.tuples(comparisons, comparisons).map(" ==> ".join),
    st.tuples(comparisons, comparisons).map(lambda pair: f"{pair[0]} || {pair[1]}"),
    st.sampled_from(["values.add(1)", "values.removeIf(v -> v > 6) || true", "\\result[0]++ >= 0", "this.seen-- > 0"]),
)
candidates = st.lists(conditions, min_size=1, max_size=3).map(lambda all_: "\n".join(f"//@ ensures {one};" for one in all_))


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Task, JmlSession]]:
    folder = java_projects.write(
        tmp_path_factory.mktemp("work"),
        {"src/main/java/demo/Work.java": WORK, "src/test/java/demo/WorkTest.java": TEST},
    )
    tests = tuple(f"demo.WorkTest#{name}" for name in TESTS)
    task = java_projects.task(folder, "src/main/java/demo/Work.java", "Work.work", tests)
    task = java_projects.with_mutants(task, *(task.implementation.replace(a, b) for a, b in MUTANTS))
    session = java_projects.checker(10.0).prepare(task, java_projects.workspace(folder, task))
    session.survey(task)
    yield task, session
    session.close()


@given(st.lists(candidates, min_size=2, max_size=6), st.booleans())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_shared_and_alone_agree(opened: tuple[Task, JmlSession], texts: list[str], split: bool) -> None:
    task, session = opened
    submissions = [
        Submission(java_projects.clauses(text), halves(str(index)) if split else (ALL,)) for index, text in enumerate(texts)
    ]
    for subject in [original(task), *mutants(task)]:
        together = session.check(subject, submissions)
        for submission, verdicts in zip(submissions, together, strict=True):
            apart = session.alone(subject, submission)
            assert [(v.outcome, v.reason, v.status) for v in verdicts] == [(v.outcome, v.reason, v.status) for v in apart]


CASES = [
    "//@ ensures \\result[0] >= 0;",
    "//@ ensures \\result[1] == \\old(values.size()) - 1;",
    "//@ ensures \\result[1] == \\old(values.size()) - (\\old(values.isEmpty()) ? 0 : 1);",
    "//@ ensures values.get(0) > 0;",
    "//@ ensures seen == 1;",
    "//@ ensures limit != 9;",
    "//@ ensures limit == 0 ==> \\result[0] != 5;",
    "//@ ensures values.add(1);",
]


@pytest.mark.parametrize("text", CASES)
def test_a_fresh_compiler_and_jvm_agree(opened: tuple[Task, JmlSession], text: str) -> None:
    """Under the published rule, which is all that printed words can tell."""
    task, session = opened
    submission = java_projects.submission(text)
    for subject in [original(task), next(iter(mutants(task)))]:
        (verdict,) = session.check(subject, [submission])[0]
        assert session.cold(subject, submission)[0] is published_outcome(verdict.status)


def test_who_swallowed_what(opened: tuple[Task, JmlSession]) -> None:
    """Violated in any case; under the published rule only where a test says so."""
    task, session = opened
    said = {
        "limit != 9": ("postcondition_violated", "passed"),  # caught by the test itself
        "\\result[0] != 7 || \\result[1] != 0": ("postcondition_violated", "passed"),  # lost with its thread
        "\\result[0] != 5 || \\result[1] != 1": ("postcondition_violated", "passed"),  # kept by a future that nobody asks
        "\\result[0] != 0 || limit != 0": ("postcondition_violated", "jml_fail"),
    }
    found = session.check(original(task), [java_projects.submission(f"//@ ensures {text};") for text in said])
    assert {text: (v.reason.value, v.status) for text, (v,) in zip(said, found, strict=True)} == said
    assert found[0][0].outcome is Outcome.VIOLATED
    assert purity.shares("//@ ensures limit != 9;")
    assert not found[0][0].shared  # the stack could not tell
    assert found[3][0].shared


def test_equal_candidates_with_views_of_their_own(opened: tuple[Task, JmlSession]) -> None:
    task, session = opened
    clauses = java_projects.clauses("//@ ensures \\result[0] != 7;")
    submissions = [Submission(clauses, halves(str(salt))) for salt in range(8)]
    together = session.check(original(task), submissions)
    apart = [session.alone(original(task), submission) for submission in submissions]
    assert [[v.reason for v in verdicts] for verdicts in together] == [[v.reason for v in verdicts] for verdicts in apart]
    assert len({tuple(v.reason for v in verdicts) for verdicts in together}) > 1
