"""Which methods stand alone, as one would say by reading them."""

import textwrap
from dataclasses import replace

import pytest

from construction.dependence import needs
from ensures.task import Language
from tests.analysis import synthetic

PYTHON = {
    "def f(x):\n    return sorted(set(x))[-1]": ((), "import os\n"),
    "def f(x):\n    return os.path.join(x, 'a')": ((), "import os\n"),
    "def f(x: Optional[int]) -> int:\n    return (x or 0) + f(None)": ((), "from typing import Optional\n"),
    "def f(x):\n    return requests.get(x)": (("requests",), "import requests\n"),
    "def f(x):\n    return helper(x)": (("helper",), "from .tools import helper\n"),
    "def f(x):\n    return LIMIT + x": (("LIMIT",), "LIMIT = 3\n"),
    "def f(self, x):\n    self.x = x\n    return self.go()": (("self.go", "self.x"), ""),
    "@staticmethod\ndef f(x):\n    return {i: j for i, j in x}": ((), ""),
    "def f(x):\n    import json\n    return json.loads(x)": ((), ""),
    "def f(x):\n    from numpy import array\n    return array(x)": (("array",), ""),
    "def f(x):\n    def g(y):\n        return x + y + Z\n    return g": (("Z",), "Z = 1\n"),
    "def f(self):\n    return super().f()": (("super()",), ""),
    "def f(x):\n    open = x\n    return lambda y: open + y": ((), ""),
}
JAVA = {
    "static int f(int a) { return Math.max(a, 0) + f(a - 1); }": ((), ""),
    "static List<String> f(String... a) { List<String> b = new ArrayList<>(); for (String s : a) { b.add(s); } return b; }": (
        (),
        "import java.util.List;\nimport java.util.ArrayList;\nclass C {}",
    ),
    "static List<Integer> f() { return null; }": (("List",), "import org.other.List;\nclass C {}"),
    "int f() { return size; }": (("size",), "class C { int size; }"),
    "int f() { return this.size(); }": (("this",), "class C {}"),
    "static int f(int a) { return help(a); }": (("help()",), "class C {}"),
    "static <T> T f(T a, Function<T, T> g) { return g.apply(a); }": ((), "import java.util.function.*;\nclass C {}"),
    "static int f(Other o) { return o.x; }": (("Other",), "class C {} class Other { int x; }"),
    "static int f(int[] a) { return Arrays.stream(a).map(x -> x + 1).sum(); }": ((), "import java.util.Arrays;\nclass C {}"),
    "static int f() { return Other.make(); }": (("Other",), "class C {}"),
}


@pytest.mark.parametrize("method", PYTHON)
def test_python(method: str) -> None:
    expected, file = PYTHON[method]
    assert needs(replace(synthetic.tasks(1, (1, 1))[0], implementation=method, language=Language.PYTHON), file) == expected
    indented = textwrap.indent(method, "    ")
    assert needs(replace(synthetic.tasks(1, (1, 1))[0], implementation=indented, language=Language.PYTHON), file) == expected


@pytest.mark.parametrize("method", JAVA)
def test_java(method: str) -> None:
    expected, file = JAVA[method]
    assert needs(replace(synthetic.tasks(1, (1, 1))[0], implementation=method, language=Language.JAVA), file) == expected


def test_without_the_file_names_of_modules_are_taken_for_modules() -> None:
    task = replace(synthetic.tasks(1, (1, 1))[0], language=Language.PYTHON)
    assert needs(replace(task, implementation="def f(x):\n    return os.sep + x"), None) == ()
    assert needs(replace(task, implementation="def f(x):\n    return helper(x)"), None) == ("helper",)
    assert needs(replace(task, implementation="def f(:\n"), None) == ("(not readable)",)
