"""Does a method stand alone: does it run with built-in names and the standard library only (PostcondBench 5.4)?

By names, without running anything. Python: a method is dependent if it reads an attribute of self or cls or calls super(),
or a free name of it is neither a builtin nor imported from the standard library in its file. Java: if it is no static method
and names a field, a method or `this` of its own, or a type of it is neither of java.lang nor imported from java.* or javax.*,
nor a type parameter. Where the file is not known, a free name stands for itself: a module of the standard library by its
name (Python), a type that `java.util`, `java.io`, ... may hold is not known and counts as a dependency (Java).
"""

import ast
import builtins
import re
import symtable
import sys
import textwrap
import warnings
from collections.abc import Iterator

import tree_sitter

from ensures.task import Language, Task
from evaluation.java import syntax

_STANDARD = ("java.", "javax.")
_LANG = frozenset(
    "Appendable AutoCloseable Boolean Byte Character CharSequence Class ClassCastException ClassLoader "
    "ClassNotFoundException CloneNotSupportedException Cloneable Comparable Deprecated Double Enum Error Exception "
    "ArithmeticException ArrayIndexOutOfBoundsException ArrayStoreException AssertionError Float FunctionalInterface "
    "IllegalAccessException IllegalArgumentException IllegalStateException IndexOutOfBoundsException "
    "InstantiationException Integer InterruptedException Iterable LinkageError Long Math NegativeArraySizeException "
    "NoSuchFieldException NoSuchMethodException NullPointerException Number NumberFormatException Object OutOfMemoryError "
    "Override Process ProcessBuilder Readable Record ReflectiveOperationException Runnable Runtime RuntimeException "
    "SafeVarargs SecurityException Short StackOverflowError StackTraceElement StrictMath String StringBuffer StringBuilder "
    "StringIndexOutOfBoundsException SuppressWarnings System Thread ThreadLocal Throwable "
    "UnsupportedOperationException Void".split()
)


def needs(task: Task, file: str | None) -> tuple[str, ...]:
    """The names that a task's method needs from its repository or other packages; none: it stands alone. `file`: the text
    of its file, where it is known."""
    find = _python if task.language is Language.PYTHON else _java
    return tuple(sorted(set(find(task.implementation, file))))


# Python


