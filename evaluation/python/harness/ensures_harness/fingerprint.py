"""Fingerprints of calls, for the differential oracle: what a postcondition could see of one call, as a digest.

A mutant and the original run in executions of their own that begin alike. As long as call after call begins and ends alike
(arguments and self before; result or exception, and what is left of the arguments, after), nothing that a postcondition
sees has told them apart. A value that can't be looked through (a generator, a file, a lock, a very large graph) has no
fingerprint, and counts as different from everything, so that nothing observable is ever called unobservable.
"""

import collections
import hashlib
import types

MOST = 20000  # values in one call
_NAMED = (type, types.ModuleType, types.BuiltinFunctionType)
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, type(Ellipsis), type(NotImplemented))


class Opaque(Exception):
    """A value that can't be looked through."""


class Recorder:
    """Stands between the pass and the body. `calls`: for each call its test and its two fingerprints, None where opaque.

    `expected`: test -> the original's fingerprints. `told_apart` is called once a call of such a test is not as the
    original's: nothing that follows makes them alike again.
    """

    def __init__(self, test_now, expected):
        self.test_now, self.expected = test_now, expected
        self.told_apart = lambda: None
        self.calls = []
        self._numbers = collections.Counter()

    def call(self, body, args, kwargs):
        entry = [self.test_now(), fingerprint((args, kwargs)), None]
        number = self._numbers[entry[0]]
        self._numbers[entry[0]] += 1
        self.calls.append(entry)
        self._compare(entry, number, 1)
        try:
            result = body(*args, **kwargs)
        except BaseException as error:
            entry[2] = fingerprint(("raised", type(error), error.args, args, kwargs))
            self._compare(entry, number, 2)
            raise
        entry[2] = fingerprint(("returned", result, args, kwargs))
        self._compare(entry, number, 2)
        return result

    def _compare(self, entry, number, part):
        known = self.expected.get(entry[0])
        if known is not None and (number >= len(known) or entry[part] is None or entry[part] != known[number][part - 1]):
            self.told_apart()


def fingerprint(value):
    """16 hexadecimal digits; None where the value holds something opaque."""
    try:
        walk = Walk()
        walk.see(value)
        return walk.digest.hexdigest()[:16]
    except Exception:
        return None


class Walk:
    """Depth first through a graph of values. What was met before is named by when: aliasing is part of the picture."""

    def __init__(self):
        self.digest = hashlib.sha256()
        self.met = {}
        self.kept = []

    def say(self, *words):
        self.digest.update(repr(words).encode("utf-8", "surrogatepass"))

    def see(self, value):
        kind = type(value)
        if kind in _PLAIN:
            self.say(kind.__name__, value)
            return
        if isinstance(value, _NAMED):
            self.say("named", getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__))
            if getattr(value, "__self__", None) is not None and not isinstance(value.__self__, types.ModuleType):
                self.see(value.__self__)
            return
        if id(value) in self.met:
            self.say("met", self.met[id(value)])
            return
        self.met[id(value)] = len(self.met)
        self.kept.append(value)
        if len(self.met) > MOST:
            raise Opaque(kind)
        self.say(kind.__module__, kind.__qualname__)
        if isinstance(value, types.FunctionType):
            self.function(value)
        elif isinstance(value, types.MethodType):
            self.many((value.__func__, value.__self__))
        elif kind in (list, tuple):
            self.many(value)
        elif kind is dict:
            self.many(part for item in value.items() for part in item)
        elif kind in (set, frozenset):
            self.many(sorted(fingerprint_or_raise(item) for item in value))
        elif isinstance(value, types.CodeType):
            self.many((value.co_code, value.co_names, value.co_varnames, value.co_consts))
        elif isinstance(value, types.CellType):
            self.see(value.cell_contents)
        elif hasattr(kind, "__next__"):
            raise Opaque(kind)
        else:
            self.thing(value)

    def many(self, values):
        count = 0
        for value in values:
            self.see(value)
            count += 1
        self.say("end", count)

    def function(self, value):
        self.many((value.__code__, value.__defaults__, value.__kwdefaults__, value.__closure__, value.__dict__))

    def thing(self, value):
        """As pickle would take it apart."""
        parts = value.__reduce_ex__(2)
        if isinstance(parts, str):
            self.say("global", parts)
            return
        make, arguments, state, items, pairs = (tuple(parts) + (None,) * 5)[:5]
        self.see(make)
        self.see(arguments)
        self.see(state)
        self.many(items or ())
        self.many(part for pair in pairs or () for part in pair)


def fingerprint_or_raise(value):
    found = fingerprint(value)
    if found is None:
        raise Opaque(type(value))
    return found
