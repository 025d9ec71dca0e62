"""What a setting hides is not in its prompt: marked strings are planted and looked for."""

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from construction import parse
from ensures.task import Language, Repository, Setting, Task
from inference import prompts

MODULE = '''
    """COMMENT module."""
    # COMMENT above
    LIMIT = 3  # COMMENT trailing


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
            return BODY_OTHER


    def one_line(): return BODY_ONE


    def only_comment():
        """DOC COMMENT only."""
'''


def task() -> tuple[Task, str]:
    text = textwrap.dedent(MODULE).lstrip()
    method = parse.find(text, "Box.target")
    assert method is not None
    made = Task(
        "t",
        Language.PYTHON,
        Repository("r", "0"),
        "m.py",
        method.qualname,
        method.start_line,
        method.end_line,
        method.signature,
        method.comment,
        method.implementation,
        ("t",),
    )
    return made, text


def test_c2p_shows_code_alone() -> None:
    made, text = task()
    prompt = prompts.build(made, Setting.C2P, text).text
    assert "COMMENT" not in prompt
    assert "DOC" not in prompt
    assert all(marked in prompt for marked in ("BODY_TARGET", "BODY_OTHER", "BODY_ONE", "LIMIT = 3"))


def test_n2p_shows_no_body() -> None:
    made, text = task()
    prompt = prompts.build(made, Setting.N2P, text).text
    assert "BODY" not in prompt
    assert "DOC of the target." in prompt
    assert "COMMENT above" in prompt
    assert prompt.count("def target(self, value, flag=True):") == 2


def test_f2p_shows_all() -> None:
    made, text = task()
    prompt = prompts.build(made, Setting.F2P, text).text
    assert all(marked in prompt for marked in ("BODY_TARGET", "DOC of the target.", "COMMENT behind"))


def test_headings_and_guideline() -> None:
    made, text = task()
    prompt = prompts.build(made, Setting.F2P, text).text
    order = [prompt.index(part) for part in ("# Code Context", "# Target Method", "# Guideline", "icontract")]
    assert order == sorted(order)
    assert "`Box.target`" in prompt


identifiers = st.from_regex(r"[a-z]{3,8}", fullmatch=True)


@given(st.lists(identifiers, min_size=1, max_size=4), st.integers(0, 3))
def test_nothing_leaks(names: list[str], shape: int) -> None:
    functions = []
    for index, name in enumerate(names):
        decorated = "@staticmethod\n" if shape == 1 else ""
        comment = [f'"""SECRETDOC{index}"""', f"# SECRETDOC{index}", f"'SECRETDOC{index}'", f'r"""SECRETDOC{index}"""'][shape]
        functions.append(f"{decorated}def {name}_{index}(a):\n    {comment}\n    x = 'SECRETBODY{index}'\n    return x")
    source = "\n\n\n".join(functions) + "\n"
    assert "SECRETDOC" not in prompts.without_comments(source)
    assert "SECRETBODY" in prompts.without_comments(source)
    assert "SECRETBODY" not in prompts.without_bodies(source)
    compile(prompts.without_comments(source), "m", "exec")
    compile(prompts.without_bodies(source), "m", "exec")
