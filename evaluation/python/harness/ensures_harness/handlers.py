"""What the statements around a line do with an exception that is raised there, told from the function's text.

`try` and `with` let it through, keep it, or raise another in its place, which has it as its context. What can't be told
for certain counts as keeping it.
"""

import ast
import builtins
import contextlib
import dis
import inspect
import io
import linecache
import sys
import textwrap
import tokenize
import types
from collections import namedtuple

# `local`: names that are not looked up in `globals`
Place = namedtuple("Place", "code line globals local")
UNKNOWN = object()
MOST_LINES = 3000  # of a function; longer ones are not read
LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await)
UNREADABLE = (OSError, SyntaxError, ValueError, IndexError, RecursionError, tokenize.TokenError)
NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def place_of(frame):
    code = frame.f_code
    local = _local(code)
    if not code.co_flags & inspect.CO_OPTIMIZED and frame.f_locals is not frame.f_globals:  # a class body
        local |= set(code.co_names)
    return Place(code, frame.f_lineno, frame.f_globals, local)


def _local(code):
    return {*code.co_varnames, *code.co_cellvars, *code.co_freevars}


def lets_through(place, error, other):
    """(does everything around the place let the exception through?, may another stand for it by now?)

    `error()` makes the exception. `other`: may it be another one already, of whatever type?
    """
    try:
        around = statements_around(place.code, place.line)
    except UNREADABLE:
        return False, other
    for statement in around:
        if isinstance(statement, ast.With):
            if not all(keeps_nothing(item.context_expr, place) for item in statement.items):
                return False, other
            other = True
        elif isinstance(statement, ast.Try):
            if _within(statement.body, place.line):
                through, other = _past(statement.handlers, place, error, other)
                if not through:
                    return False, other
            if statement.finalbody and not _within(statement.finalbody, place.line):
                if _leaves(statement.finalbody):
                    return False, other
                other = True
        else:
            return False, other
    return bool(around), other


def statements_around(code, line):
    """`try` and `with` of the function around its line, the innermost first."""
    kinds = tuple(getattr(ast, kind) for kind in ("Try", "TryStar", "With", "AsyncWith") if hasattr(ast, kind))
    walked = ast.walk(tree_of(code))  # outer ones before inner ones
    return [node for node in walked if isinstance(node, kinds) and node.lineno <= line <= node.end_lineno][::-1]


_trees = {}


def tree_of(code):
    """The function's text, parsed, with the lines that it has in its file. Raises what reading and parsing raise."""
    if code not in _trees:
        name = code.co_filename
        if name.startswith("<frozen "):
            name = getattr(sys.modules.get(name[len("<frozen ") : -1]), "__file__", None) or name
        first = max(code.co_firstlineno, 1)
        lines = linecache.getlines(name)[first - 1 :]
        whole = code.co_name == "<module>"
        if not lines or (whole and len(lines) > MOST_LINES):
            raise OSError("%s is not read" % name)
        tree = ast.parse(textwrap.dedent("".join(lines if whole else inspect.getblock(lines[:MOST_LINES]))))
        _trees[code] = ast.increment_lineno(tree, first - 1)
    return _trees[code]


def _within(body, line):
    return bool(body) and body[0].lineno <= line <= body[-1].end_lineno


def _past(handlers, place, error, other):
    """As `lets_through`, of the handlers of one `try`."""
    for handler in handlers:
        kinds = _kinds(handler.type, place)
        if kinds is None:
            return False, other
        if other or any(kind in type(error()).__mro__ for kind in kinds):
            if not _raises_on(handler) or _leaves(handler.body):
                return False, other
            if not other:
                return True, True
    return True, other


def _raises_on(handler):
    """Does it end with a `raise` that shows what it handles, or stands for it?"""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and (last.cause is None or getattr(last.cause, "id", "") == handler.name)


def _kinds(expression, place):
    """The exceptions that a handler names; None where that can't be told."""
    if expression is None:
        return [BaseException]
    named = expression.elts if isinstance(expression, ast.Tuple) else [expression]
    kinds = [resolved(item, place) for item in named]
    return kinds if all(isinstance(kind, type) for kind in kinds) else None


def _leaves(body):
    """May the statements be left otherwise than at their end or by an exception?"""
    pending = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, LEAVES):
            return True
        if not isinstance(node, NESTED):
            pending += ast.iter_child_nodes(node)
    return False


def resolved(expression, place):
    """What a name, or an attribute of a module, class or function, stands for; UNKNOWN where looking could do something."""
    if isinstance(expression, ast.Name):
        if expression.id in place.local:
            return UNKNOWN
        return place.globals.get(expression.id, vars(builtins).get(expression.id, UNKNOWN))
    if isinstance(expression, ast.Attribute):
        owner = resolved(expression.value, place)
        if isinstance(owner, type):
            return next((vars(kind)[expression.attr] for kind in owner.__mro__ if expression.attr in vars(kind)), UNKNOWN)
        if isinstance(owner, (types.ModuleType, types.FunctionType)):
            return vars(owner).get(expression.attr, UNKNOWN)
    return UNKNOWN


def keeps_nothing(expression, place):
    """Is it certain that the context manager lets every exception through?"""
    if not isinstance(expression, ast.Call):
        return False
    made_by = resolved(expression.func, place)
    if made_by is io.open:
        return True
    if isinstance(made_by, type):
        found = {}
        for kind in made_by.__mro__[::-1]:
            found.update(vars(kind))
        leave = found.get("__exit__")
        plain = type(made_by).__call__ is type.__call__ and found.get("__new__") is object.__new__
        return plain and isinstance(leave, types.FunctionType) and gives_nothing(leave.__code__)
    if not isinstance(made_by, types.FunctionType):
        return False
    mock = sys.modules.get("unittest.mock")
    if mock is not None and made_by in (mock.patch, mock._patch_object, mock._patch_multiple):
        return True
    return made_by.__code__ is _MANAGER and _passes_at_yield(made_by.__wrapped__)


_MANAGER = contextlib.contextmanager(lambda: None).__code__


def _passes_at_yield(function):
    """Of a generator that makes a context manager: what is thrown into it comes out again."""
    if not isinstance(function, types.FunctionType):
        return False
    code = function.__code__
    try:
        yields = [node.lineno for node in ast.walk(tree_of(code)) if isinstance(node, (ast.Yield, ast.YieldFrom))]
    except UNREADABLE:
        return False
    places = [Place(code, line, function.__globals__, _local(code)) for line in yields]
    return bool(places) and all(
        not statements_around(code, place.line) or lets_through(place, BaseException, True)[0] for place in places
    )


def gives_nothing(code):
    """Does a function return nothing but None, False and the like?"""
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return False
    before = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "RETURN_CONST" and instruction.argval:
            return False
        if instruction.opname == "RETURN_VALUE":
            if instruction.is_jump_target or before is None or before.opname != "LOAD_CONST" or before.argval:
                return False
        before = instruction
    return True
