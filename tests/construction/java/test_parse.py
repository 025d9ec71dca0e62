"""Java files: methods are found where they stand, with comment, kind and complexity."""

import json
from pathlib import Path

import pytest

from construction.java import parse
from evaluation.java.weave import Unweavable, method

FILE = """
package demo;

/** A class. */
public class Demo {
    /**
     * Counts the words of a text, where a word is {@code whatever} stands between blanks.
     *
     * @param text the text that is counted, which is not part of these words
     */
    @Deprecated
    static int count(String text, int... more) {
        if (text == null || text.isEmpty()) {
            return 0;
        }
        for (String word : text.split(" ")) { }
        return text.equals("a") ? 1 : 2;
    }

    Demo() { }

    // no Javadoc
    int count(String text) {
        class Local { int inner() { return 1; } }
        return new Local().inner();
    }

    enum Kind { A; int weight() { return 1; } }
    interface Shape { default int area() { return 1; } int bare(); }
}
"""


def test_methods_where_they_stand() -> None:
    found = {(m.qualname, m.start_line): m for m in parse.methods(FILE)}
    assert [(name, m.kind) for (name, _), m in found.items()] == [
        ("Demo.count", "static"),
        ("Demo.Demo", "constructor"),
        ("Demo.count", "instance"),
        ("Demo.count.Local.inner", "local"),
        ("Demo.Kind.weight", "enum"),
        ("Demo.Shape.area", "interface"),
    ]
    first = parse.find(FILE, "Demo.count")
    assert first is not None
    assert FILE.split("\n")[first.start_line - 1].strip() == "/**"
    assert first.implementation.rstrip().endswith("}")
    assert first.signature == "@Deprecated\n    static int count(String text, int... more)"
    assert first.parameters == ("String", "int")
    assert first.complexity == 5  # one, if, ||, for, ?:
    assert first.comment_words == 14  # neither tags nor parameters
    second = parse.find(FILE, "Demo.count", list(found)[2][1])
    assert second is not None
    assert second.comment == ""


@pytest.mark.parametrize(("name", "count"), [("specgenbench_programs.jsonl", 120), ("autorespecbench72.jsonl", 72)])
def test_every_published_program_is_parsed_and_its_methods_located(shared_data: Path, name: str, count: int) -> None:
    records = [json.loads(line) for line in (shared_data / name).read_text(encoding="utf-8").splitlines()]
    assert len(records) == count
    for record in records:
        given = record["java"] if isinstance(record["java"], list) else [record["java"]]
        for text in given:
            located(text, record["name"])


def located(text: str, name: str) -> None:
    methods = list(parse.methods(text))
    assert methods, name
    for found in methods:
        lines = text.split("\n")[found.start_line - 1 : found.end_line]
        assert "\n".join(lines) == found.implementation
        try:
            method(found.implementation)
        except Unweavable as error:
            assert "assigns its own parameters" in str(error), f"{name}, {found.qualname}: {error}"
