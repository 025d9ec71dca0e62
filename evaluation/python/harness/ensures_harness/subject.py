"""Puts the subject in the original's place, and the hook around its body.

The function object that the package made is kept, and its code is exchanged: every reference to it (imported under
another name, decorated, cached, bound) sees the change, exactly as if the file had been written that way. A clone of the
function holds the body; the object itself calls the hook. Where that would not be exact the module is imported afresh
with the subject's text and a decorator around it (`Loader`).
"""

import ast
import functools
import gc
import importlib.machinery
import types
import warnings

HOOK_NAME = "__ensures_hook__"


class NotExact(Exception):
    """Exchanging the code would differ from a fresh import."""


def functions_at(path, name, line):
    """All function objects that were made from the definition at that line of the file."""
    found = []
    for thing in gc.get_objects():
        if type(thing) is types.FunctionType:
            code = thing.__code__
            if code.co_firstlineno == line and code.co_name == name and code.co_filename == path:
                found.append(thing)
    return found


def body_code(text, path, name, line):
    """The code of the function that the module's text defines at that line."""
    matches = []

    def walk(code):
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                if constant.co_name == name and constant.co_firstlineno == line:
                    matches.append(constant)
                walk(constant)

    walk(compile(text, path, "exec", dont_inherit=True))
    if len(matches) != 1:
        raise NotExact("%d functions named %s begin at line %d" % (len(matches), name, line))
    return matches[0]


def text_with(text, span, implementation):
    """A module's text with another implementation in the method's place, which is from its first to its last line."""
    lines, (first, last) = text.split("\n"), span
    return "\n".join([*lines[: first - 1], implementation.rstrip("\n"), *lines[last:]])


def codes_in(code):
    """A code object and all that it holds."""
    found, pending = set(), [code]
    while pending:
        one = pending.pop()
        found.add(one)
        pending += [constant for constant in one.co_consts if isinstance(constant, types.CodeType)]
    return found


def alone(text, line, qualname, prefix=""):
    """A module's text that holds nothing but the function, in its place: its line, its classes. None where it can't be.

    `prefix` stands on the first line. The compiler treats names that the module imports in a way of its own.
    """
    classes = qualname.split(".")[:-1]
    first = text.split("\n", 1)[0]
    margin = len(first) - len(first.lstrip(" "))
    before = line - 1 - len(classes)
    if "<locals>" in classes or margin < len(classes) or before < bool(prefix) or (margin and not classes):
        return None
    nest = "".join("%sclass %s:\n" % (" " * depth, part) for depth, part in enumerate(classes))
    return prefix + "\n" * before + nest + text + "\n"


def prefix_alone(text, path, name, line, function):
    """With what prefix the function's own text compiles to the code that the import made; None where it does not."""
    for find in (lambda: "", lambda: imports_of(path)):
        prefix = find()
        whole = alone(text, line, function.__qualname__, prefix)
        try:
            if whole is not None and same_code(body_code(whole, path, name, line), function.__code__):
                return prefix
        except (NotExact, SyntaxError, ValueError):
            pass
    return None


def imports_of(path):
    """The imports at a module's top, on one line."""
    with open(path, encoding="utf-8") as file:
        pending, found = [ast.parse(file.read())], []
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)) and getattr(node, "module", "") != "__future__":
            found.append(ast.unparse(node))
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending += ast.iter_child_nodes(node)
    return "; ".join(line for line in found if "*" not in line)


def same_code(one, other):
    """True if two code objects do the same; where they come from aside."""
    if not isinstance(one, types.CodeType) or not isinstance(other, types.CodeType):
        return type(one) is type(other) and one == other
    names = "co_code co_names co_varnames co_freevars co_cellvars co_flags co_argcount co_posonlyargcount co_kwonlyargcount"
    if any(getattr(one, name) != getattr(other, name) for name in [*names.split(), "co_firstlineno", "co_name"]):
        return False
    return len(one.co_consts) == len(other.co_consts) and all(map(same_code, one.co_consts, other.co_consts))


def clone(function, code):
    """The same function with other code, as an object of its own."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    if any(name not in cells for name in code.co_freevars):
        raise NotExact("the subject closes over other variables")
    closure = tuple(cells[name] for name in code.co_freevars)
    body = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    body.__kwdefaults__ = dict(function.__kwdefaults__) if function.__kwdefaults__ else None
    body.__qualname__ = function.__qualname__
    body.__module__ = function.__module__
    body.__doc__ = function.__doc__
    body.__annotations__ = dict(function.__annotations__)
    body.__dict__.update(function.__dict__)
    return body


def redirect(function, target):
    """From now on calls of `function` are calls of `target(args, kwargs)`. Its identity stays.

    As under icontract's own wrapper, `__wrapped__` leads to the body, so that signatures are found.
    """
    call = calling(function.__code__.co_freevars)
    constants = tuple(target if constant == "target" else constant for constant in call.co_consts)
    function.__defaults__ = None
    function.__kwdefaults__ = None
    function.__code__ = call.replace(co_consts=constants, co_name=function.__name__)


@functools.cache
def calling(free):
    """The code of a function with these free variables that calls the constant 'target'."""
    lines = [
        "def outer(%s):" % ", ".join(free),
        "    def call(*args, **kwargs):",
        "        return 'target'(args, kwargs)",
    ]
    if free:
        lines.append("        " + "; ".join(free))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outer = next(c for c in compile("\n".join(lines), "<ensures>", "exec").co_consts if hasattr(c, "co_code"))
    return next(c for c in outer.co_consts if hasattr(c, "co_code"))


class Loader:
    """Makes the import system take `text` for the module at `path`, with the hook as the innermost decorator."""

    def __init__(self, path, text, name, line):
        self.path, self.text, self.name, self.line = path, text, name, line
        self.found = 0

    def install(self):
        plain = importlib.machinery.SourceFileLoader.get_code
        patched = self

        def get_code(loader, fullname):
            if loader.path == patched.path:
                return patched.code()
            return plain(loader, fullname)

        importlib.machinery.SourceFileLoader.get_code = get_code

    def code(self):
        tree = ast.parse(self.text, self.path)
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == self.name:
                first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
                if first == self.line:
                    node.decorator_list.append(ast.copy_location(ast.Name(id=HOOK_NAME, ctx=ast.Load()), node))
                    self.found += 1
        return compile(tree, self.path, "exec", dont_inherit=True)