def _python(method: str, file: str | None) -> Iterator[str]:
    text = textwrap.dedent(method)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            table = symtable.symtable(text, "<method>", "exec")
            imported = _imports(ast.parse(file)) if file is not None else {name: name for name in sys.stdlib_module_names}
    except (SyntaxError, ValueError, RecursionError):
        yield "(not readable)"
        return
    function = next((node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    if function is None:
        yield "(no function)"
        return
    receiver = _receiver(function)
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == receiver:
            yield f"{receiver}.{node.attr}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
            yield "super()"
    within = _imports(function)
    for name in set(_free(table)) - {function.name}:
        module = within.get(name) or imported.get(name)
        if module is None and hasattr(builtins, name):
            continue
        if module is None or module.split(".")[0] not in sys.stdlib_module_names:
            yield name
    for name, module in within.items():
        if module.split(".")[0] not in sys.stdlib_module_names:
            yield name


def _receiver(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    first = next(iter([*function.args.posonlyargs, *function.args.args]), None)
    return first.arg if first is not None and first.arg in ("self", "cls", "mcs") else None


def _free(table: symtable.SymbolTable) -> Iterator[str]:
    """Names that the text reads and does not bind."""
    for symbol in table.get_symbols():
        unbound = table.get_type() == "module" and not symbol.is_assigned() and not symbol.is_imported()
        if symbol.is_referenced() and (unbound or (symbol.is_global() and table.get_type() != "module")):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _free(child)


def _imports(tree: ast.AST) -> dict[str, str]:
    """Name -> the module that it comes from; a relative import's begins with a dot."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.split(".")[0]] = alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found[alias.asname or alias.name] = "." * node.level + (node.module or "")
    return found


# Java


def _java(method: str, file: str | None) -> Iterator[str]:
    root = syntax.parse(f"class Around {{\n{method}\n}}".encode())
    declared = next(syntax.every(root, ("method_declaration", "constructor_declaration")), None)
    if declared is None:
        yield "(no method)"
        return
    imported, wild = _java_imports(file or "")
    own = _java_types(file) if file is not None else set[str]()
    parameters = {syntax.text(node.child(0)) for node in syntax.every(declared, ("type_parameter",))}
    parameters |= {name for name in own if re.fullmatch(r"[A-Z][A-Z0-9]?", name)}
    for node in syntax.every(declared, ("type_identifier",)):
        name = syntax.text(node)
        if name not in parameters:
            yield from _java_type(name, imported, wild, own)
    locals_ = {syntax.text(node.child_by_field_name("name")) for node in syntax.every(declared, _BINDING)}
    locals_ |= {syntax.text(node) for node in syntax.every(declared, ("inferred_parameters",)) for node in node.named_children}
    locals_ |= {
        syntax.text(node.named_child(0)) for node in syntax.every(declared, ("lambda_expression",)) if node.named_child(0)
    }
    for node in syntax.every(declared, ("this", "super")):
        yield syntax.text(node)
    for node in syntax.every(declared, ("method_invocation",)):
        if node.child_by_field_name("object") is None:
            name = syntax.text(node.child_by_field_name("name"))
            if name != syntax.text(declared.child_by_field_name("name")):  # a call of itself
                yield f"{name}()"
    for node in syntax.every(declared, ("identifier",)):
        name, parent = syntax.text(node), node.parent
        if parent is None or name in locals_ or not _is_value(node, parent):
            continue
        yield from _java_type(name, imported, wild, own) if name[:1].isupper() and not name.isupper() else [name]


_BINDING: tuple[str, ...] = (
    "formal_parameter",
    "variable_declarator",
    "catch_formal_parameter",
    "resource",
    "enhanced_for_statement",
)
_BINDING += ("spread_parameter", "type_pattern", "record_pattern_component", "instanceof_expression")


def _is_value(node: tree_sitter.Node, parent: tree_sitter.Node) -> bool:
    """Is this identifier read as a variable or a type, and no name of a member, an argument, a label or an annotation?"""
    if parent.type in ("method_invocation", "field_access", "method_reference"):
        return node == parent.child_by_field_name("object") or (parent.type == "method_reference" and node == parent.child(0))
    if parent.type in ("marker_annotation", "annotation", "scoped_identifier", "labeled_statement", "break_statement"):
        return False
    if parent.type in ("method_declaration", "constructor_declaration", "continue_statement", "element_value_pair"):
        return False
    return parent.type != "switch_label"  # a constant of the type that is switched on


def _java_type(name: str, imported: dict[str, str], wild: list[str], own: set[str]) -> Iterator[str]:
    if name in imported:
        if not imported[name].startswith(_STANDARD):
            yield name
    elif name in own or (name not in _LANG and not any(f"{package}.".startswith(_STANDARD) for package in wild)):
        yield name


def _java_imports(file: str) -> tuple[dict[str, str], list[str]]:
    """Simple name -> qualified name; and the packages that are imported whole."""
    one, wild = {}, []
    for found in re.finditer(r"^\s*import\s+(?:static\s+)?([\w.]+?)(\.\*)?\s*;", file, re.MULTILINE):
        if found[2]:
            wild.append(found[1])
        else:
            one[found[1].rpartition(".")[2]] = found[1]
    return one, wild


def _java_types(file: str) -> set[str]:
    """Types that the file declares."""
    root = syntax.parse(file.encode())
    kinds = ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration")
    return {syntax.text(node.child_by_field_name("name")) for node in syntax.every(root, kinds)}
