"""The project that the semantic cases are about, and what must come out of each, worked out by hand."""

MODULE = '''
    import functools


    def plain(values, extra=1):
        """Doubles."""
        return [value * 2 for value in values]


    def recursive(n):
        return 1 if n <= 0 else n * recursive(n - 1)


    def fails(n):
        if n < 0:
            raise ValueError("negative")
        return n


    def guarded(n):
        try:
            return inner(n)
        except AssertionError:
            return -1


    def inner(n):
        return n


    def outer_decorator(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)

        return wrapper


    @outer_decorator
    def decorated(n):
        return n + 1


    @functools.lru_cache(maxsize=None)
    def cached(n):
        return n + 1


    def keyword_only(a, *, b=2, **rest):
        return a + b + len(rest)


    def generator(n):
        for i in range(n):
            yield i


    def mutates(values, item):
        values.append(item)
        return None


    AT_IMPORT = None


    def at_import(n):
        return n + 1


    AT_IMPORT = at_import(1)


    def make_closure(step):
        def closure(n):
            return n + step

        return closure


    class Base:
        def method(self, n):
            return n + 1

        def __private(self):
            return 7


    class Child(Base):
        def __init__(self, start=0):
            self.value = start
            self.__hidden = 3

        def method(self, n):
            self.value += 1
            return super().method(n) + 1

        def inherited_user(self):
            return self.method(1)

        @staticmethod
        def static(n):
            return n + 1

        @classmethod
        def klass(cls, n):
            return cls.__name__ + str(n)

        @property
        def prop(self):
            return self.value * 2

        class Nested:
            def method(self, n):
                return n - 1
'''

TESTS = """
    import threading

    import pytest

    import demo
    from demo import Child, decorated as other_name, plain


    def test_plain():
        assert plain([1, 2]) == [2, 4]


    def test_plain_empty():
        assert plain([]) == []


    def test_recursive():
        assert demo.recursive(4) == 24


    def test_fails():
        assert demo.fails(1) == 1
        with pytest.raises(ValueError):
            demo.fails(-1)


    def test_guarded():
        demo.guarded(3)


    def test_decorated():
        assert other_name(1) == 2


    def test_cached():
        assert demo.cached(1) == 2
        assert demo.cached(1) == 2


    def test_keyword_only():
        assert demo.keyword_only(1, b=3, c=4) == 5
        assert demo.keyword_only(1) == 3


    def test_generator():
        assert list(demo.generator(3)) == [0, 1, 2]


    def test_mutates():
        values = [1]
        demo.mutates(values, 2)
        assert values == [1, 2]


    def test_at_import():
        assert demo.AT_IMPORT == 2


    def test_closure():
        assert demo.make_closure(2)(1) == 3
        assert demo.make_closure(3)(1) == 4


    def test_method():
        assert Child().method(1) == 3


    def test_inherited():
        assert Child().inherited_user() == 3


    def test_static():
        assert Child.static(1) == 2


    def test_class():
        assert Child.klass(1) == "Child1"


    def test_property():
        assert Child(2).prop == 4


    def test_nested():
        assert Child.Nested().method(3) == 2


    def test_thread():
        seen = []
        thread = threading.Thread(target=lambda: seen.append(plain([3])))
        thread.start()
        thread.join()
        assert seen == [[6]]
"""


