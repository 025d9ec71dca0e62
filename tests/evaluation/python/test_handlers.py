"""Who would keep an exception from the test's report, told from the text: never surer than what happens when it is raised."""

import linecache
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluation.python.harness.ensures_harness import frames

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="code objects have exception tables from Python 3.11 on")

HEAD = '''
import contextlib
import io
import warnings
from unittest import mock


class Plain:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        if error[0] is None:
            return False


class Keeps(Plain):
    def __exit__(self, *error):
        return True


class Doubtful(Plain):
    def __exit__(self, *error):
        return error[0] is ValueError


class Other(Plain):
    """Its instances are something else."""

    def __new__(cls):
        return Keeps()


@contextlib.contextmanager
def managed():
    yield 1


@contextlib.contextmanager
def cleaned():
    try:
        yield 1
    finally:
        str()


@contextlib.contextmanager
def keeping():
    try:
        yield 1
    except AssertionError:
        pass


@contextlib.contextmanager
def unlike():
    try:
        yield 1
    except KeyError:
        pass


def generator(leaf):
    try:
        leaf()
        yield 1
    finally:
        str()


Thing, table = type("Thing", (), {"a": 1}), {}
'''

# text around BODY -> may one be sure? (None: no matter, as long as it is true)
AROUND = {
    "BODY": True,
    "for number in range(2):\n    BODY": True,
    "try:\n    BODY\nfinally:\n    str()": True,
    "try:\n    str()\nfinally:\n    BODY": None,
    "try:\n    BODY\nfinally:\n    return 1": False,
    "while True:\n    try:\n        BODY\n    finally:\n        break": False,
    "try:\n    BODY\nexcept ValueError:\n    pass": True,
    "try:\n    BODY\nexcept (KeyError, ValueError):\n    pass\nelse:\n    str()": True,
    "try:\n    BODY\nexcept AssertionError:\n    pass": False,
    "try:\n    BODY\nexcept (KeyError, Exception) as error:\n    str(error)": False,
    "try:\n    BODY\nexcept:\n    pass": False,
    "try:\n    BODY\nexcept:\n    str()\n    raise": True,
    "try:\n    BODY\nexcept BaseException as error:\n    raise RuntimeError('x') from None": False,
    "try:\n    BODY\nexcept BaseException as error:\n    raise RuntimeError('x') from error": True,
    "try:\n    BODY\nexcept BaseException as error:\n    raise RuntimeError('x')": True,
    "try:\n    BODY\nexcept AssertionError:\n    if table is None:\n        raise": False,
    "try:\n    BODY\nexcept AssertionError:\n    for _ in 1, 2:\n        break\n    raise": None,
    "try:\n    raise KeyError\nexcept KeyError:\n    BODY\nexcept AssertionError:\n    pass": True,
    "with Plain():\n    BODY": True,
    "with Plain() as one, Plain() as two:\n    BODY": True,
    "with Plain(), Keeps():\n    BODY": False,
    "with Keeps():\n    BODY": False,
    "with Doubtful():\n    BODY": False,
    "with Other():\n    BODY": False,
    "with open(__file__) as file:\n    BODY": True,
    "with io.open(__file__) as file:\n    BODY": True,
    "with managed():\n    BODY": True,
    "with cleaned():\n    BODY": True,
    "with keeping():\n    BODY": False,
    "with unlike():\n    BODY": None,
    "with contextlib.suppress(AssertionError):\n    BODY": False,
    "with warnings.catch_warnings():\n    BODY": True,
    "with mock.patch.object(Thing, 'a', 2):\n    BODY": True,
    "with mock.patch.dict(table, b=1):\n    BODY": True,
    "local = Keeps\nwith local():\n    BODY": False,
    "local = ValueError\ntry:\n    BODY\nexcept local:\n    pass": False,
    "def inner():\n    BODY\ntry:\n    inner()\nfinally:\n    str()": True,
    "def inner():\n    BODY\ntry:\n    inner()\nexcept AssertionError:\n    pass": False,
    "for _ in generator(leaf):\n    BODY": True,
    "[leaf() for _ in (1,)]\nBODY": True,
}


class Violation(AssertionError): ...


class World:
    """One test function, in a file of its own."""

    def __init__(self, path: Path, body: str) -> None:
        path.write_text(HEAD + "\n\ndef test_it(leaf):\n" + textwrap.indent(body, "    ") + "\n")
        linecache.checkcache(str(path))
        names: dict[str, Any] = {"__file__": str(path), "__name__": path.stem}
        exec(compile(path.read_text(), str(path), "exec"), names)
        self.test = names["test_it"]

    def sure(self) -> bool:
        """At the first call of `leaf`, which is then left by another way than any of those here."""
        said: list[bool] = []

        class Enough(BaseException): ...

        def leaf() -> None:
            if not said:
                frame = sys._getframe(1)
                said.append(frames.surely_surfaces(frame, self.test.__code__, Violation, lambda code: False))
            raise Enough

        try:
            self.test(leaf)
        except BaseException:
            pass
        return said[0]

    def surfaces(self) -> bool:
        """Is it what the first call of `leaf` makes the test raise, or shown behind that?"""
        error, raised = Violation(), []

        def leaf() -> None:
            if not raised:
                raised.append(True)
                raise error

        found: BaseException | None = None
        try:
            self.test(leaf)
        except BaseException as reported:
            found = reported
        while found is not None and found is not error:
            found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
        return found is error


def put(template: str, body: str) -> str:
    """The body in the template's place for it, at its margin."""
    lines = []
    for line in template.split("\n"):
        margin = line[: len(line) - len(line.lstrip())]
        lines.append(textwrap.indent(body, margin) if line.strip() == "BODY" else line)
    return "\n".join(lines)


@pytest.mark.parametrize(("template", "sure"), AROUND.items())
def test_one_statement(tmp_path: Path, template: str, sure: bool | None) -> None:
    world = World(tmp_path / "one.py", put(template, "leaf()"))
    found = world.sure()
    assert sure is None or found is sure
    if found:
        assert world.surfaces()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(list(AROUND)), min_size=2, max_size=5))
def test_nested(tmp_path: Path, templates: list[str]) -> None:
    body = "leaf()"
    for template in templates:
        body = put(template, body)
    world = World(tmp_path / "nested.py", body)
    if world.sure():
        assert world.surfaces(), body


def test_text_that_is_not_what_runs(tmp_path: Path) -> None:
    world = World(tmp_path / "altered.py", "try:\n    leaf()\nfinally:\n    str()")
    said: list[bool] = []

    def leaf() -> None:
        frame = sys._getframe(1)
        said.append(frames.surely_surfaces(frame, world.test.__code__, Violation, lambda code: code is world.test.__code__))

    world.test(leaf)
    assert said == [False]
