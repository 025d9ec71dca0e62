"""What a setting hides is not in its prompt: marked strings are planted and looked for. Long files shrink from outside in."""

import asyncio
import itertools
import json
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construction import parse
from ensures.errors import InputError
from ensures.task import PROMPTED, Language, Repository, Setting, Task
from inference import prompts
from inference.engine import Prompt
from inference.fit import fitted, runs
from inference.prompts import ALONE, Ladder, PromptConfig
from inference.source import java, python

MODULE = '''
    """COMMENT module."""
    # COMMENT above
    LIMIT = 3  # COMMENT trailing


    def far_above(a):
        """DOC of far_above."""
        found = a + a
        return found + BODY_FAR_ABOVE


    class Box:
        """COMMENT class."""

        "COMMENT lone"

        def target(self, value, flag=True):
            """DOC of the target."""
            # COMMENT inside
            total = value + BODY_TARGET  # COMMENT behind
            "COMMENT lone inside"
            return total

        def other(self):
            """DOC of other."""
            found = self.target(1) + 1
            return found + BODY_OTHER


    def one_line(): return BODY_ONE + BODY_ONE


    def only_comment():
        """DOC COMMENT only."""
        "COMMENT and nothing else"
'''
JAVA = """
    package a.b; // COMMENT package

    /** COMMENT class */
    public class Box {
        /* COMMENT field */ private int size = 3; // COMMENT trailing
        private final Runnable task = () -> { BODY_LAMBDA(); };
        static { BODY_STATIC(); }

        /** DOC of farAbove */
        public int farAbove() { return BODY_FAR_ABOVE; }

        /**
         * DOC of the target.
         */
        @Override
        public int target(String value) throws Exception {
            // COMMENT inside
            int total = value.length() + BODY_TARGET; /* COMMENT behind */
            String text = "// no comment";
            return total;
        }

        Box() { BODY_CONSTRUCTOR(); }

        interface Part { default int part() { return BODY_PART; } }
    }
"""


def python_task() -> tuple[Task, str]:
    text = textwrap.dedent(MODULE).lstrip()
    method = parse.find(text, "Box.target")
    assert method is not None
    lines = (method.start_line, method.end_line)
    where = ("t", Language.PYTHON, Repository("r", "0"), "m.py", method.qualname, *lines)
    return Task(*where, method.signature, method.comment, method.implementation, ("t",)), text


def java_task() -> tuple[Task, str]:
    text = textwrap.dedent(JAVA).lstrip()
    lines = text.split("\n")
    start = next(index for index, line in enumerate(lines) if line.strip() == "/**") + 1
    end = next(index for index, line in enumerate(lines) if "return total" in line) + 2
    where = ("t", Language.JAVA, Repository("r", "0"), "Box.java", "target", start, end)
    signature = "public int target(String value) throws Exception"
    return Task(*where, signature, "DOC of the target.", "\n".join(lines[start - 1 : end]), ("t",)), text


def prompt(made: tuple[Task, str], setting: Setting, **config: object) -> str:
    dialect = "jml" if made[0].language is Language.JAVA else "icontract"
    return Ladder(*made[:1], setting, made[1], PromptConfig(**config), dialect)[0].text  # type: ignore[arg-type]


BOTH = pytest.mark.parametrize("made", [python_task(), java_task()], ids=["python", "java"])


@BOTH
def test_c2p_shows_code_alone(made: tuple[Task, str]) -> None:
    text = prompt(made, Setting.C2P)
    assert "COMMENT" not in text
    assert "DOC" not in text
    assert all(marked in text for marked in ("BODY_TARGET", "BODY_FAR_ABOVE"))


@BOTH
def test_n2p_shows_no_body(made: tuple[Task, str]) -> None:
    text = prompt(made, Setting.N2P)
    assert "BODY" not in text
    assert "DOC of the target." in text
    assert "COMMENT trailing" in text
    signature = "def target(self, value, flag=True):" if made[0].language is Language.PYTHON else made[0].signature
    assert text.count(signature) == 2


@BOTH
def test_f2p_shows_all(made: tuple[Task, str]) -> None:
    text = prompt(made, Setting.F2P)
    assert all(marked in text for marked in ("BODY_TARGET", "DOC of the target.", "COMMENT behind", "BODY_FAR_ABOVE"))


@BOTH
def test_headings_and_guideline(made: tuple[Task, str]) -> None:
    text = prompt(made, Setting.F2P)
    language = "icontract" if made[0].language is Language.PYTHON else "JML"
    order = [text.index(part) for part in ("# Code Context", "# Target Method", "# Guideline", f"{language} format")]
    assert order == sorted(order)
    assert f"`{made[0].qualname}`" in text
    assert text.rstrip().endswith("no explanation.")


