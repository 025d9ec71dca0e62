"""The differential oracle: does a mutant differ from the original in anything that a postcondition could see?

Call by call: the mutant runs on the test's own arguments, the original on a copy of them made before. They are compared by
result, exception, and what is left of the arguments (self is one of them). What can't be copied or compared counts as
different, so that nothing observable is ever called unobservable.
"""

import copy
import types

_ATOMS = (type(None), bool, int, str, bytes, complex, type, range, types.FunctionType, types.BuiltinFunctionType)
_ATOMS += (types.MethodType, types.ModuleType, type(Ellipsis), type(NotImplemented))


class Oracle:
    """`original`: the body to compare with. `differs` once any call told the two apart."""

    def __init__(self, original):
        self.original = original
        self.differs = False
        self.inner = None  # while one of the two runs: which of them its recursive calls go to

    def call(self, body, args, kwargs):
        if self.inner is not None:
            return self.inner(*args, **kwargs)
        if self.differs:
            return body(*args, **kwargs)
        try:
            other_args, other_kwargs = copy.deepcopy((args, kwargs))
        except Exception:
            self.differs = True
            return body(*args, **kwargs)
        try:
            result, error = self.outcome(body, args, kwargs)
            expected, expected_error = self.outcome(self.original, other_args, other_kwargs)
            same = Same()
            self.differs = not (
                same(type(error), type(expected_error))
                and same(error.args if error else None, expected_error.args if expected_error else None)
                and same((result, args, kwargs), (expected, other_args, other_kwargs))
            )
        except Exception:
            self.differs = True
        if error is not None:
            raise error
        return result

    def outcome(self, body, args, kwargs):
        self.inner = body
        try:
            return body(*args, **kwargs), None
        except BaseException as error:
            return None, error
        finally:
            self.inner = None


class Same:
    """Are two object graphs the same in shape, types and values? Aliasing must correspond: a -> b, always."""

    def __init__(self):
        self.pairs = {}
        self.kept = []

    def __call__(self, one, other):
        if type(one) is not type(other):
            return False
        if isinstance(one, _ATOMS):
            return one is other or (type(one) in (bool, int, str, bytes, complex, range) and one == other)
        if isinstance(one, float):
            return one == other or (one != one and other != other)
        known = self.pairs.get(id(one))
        if known is not None:
            return known is other
        self.pairs[id(one)] = other
        self.kept.append(one)
        kind = type(one)
        if isinstance(one, (list, tuple)):
            return len(one) == len(other) and all(map(self, one, other)) and self.attributes(one, other)
        if isinstance(one, dict):
            return (
                len(one) == len(other)
                and all(self(mine, theirs) and self(one[mine], other[theirs]) for mine, theirs in zip(one, other))
                and self.attributes(one, other)
            )
        if isinstance(one, (set, frozenset)):
            return one == other
        if hasattr(one, "__dict__") or hasattr(kind, "__slots__"):
            return self.attributes(one, other)
        if kind.__eq__ is not object.__eq__:
            return bool(one == other)
        return False  # a thing without state that could be looked at: a generator, a file, a lock

    def attributes(self, one, other):
        if not self(getattr(one, "__dict__", None), getattr(other, "__dict__", None)):
            return False
        for base in type(one).__mro__:
            slots = base.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name in ("__dict__", "__weakref__"):
                    continue
                if name.startswith("__") and not name.endswith("__"):
                    name = "_%s%s" % (base.__name__.lstrip("_"), name)
                nothing = object
                mine, theirs = getattr(one, name, nothing), getattr(other, name, nothing)
                if not self(mine, theirs):
                    return False
        return True
