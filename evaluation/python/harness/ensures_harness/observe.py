"""Descriptions of values, for the invariant miner: what a call was given, what it gave back, and what it changed."""

SCALARS = (bool, int, float, str, bytes, type(None))


class Observer:
    def __init__(self, report):
        self.report = report
        self._arguments = []

    def before(self, site, args, kwargs):
        from icontract._checkers import kwargs_from_call

        resolved = kwargs_from_call(site.names, site.defaults, args, kwargs)
        arguments = {name: value for name, value in resolved.items() if name not in ("_ARGS", "_KWARGS")}
        self._arguments.append((arguments, {name: describe(value) for name, value in arguments.items()}))

    def after(self, test, number, result):
        arguments, pre = self._arguments.pop()
        post = {name: describe(value) for name, value in arguments.items()}
        same = [name for name, value in arguments.items() if value is result]
        self.report(
            {"e": "seen", "test": test, "n": number, "pre": pre, "post": post, "result": describe(result), "same": same}
        )


def describe(value, depth=0):
    """A small JSON picture of a value: its type, its size, itself where it is small, its attributes one level down."""
    kind = type(value)
    picture = {"type": kind.__name__, "module": kind.__module__}
    try:
        if kind in SCALARS:
            if kind in (str, bytes):
                picture["size"] = len(value)
            if kind is not bytes and (kind is not str or len(value) <= 40):
                picture["value"] = value if kind is not float or value == value and abs(value) != float("inf") else str(value)
        elif kind in (list, tuple, set, frozenset, dict, range):
            picture["size"] = len(value)
            if depth == 0:
                inner = list(value)[:20]
                picture["items"] = sorted({type(item).__name__ for item in inner})
        elif hasattr(kind, "__len__"):
            picture["size"] = len(value)
        if depth == 0 and kind not in SCALARS:
            names = [name for name in sorted(getattr(value, "__dict__", None) or ()) if isinstance(name, str)]
            if names and not isinstance(value, type) and kind.__name__ not in ("function", "module"):
                picture["attributes"] = {n: describe(value.__dict__[n], 1) for n in names[:16] if n.isidentifier()}
    except Exception:
        pass  # a value that can't be looked at is described by its type alone
    return picture