@BOTH
def test_settings_share_what_they_can(made: tuple[Task, str]) -> None:
    texts = [prompt(made, setting) for setting in PROMPTED]
    assert len(set(texts)) == 3
    assert all(text.startswith("# Code Context\n```") for text in texts)


@BOTH
def test_guidance_is_a_block_more(made: tuple[Task, str]) -> None:
    plain, guided = prompt(made, Setting.F2P), prompt(made, Setting.F2P, guidance=True)
    assert "## Grammar of" not in plain
    assert "## Grammar of" in guided
    assert plain.splitlines()[-1] == guided.splitlines()[-1]


def test_a_template_of_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "icontract").mkdir()
    (tmp_path / "icontract" / "mine.jinja").write_text("MINE {{ name }} {{ target_method }}")
    text = prompt(python_task(), Setting.F2P, template="mine", path=str(tmp_path))
    assert text.startswith("MINE Box.target")
    prompts.check(PromptConfig("mine", path=str(tmp_path)))
    with pytest.raises(InputError, match=r"prompt\.template=mine is not known; choose one of paper"):
        prompts.check(PromptConfig("mine"))
    with pytest.raises(InputError, match=r"prompt\.path=.* is not a folder"):
        prompts.check(PromptConfig(path=str(tmp_path / "none")))


def test_the_published_java_method(shared_data: Path) -> None:
    record = json.loads((shared_data / "postcondbench" / "TheAlgorithms--Java--floor.json").read_text())
    content = record["content"]
    assert "Returns the largest" not in java.method_without_comments(content)
    assert "number - (int) number" in java.method_without_comments(content)
    shown = java.signature_and_comment(content, "Returns the largest")
    assert "number - (int)" not in shown
    assert "public static double floor(double number);" in shown
    assert "Returns the largest" in shown


# Planted marks

names = st.from_regex(r"[a-z]{3,8}", fullmatch=True)
PYTHON_COMMENTS = (
    '"""SECRETDOC"""',
    "# SECRETDOC",
    "'SECRETDOC'",
    'r"""SECRETDOC"""',
    'f"SECRETDOC {1}"',
    '"SECRETDOC" "more"',
    "x = 1  # SECRETDOC",
    "x = 1; 'SECRETDOC'",
    "if True:\n        'SECRETDOC'",
    "x = [  # SECRETDOC\n        1,\n        # SECRETDOC\n    ]",
    "def inner():\n        '''SECRETDOC'''",
    "class Inner:\n        # SECRETDOC\n        '''SECRETDOC'''\n        y = 2",
)
PYTHON_HEADS = (
    "def {0}(a):",
    "async def {0}(a=3):",
    "@staticmethod\ndef {0}(*, a):  # SECRETDOC",
    "def {0}(\n    a,  # SECRETDOC\n):",
)


@given(st.lists(st.tuples(names, st.sampled_from(PYTHON_HEADS), st.sampled_from(PYTHON_COMMENTS)), min_size=1, max_size=4))
def test_nothing_leaks_in_python(parts: list[tuple[str, str, str]]) -> None:
    functions = [f"{head.format(name)}\n    {comment}\n    x = 'SECRETBODY'\n    return x" for name, head, comment in parts]
    source = "\n\n\n".join(["'''SECRETDOC'''", *functions, "# SECRETDOC"]) + "\n"
    compile(source, "m", "exec")
    silent, bare = python.without_comments(source), python.without_bodies(source)
    assert "SECRETDOC" not in silent
    assert silent.count("SECRETBODY") == len(parts)
    assert "SECRETBODY" not in bare
    names_of = [function.name for function in python.functions(source)]
    assert names_of == [name for name, _, _ in parts]
    assert [function.name for function in python.functions(silent)] == names_of
    assert [function.name for function in python.functions(bare)] == names_of
    compile(silent, "m", "exec")
    compile(bare, "m", "exec")
    for function in functions:
        assert "SECRETDOC" not in python.method_without_comments(textwrap.indent(function, "    "))
        assert "SECRETBODY" not in python.signature_and_comment(textwrap.indent(function, "    "), "a comment")


