"""The static gate: is this condition plainly pure, so that it may share an execution with others?

A positive list over the syntax tree. What is not on it (an unknown call, an import, dunder access, a walrus, anything
that could change its arguments, consume time or look around) is not wrong: its candidate runs in an execution of its own.
Names are taken at their word: a module that rebinds `len` defeats the list, and is caught by the comparison of traces.
"""

import ast
from functools import lru_cache

from ensures.candidate import Clauses

_BUILTINS = frozenset(
    [
        "abs",
        "all",
        "any",
        "ascii",
        "bin",
        "bool",
        "bytes",
        "callable",
        "chr",
        "complex",
        "dict",
        "divmod",
        "enumerate",
        "float",
        "format",
        "frozenset",
        "hash",
        "hex",
        "int",
        "isinstance",
        "issubclass",
        "len",
        "list",
        "max",
        "min",
        "oct",
        "ord",
        "pow",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "slice",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
        "hasattr",
        "getattr",
    ]
)
_READERS = frozenset(
    # str and bytes
    "capitalize casefold center count decode encode endswith expandtabs find format index isalnum isalpha isascii isdecimal "
    "isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip partition "
    "removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip "
    "swapcase title translate upper zfill "
    # containers
    "copy get items keys values difference intersection isdisjoint issubset issuperset symmetric_difference union "
    "most_common elements total "
    # numbers
    "is_integer bit_length conjugate as_integer_ratio hex".split()
)
_MODULES = {
    "math": None,  # all of it
    "operator": frozenset(
        ["eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "and_", "or_", "not_", "contains", "truth"]
    ),
    "re": frozenset(["match", "fullmatch", "search", "findall", "escape"]),
    "copy": frozenset(["copy", "deepcopy"]),
    "collections": frozenset(["Counter", "OrderedDict"]),
    "os.path": frozenset(["basename", "dirname", "join", "isabs", "normpath", "split", "splitext"]),
}
_MODULES_FUNCTIONS = frozenset(["Counter", "deepcopy"])


@lru_cache(4096)  # each candidate is asked about once a subject
def plainly_pure(clauses: Clauses) -> bool:
    """True if every decorator of the set may share an execution."""
    if any(not line.strip().startswith(("import icontract", "from icontract")) for line in clauses.preamble):
        return False
    return all(_decorator_is_pure(text) for text in clauses.snapshots + clauses.ensures)


# What runs an iterator dry. Equality, identity, isinstance and attributes do not.
_CONSUMERS = frozenset(
    "all any bytes dict enumerate frozenset list max min set sorted sum tuple zip reversed len next iter".split()
)


@lru_cache(4096)
def may_consume(clauses: Clauses) -> bool:
    """True if a condition or snapshot could take elements out of an iterator that it is given."""
    for text in clauses.snapshots + clauses.ensures:
        for node in ast.walk(ast.parse(text.strip().removeprefix("@").strip(), mode="eval")):
            if isinstance(node, (ast.comprehension, ast.In, ast.NotIn, ast.Starred)):
                return True
            if isinstance(node, ast.Call):
                function = node.func
                if isinstance(function, ast.Name) and function.id in _CONSUMERS:
                    return True
                if isinstance(function, ast.Attribute) and function.attr != "ensure" and function.attr != "snapshot":
                    return True
    return False


def _decorator_is_pure(text: str) -> bool:
    try:
        call = ast.parse(text.strip().removeprefix("@").strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if not isinstance(call, ast.Call):
        return False
    try:
        for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
            if isinstance(argument, ast.Lambda):
                if argument.args.defaults or argument.args.kw_defaults:
                    return False
                if not _pure(argument.body):
                    return False
            elif not isinstance(argument, ast.Constant):
                return False
    except RecursionError:
        return False
    return not any(keyword.arg in ("error", "enabled", "a_repr", None) for keyword in call.keywords)


_HARMLESS_DUNDERS = ("__name__", "__qualname__", "__class__")


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _HARMLESS_DUNDERS


_FORBIDDEN = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def _pure(node: ast.AST) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, _FORBIDDEN):
            return False
        if isinstance(inner, ast.Attribute) and _is_dunder(inner.attr):
            return False
        if isinstance(inner, ast.Name) and inner.id.startswith("__"):
            return False
        if isinstance(inner, ast.Call) and not _pure_call(inner):
            return False
    return True


def _pure_call(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        if function.id == "getattr" and not _plain_attribute(call):
            return False
        if function.id == "type" and len(call.args) != 1:
            return False
        return function.id in _BUILTINS or function.id in _MODULES_FUNCTIONS
    if isinstance(function, ast.Attribute):
        module = ast.unparse(function.value)
        if module in _MODULES:
            allowed = _MODULES[module]
            return allowed is None or function.attr in allowed
        return function.attr in _READERS
    return False


def _plain_attribute(call: ast.Call) -> bool:
    if len(call.args) < 2 or not isinstance(call.args[1], ast.Constant):
        return False
    name = call.args[1].value
    return isinstance(name, str) and not name.startswith("__")