# (method, tests, clauses, outcome, reason): what must come out, worked out by hand from icontract's rules
CASES = [
    ("plain", ("plain", "plain_empty"), "@icontract.ensure(lambda result: isinstance(result, list))", 1, "passed"),
    ("plain", ("plain",), "@icontract.ensure(lambda result, values: result == values)", 0, "postcondition_violated"),
    ("plain", ("plain",), "@icontract.ensure(lambda result: 0)", 0, "postcondition_violated"),
    ("plain", ("plain",), "@icontract.ensure(lambda result: None)", 0, "postcondition_violated"),
    ("plain", ("plain",), "@icontract.ensure(lambda result: unknown_name)", -1, "condition_raised"),
    ("plain", ("plain",), "@icontract.ensure(lambda nothing: True)", -1, "condition_raised"),
    # raises on one test, is false on the other: violated wins whatever the order
    ("plain", ("plain_empty", "plain"), "@icontract.ensure(lambda result: result[0] != 2)", 0, "postcondition_violated"),
    ("plain", ("plain", "plain_empty"), "@icontract.ensure(lambda result: result[0] != 2)", 0, "postcondition_violated"),
    ("plain", ("plain", "plain_empty"), "@icontract.ensure(lambda result: result[0] == 2)", -1, "condition_raised"),
    ("plain", ("plain",), "@icontract.ensure(lambda extra, _ARGS, _KWARGS: extra == 1 and len(_ARGS) == 1)", 1, "passed"),
    ("plain", ("thread",), "@icontract.ensure(lambda result: result == [7])", 0, "postcondition_violated"),
    # inside a call of the subject, the subject runs bare: only the outermost call is checked
    ("recursive", ("recursive",), "@icontract.ensure(lambda n, result: n == 4 and result == 24)", 1, "passed"),
    # the end of a bare call lifts icontract's guard: what the condition calls is checked, down to n == 0
    (
        "recursive",
        ("recursive",),
        "@icontract.ensure(lambda n, result: result == n * recursive(n - 1))",
        0,
        "postcondition_violated",
    ),
    # no check where the body raises
    ("fails", ("fails",), "@icontract.ensure(lambda n, result: result == n and n >= 0)", 1, "passed"),
    # the message can't be built: violated all the same
    (
        "plain",
        ("plain",),
        "@icontract.ensure(lambda result: (lambda seen: seen.append(1) or len(seen) > 9)([]))",
        0,
        "postcondition_violated",
    ),
    ("decorated", ("decorated",), "@icontract.ensure(lambda n, result: result == n + 1)", 1, "passed"),
    ("decorated", ("decorated",), "@icontract.ensure(lambda n, result: result == n)", 0, "postcondition_violated"),
    ("cached", ("cached",), "@icontract.ensure(lambda n, result: result == n)", 0, "postcondition_violated"),
    ("keyword_only", ("keyword_only",), "@icontract.ensure(lambda a, b, result: result >= a + b)", 1, "passed"),
    ("keyword_only", ("keyword_only",), "@icontract.ensure(lambda c: c == 4)", -1, "condition_raised"),
    ("generator", ("generator",), "@icontract.ensure(lambda result: list(result) == [0, 1, 2])", -1, "test_failed"),
    ("generator", ("generator",), "@icontract.ensure(lambda result: hasattr(result, 'send'))", 1, "passed"),
    # without a copy the snapshot is the object itself
    (
        "mutates",
        ("mutates",),
        "@icontract.snapshot(lambda values: values, name='old')\n@icontract.ensure(lambda OLD, values: OLD.old == values)",
        1,
        "passed",
    ),
    (
        "mutates",
        ("mutates",),
        "@icontract.snapshot(lambda values: values[:])\n@icontract.ensure(lambda OLD, values: OLD.values == values)",
        0,
        "postcondition_violated",
    ),
    (
        "mutates",
        ("mutates",),
        "@icontract.ensure(lambda OLD, values: OLD.values)",
        -1,
        "condition_raised",
    ),
    (
        "mutates",
        ("mutates",),
        "@icontract.ensure(lambda OLD: True)\n@icontract.snapshot(lambda values: values)",
        -1,
        "compile_error",
    ),
    ("make_closure.<locals>.closure", ("closure",), "@icontract.ensure(lambda n, result: result > n)", 1, "passed"),
    (
        "make_closure.<locals>.closure",
        ("closure",),
        "@icontract.ensure(lambda n, result: result == n + 2)",
        0,
        "postcondition_violated",
    ),
    ("Child.method", ("method", "inherited"), "@icontract.ensure(lambda self, n, result: result == n + 2)", 1, "passed"),
    (
        "Child.method",
        ("method",),
        "@icontract.snapshot(lambda self: self.value, name='v')\n@icontract.ensure(lambda self, OLD: self.value == OLD.v + 1)",
        1,
        "passed",
    ),
    # private names are mangled as in the class
    ("Child.method", ("method",), "@icontract.ensure(lambda self: self.__hidden == 3)", 1, "passed"),
    ("Child.static", ("static",), "@icontract.ensure(lambda n, result: result == n)", 0, "postcondition_violated"),
    ("Child.klass", ("class",), "@icontract.ensure(lambda cls, result: result.startswith(cls.__name__))", 1, "passed"),
    ("Child.prop", ("property",), "@icontract.ensure(lambda self, result: result == self.value)", 0, "postcondition_violated"),
    ("Child.Nested.method", ("nested",), "@icontract.ensure(lambda n, result: result < n)", 1, "passed"),
    ("Base.method", ("method",), "@icontract.ensure(lambda self: type(self).__name__ == 'Child')", 1, "passed"),
    ("plain", ("plain",), "@ensure(lambda result: True)", -1, "compile_error"),
    ("plain", ("plain",), "from icontract import ensure\n@ensure(lambda result: True)", 1, "passed"),
    ("plain", ("plain",), "@icontract.ensure(lambda result: True, enabled=False)", -1, "compile_error"),
    ("plain", ("plain",), "@icontract.ensure(lambda result: False, error=KeyError)", 0, "postcondition_violated"),
    # order of evaluation is from the bottom up: the raise comes first, and violates nothing
    (
        "plain",
        ("plain",),
        "@icontract.ensure(lambda result: False)\n@icontract.ensure(lambda result: 1 / 0)",
        -1,
        "condition_raised",
    ),
]