JAVA_COMMENTS = (
    "// SECRETDOC\n",
    "/* SECRETDOC */",
    "/** SECRETDOC\n * SECRETDOC */",
    "int y = 1; // SECRETDOC\n",
    "f(1, /* SECRETDOC */ 2);",
)
JAVA_HEADS = (
    "int {0}(int a)",
    "<T extends Comparable<T>> T {0}(T a)",
    "@Deprecated static void {0}(int... a) throws Exception",
)
JAVA_BODIES = (
    'String x = "SECRETBODY"; return x;',
    "Runnable r = () -> { SECRETBODY(); };",
    "new Object() { void g() { SECRETBODY(); } };",
    "class Local { int SECRETBODY() { return 1; } }",
    'String t = """\n  // SECRETBODY\n  """;',
)


@given(
    st.lists(
        st.tuples(names, st.sampled_from(JAVA_HEADS), st.sampled_from(JAVA_COMMENTS), st.sampled_from(JAVA_BODIES)),
        min_size=1,
        max_size=4,
    )
)
def test_nothing_leaks_in_java(parts: list[tuple[str, str, str, str]]) -> None:
    methods = [f"{head.format(name)} {{ {comment} {body} }}" for name, head, comment, body in parts]
    source = "/* SECRETDOC */ class A { // SECRETDOC\n" + "\n".join(f"/** SECRETDOC */ {m}" for m in methods) + "\n}\n"
    silent, bare = java.without_comments(source), java.without_bodies(source)
    assert "SECRETDOC" not in silent
    assert silent.count("SECRETBODY") == len(parts)
    assert "SECRETBODY" not in bare
    names_of = [function.name for function in java.functions(source)]
    assert names_of == [f"A.{name}" for name, _, _, _ in parts]
    for text in (silent, bare):
        assert [function.name for function in java.functions(text)] == names_of
        assert not java._parse(text.encode()).has_error, text
    for method in methods:
        assert "SECRETDOC" not in java.method_without_comments(method)
        assert "SECRETBODY" not in java.signature_and_comment(method, "a comment")


# Long files


@BOTH
def test_a_ladder_shrinks_from_the_outside_in(made: tuple[Task, str]) -> None:
    dialect = "jml" if made[0].language is Language.JAVA else "icontract"
    ladder = Ladder(made[0], Setting.F2P, made[1], PromptConfig(), dialect)
    rungs = list(ladder)
    assert rungs[0].left_out == ()
    assert rungs[-1].left_out == (ALONE,)
    lengths = [len(rung.text) for rung in rungs]
    assert lengths == sorted(lengths, reverse=True)
    others = (len(rungs) - 2) // 2
    assert [len(rung.left_out) for rung in rungs[:-1]] == [*range(others + 1), *([others] * others)]
    assert all("BODY_TARGET" in rung.text for rung in rungs)
    far = "Box.farAbove" if made[0].language is Language.JAVA else "far_above"
    first_without_bodies = rungs[others]
    assert f"body of {far}" in first_without_bodies.left_out
    assert "BODY_FAR_ABOVE" not in first_without_bodies.text
    assert "DOC of " + far.rpartition(".")[2] in first_without_bodies.text
    assert far.rpartition(".")[2] not in rungs[-2].text


@BOTH
@pytest.mark.parametrize("setting", PROMPTED)
def test_every_rung_keeps_what_the_setting_hides(made: tuple[Task, str], setting: Setting) -> None:
    dialect = "jml" if made[0].language is Language.JAVA else "icontract"
    for rung in Ladder(made[0], setting, made[1], PromptConfig(), dialect):
        assert setting is not Setting.C2P or ("COMMENT" not in rung.text and "DOC" not in rung.text)
        assert setting is not Setting.N2P or "BODY" not in rung.text


async def _fitted(limit: int) -> str | None:
    task, text = python_task()
    ladder = Ladder(task, Setting.F2P, text, PromptConfig(), "icontract")

    async def excess(prompt: Prompt) -> int:
        return len(prompt.text) - limit

    found = await fitted(ladder, excess)
    return found.text if found else None


def test_the_longest_that_fits_is_taken() -> None:
    task, text = python_task()
    lengths = [len(rung.text) for rung in Ladder(task, Setting.F2P, text, PromptConfig(), "icontract")]
    for limit in range(min(lengths), max(lengths) + 10, 7):
        found = asyncio.run(_fitted(limit))
        assert found is not None
        assert len(found) == max(length for length in lengths if length <= limit)
    assert asyncio.run(_fitted(min(lengths) - 1)) is None


@settings(max_examples=50)
@given(st.sets(st.integers(0, 20)))
def test_consecutive_samples_are_one_request(samples: set[int]) -> None:
    found = runs(sorted(samples))
    assert sorted(sample for first, n in found for sample in range(first, first + n)) == sorted(samples)
    assert all(b[0] > a[0] + a[1] for a, b in itertools.pairwise(found))
