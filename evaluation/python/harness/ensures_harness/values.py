"""Plain values as text: what a program took and gave crosses the border of its process as data, never as code or pickles.

What is not plain (a generator, an object of a class) crosses as the name of its type. The text is the value's identity: 1,
1.0 and True are three values, and sets are written in one order.
"""

import hashlib
import json
import math

MOST_CHARACTERS = 32 << 20


class Opaque:
    """Stands for a value that could not cross."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "<%s>" % self.name


def encode(value):
    """JSON text; what is too long or too deep is opaque."""
    try:
        text = json.dumps(_out(value), separators=(",", ":"))
    except (ValueError, RecursionError, MemoryError):
        text = None
    if text is None or len(text) > MOST_CHARACTERS:
        return json.dumps({"o": type(value).__name__})
    return text


def digest(text):
    """Stands for an encoded value that the other side has."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def decode(text):
    return _in(json.loads(text))


def _out(value):
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return value if -(10**18) < value < 10**18 else {"i": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"f": repr(value)}
    if kind is list:
        return [_out(item) for item in value]
    if kind is tuple:
        return {"t": [_out(item) for item in value]}
    if kind is dict:
        return {"d": [[_out(key), _out(item)] for key, item in value.items()]}
    if kind in (set, frozenset):
        return {"s" if kind is set else "z": sorted((_out(item) for item in value), key=json.dumps)}
    if kind is complex:
        return {"c": [repr(value.real), repr(value.imag)]}
    if kind is bytes:
        return {"b": value.hex()}
    if kind is range:
        return {"r": [value.start, value.stop, value.step]}
    return {"o": kind.__name__}


def _in(value):
    if isinstance(value, list):
        return [_in(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, inner),) = value.items()
    if tag == "t":
        return tuple(_in(item) for item in inner)
    if tag == "d":
        return {_in(key): _in(item) for key, item in inner}
    if tag == "s":
        return {_in(item) for item in inner}
    if tag == "z":
        return frozenset(_in(item) for item in inner)
    if tag == "i":
        return int(inner, 16)
    if tag == "f":
        return float(inner)
    if tag == "c":
        return complex(float(inner[0]), float(inner[1]))
    if tag == "b":
        return bytes.fromhex(inner)
    if tag == "r":
        return range(*inner)
    return Opaque(inner)
