"""A candidate's contracts: icontract's own objects, made by running its decorators in the subject's own scope."""

import inspect
import linecache
import types
import zlib


class Icontract:
    """icontract's own functions, taken before any candidate could exchange them."""

    def __init__(self):
        import icontract._checkers as checkers

        self.no_invalid_kwargs = checkers._assert_no_invalid_kwargs
        self.kwargs_from_call = checkers.kwargs_from_call
        self.kwargs_valid = checkers._assert_resolved_kwargs_valid
        self.capture_old = checkers._capture_old
        self.old = checkers.Old
        self.select_condition_kwargs = checkers.select_condition_kwargs
        self.not_check = checkers.not_check
        self.violation_error = checkers._create_violation_error
        self.resolve_kwdefaults = checkers.resolve_kwdefaults


class Contracts:
    """What a candidate puts around a body. Keys name what a condition or snapshot does: where two candidates that are
    plainly pure have the same key, one evaluation serves both."""

    def __init__(self, checker):
        self.snapshots = getattr(checker, "__postcondition_snapshots__", [])
        self.postconditions = getattr(checker, "__postconditions__", [])
        if not self.postconditions:
            raise ValueError("no postcondition is enabled")
        self.waiting = {contract for contract in self.postconditions if inspect.iscoroutinefunction(contract.condition)}
        self.snapshot_keys = [key_of(snapshot.capture) for snapshot in self.snapshots]
        old = tuple((snapshot.name, key) for snapshot, key in zip(self.snapshots, self.snapshot_keys))
        self.keys = [key_of(c.condition, old if "OLD" in c.condition_arg_set else ()) for c in self.postconditions]


def prepare(candidate, body):
    """Its contracts; or a record of why there are none."""
    try:
        return Contracts(decorated(candidate, body))
    except BaseException as error:
        kind = "syntax_error" if isinstance(error, SyntaxError) else "compile_error"
        return {"reason": kind, "message": say(error)}


_numbers = {}


def key_of(function, more=()):
    """The same number for functions that do the same; None where that can't be told."""
    if not isinstance(function, types.FunctionType) or function.__closure__ or function.__defaults__:
        return None
    return _numbers.setdefault((does(function.__code__), more), len(_numbers))


def does(code):
    """What a code object does, wherever it stands."""
    constants = tuple(does(c) if isinstance(c, types.CodeType) else (type(c).__name__, repr(c)) for c in code.co_consts)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, constants, counts, names


def decorated(candidate, body):
    """icontract's checker around `body`, made by running the candidate's decorators in the subject's own scope."""
    namespace = body.__globals__
    classes = [part for part in body.__qualname__.split(".")[:-1] if part != "<locals>"]
    if "<locals>" in body.__qualname__.split("."):
        classes = []
    lines = []
    for depth, name in enumerate(classes):
        lines.append("    " * depth + "class %s:" % name)
    indent = "    " * len(classes)
    holder = {}

    def take(_):
        return body

    def keep(checker):
        holder["checker"] = checker
        return checker

    lines += [indent + line for line in candidate.preamble]
    lines.append(indent + "@__ensures_keep__")
    lines += [indent + line if line else line for line in _reindent(candidate.text)]
    lines.append(indent + "@__ensures_take__")
    lines.append(indent + "def __ensures_candidate__(): pass")
    text = "\n".join(lines) + "\n"
    filename = "<candidate %08x>" % zlib.crc32(text.encode("utf-8", "surrogatepass"))
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    code = compile(text, filename, "exec", dont_inherit=True)
    import icontract

    added = {"__ensures_keep__": keep, "__ensures_take__": take}
    if "icontract" not in namespace:
        namespace["icontract"] = icontract
    shadowed = {name: namespace[name] for name in classes[:1] if name in namespace}
    namespace.update(added)
    try:
        exec(code, namespace)
    finally:
        for name in list(added) + ["__ensures_candidate__"] + classes[:1]:
            namespace.pop(name, None)
        namespace.update(shadowed)
    return holder["checker"]


def _reindent(text):
    """The decorators' lines. Strings over several lines are safe: they are only ever moved as a whole by exec'ing at the
    method's own depth, so a first line's indentation is taken off all lines."""
    lines = text.splitlines()
    margin = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    return [line[margin:] if line[:margin].strip() == "" else line for line in lines]


def say(error):
    try:
        text = "%s: %s" % (type(error).__name__, error)
    except BaseException:
        text = type(error).__name__
    return text[:2000]
