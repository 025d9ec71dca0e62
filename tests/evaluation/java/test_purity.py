"""The static gate: who may share an execution, who leaves traces, who looked."""

import pytest

from evaluation.java import purity

SHARE = [
    '//@ ensures \\result.getMethod().equals("GET") && getField(3) != null;',  # the project's own
    "//@ ensures \\result == n;",
    "//@ ensures (n <= 0) ==> (\\result < n);",
    "//@ ensures java.util.Arrays.equals(data, \\old(data.clone()));",
    "//@ ensures (\\forall int i; 0 <= i && i < a.length; a[i] >= Math.abs(b));",
    "//@ ensures names.stream().map(String::length).reduce(0, Integer::sum) == \\old(names.size());",
    "//@ ensures this.getName().equals(\\old(getName())) && isEmpty() == (size() == 0);",
    "//@ ensures new java.util.ArrayList<>(items).equals(\\old(new java.util.ArrayList<>(items)));",
    "//@ ensures java.util.Objects.equals(a, b) && Integer.parseInt(text) == n;",
    "/*@ requires n > 0;\n  @ ensures \\result.contains(x);\n  @*/",
]
ALONE = [
    "//@ ensures items.add(n);",
    "//@ ensures items.remove(0) == n;",
    "//@ ensures this.count++ == n;",
    "//@ ensures (this.count = 3) == 3;",
    "//@ ensures (this.count += 3) == 3;",
    "//@ ensures iterator.next() == null;",
    "//@ ensures counter.getAndIncrement() == 1;",
    "//@ ensures ourOwn(n);",
    "//@ ensures items.stream().peek(x -> x.clear()).count() == 1;",
    "//@ ensures java.util.Collections.addAll(items, n);",
    "//@ ensures new Thread(() -> {}) != null;",
]
TRACES = ['//@ ensures System.getProperty("x") == null;', "//@ ensures items.parallelStream().count() == 1;"]
LOOKS = [
    "//@ ensures this.getClass().getMethods().length > 1;",
    '//@ ensures demo.Names.of("ensures.harness.Recorder") == null;',
    "//@ ensures this.getClass().getDeclaredFields().length == 1;",
    "//@ ensures ensures.harness.EnsuresJml.body() == 0;",
    "//@ ensures $ensures_result == 1;",
    "//@ ensures Thread.currentThread().getStackTrace().length > 1;",
]


@pytest.mark.parametrize("text", SHARE)
def test_shares(text: str) -> None:
    assert purity.shares(text)
    assert not purity.looks(text)


@pytest.mark.parametrize("text", ALONE + TRACES)
def test_runs_alone(text: str) -> None:
    assert not purity.shares(text)
    assert not purity.looks(text)


@pytest.mark.parametrize("text", TRACES)
def test_leaves_traces(text: str) -> None:
    assert purity.leaves_traces(text)


@pytest.mark.parametrize("text", LOOKS)
def test_looks(text: str) -> None:
    assert purity.looks(text)


def test_what_java_reads_before_anything_else() -> None:
    assert purity.escapes('//@ ensures "\\u0022".isEmpty();')
    assert not purity.escapes('//@ ensures "\\u00e9".isEmpty();')
