"""Other results in place of the real one: would a candidate notice?"""


class Nothing:
    """A value of no type that any specification names."""


def others(value):
    """A few values near to `value` and far from it, never equal to it."""
    kind = type(value)
    near = []
    if kind is bool:
        near = [not value]
    elif kind in (int, float, complex):
        near = [value + 1, -value - 1]
    elif kind is str:
        near = [value + "x", "" if value else "y"]
    elif kind is bytes:
        near = [value + b"x", b"" if value else b"y"]
    elif kind is list:
        near = [[*value, Nothing()], [] if value else [None]]
    elif kind is tuple:
        near = [(*value, Nothing()), () if value else (None,)]
    elif kind in (set, frozenset):
        near = [kind([*value, Nothing()]), kind() if value else kind([None])]
    elif kind is dict:
        near = [dict(value, ensures=Nothing()), {} if value else {None: None}]
    return [*near, Nothing(), None if value is not None else 0]
