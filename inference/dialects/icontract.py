"""The icontract dialect: from a completion's text to clauses.

`published` does as the published runs did: after any thinking, the fenced block (the last, where there are several), or the
whole text where there is no fence, is taken as decorator lines. What each thing in it comes to:

- decorators over several lines, comments between them, blank lines: kept as they are;
- import lines before the first decorator: kept, in front of it (aliases of icontract are understood);
- `ensure` without an import of it: kept, and a compile error when it is applied, as it would be there;
- a function, class or other statement: malformed; prose inside the block: a syntax error;
- `require`, `invariant` or any other decorator: unsupported; no `ensure` at all: malformed.

`lenient` takes ensure and snapshot decorators from anywhere in the text where `published` finds nothing usable.
"""

import ast
import enum
import re
import textwrap

import libcst as cst

from ensures.candidate import Artifact, Clauses, Malformed
from ensures.verdict import Reason
from inference.dialects.answer import MOST_CHARACTERS, block

RESCUED = "rescued"


class Parsing(enum.StrEnum):
    PUBLISHED = "published"
    LENIENT = "lenient"


_START = re.compile(r"\s*@\s*(?:\w+\s*\.\s*)?(?:ensure|snapshot)\b")
_TARGET = "\ndef ensures_target():\n    pass\n"


def parse(text: str, parsing: Parsing = Parsing.PUBLISHED) -> Artifact:
    """Never raises: what can't be parsed is a candidate with a reason."""
    artifact = _published(text)
    if parsing is Parsing.LENIENT and isinstance(artifact, Malformed) and artifact.reason is not Reason.UNSUPPORTED:
        rescued = _anywhere(text)
        if rescued is not None:
            return rescued
    return artifact


def alone(found: Clauses) -> list[Clauses]:
    """Each clause by itself, with the snapshots that it names: `OLD.name`, or all where it takes OLD as a whole."""
    made = []
    for ensure in found.ensures:
        named = set(re.findall(r"\bOLD\s*\.\s*(\w+)", ensure))
        whole = len(re.findall(r"\bOLD\b(?!\s*\.\s*\w)", ensure)) > 1  # beside the lambda's argument
        snapshots = tuple(text for text in found.snapshots if whole or _snapshot_name(text) in (None, *named))
        made.append(Clauses("\n".join((*snapshots, ensure)), found.preamble, snapshots, (ensure,), found.notes))
    return made


def _snapshot_name(text: str) -> str | None:
    """`name=`, or the one argument of its capture; None where it can't be told."""
    try:
        call = ast.parse(text.lstrip("@ "), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    if not isinstance(call, ast.Call):
        return None
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    name = given.get("name", call.args[1] if len(call.args) > 1 else None)
    if name is not None:
        return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None
    capture = given.get("capture", call.args[0] if call.args else None)
    if isinstance(capture, ast.Lambda) and len(capture.args.args) == 1:
        return capture.args.args[0].arg
    return None


def _published(text: str) -> Artifact:
    if len(text) > MOST_CHARACTERS:
        return Malformed(Reason.UNSUPPORTED, f"the completion is longer than {MOST_CHARACTERS:,} characters")
    source = block(text)
    if not source.strip():
        return Malformed(Reason.COMPILE_ERROR, "the completion holds no clause")
    if "\0" in source:
        return Malformed(Reason.SYNTAX_ERROR, "the completion holds a null byte")
    try:
        module = ast.parse(source + _TARGET)
    except SyntaxError as error:
        return Malformed(Reason.SYNTAX_ERROR, f"line {error.lineno}: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return Malformed(Reason.SYNTAX_ERROR, f"{type(error).__name__}: {error}")
    return _clauses(source, module)


def _clauses(source: str, module: ast.Module) -> Artifact:
    *before, target = module.body
    assert isinstance(target, ast.FunctionDef)
    if not target.decorator_list:  # the text is a module by itself
        if any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for node in before):
            return Malformed(Reason.COMPILE_ERROR, "the completion holds a definition of its own")
        return Malformed(Reason.COMPILE_ERROR, "the completion holds no clause")
    lines = source.split("\n")
    preamble = []
    for node in before:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            what = "definition" if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else "statement"
            return Malformed(Reason.COMPILE_ERROR, f"line {node.lineno}: the completion holds a {what} of its own")
        preamble.append(ast.unparse(node))
    snapshots, ensures = [], []
    for decorator in target.decorator_list:
        name = _name(decorator, before)
        text = "@" + (ast.get_source_segment(source, decorator) or "")
        if name == "ensure":
            ensures.append(text)
        elif name == "snapshot":
            snapshots.append(text)
        else:
            return Malformed(Reason.UNSUPPORTED, f"line {decorator.lineno}: the decorator {name} is no postcondition")
    if not ensures:
        return Malformed(Reason.COMPILE_ERROR, "the completion holds no ensure")
    first = target.decorator_list[0].lineno - 1
    text = "\n".join(lines[first:]).rstrip()
    return Clauses(text, tuple(preamble), tuple(snapshots), tuple(ensures))


def _name(decorator: ast.expr, imports: list[ast.stmt]) -> str:
    """ensure, snapshot, or the decorator's text where it is something else."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    modules, names = {"icontract"}, {"ensure": "ensure", "snapshot": "snapshot"}
    for node in imports:
        for alias in getattr(node, "names", ()):
            if isinstance(node, ast.Import) and alias.name == "icontract":
                modules.add(alias.asname or alias.name)
            if isinstance(node, ast.ImportFrom) and node.module == "icontract":
                names[alias.asname or alias.name] = alias.name
    if isinstance(function, ast.Name):
        found = names.get(function.id, function.id)
    elif isinstance(function, ast.Attribute) and ast.unparse(function.value) in modules:
        found = function.attr
    else:
        found = ast.unparse(function)
    return found if isinstance(decorator, ast.Call) else f"{found} without arguments"


def _anywhere(text: str) -> Clauses | None:
    """Every ensure and snapshot decorator that parses, in order."""
    lines = text.rpartition("</think>")[2].split("\n")
    found: list[str] = []
    at = 0
    while at < len(lines):
        if not _START.match(lines[at]):
            at += 1
            continue
        for end in range(at + 1, min(len(lines), at + 60) + 1):
            piece = textwrap.dedent("\n".join(lines[at:end])).strip()
            try:
                cst.parse_expression(piece[1:].strip())
                compile(piece + _TARGET, "<clause>", "exec", dont_inherit=True)
            except (cst.ParserSyntaxError, SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            found.append(piece)
            at = end - 1
            break
        at += 1
    ensures = tuple(piece for piece in found if re.match(r"@\s*(?:\w+\s*\.\s*)?ensure\b", piece))
    snapshots = tuple(piece for piece in found if piece not in ensures)
    if not ensures:
        return None
    named = "from icontract import ensure, snapshot"
    preamble = (named,) if any(re.match(r"@\s*(ensure|snapshot)\b", piece) for piece in found) else ()
    return Clauses("\n".join((*snapshots, *ensures)), preamble, snapshots, ensures, (RESCUED,))
