"""Java, by tree-sitter. Text is cut out of the source where the tree says so; the rest stays as it is."""

import textwrap
from collections.abc import Collection, Iterator

import tree_sitter
import tree_sitter_java

from inference.source import Function

_LANGUAGE = tree_sitter.Language(tree_sitter_java.language())
_COMMENTS = ("line_comment", "block_comment")
_METHODS = ("method_declaration", "constructor_declaration", "compact_constructor_declaration")
_BLOCKS = ("static_initializer", "block", "lambda_expression")
_TYPES = ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration")
_BEFORE, _AFTER = "class Around {\n", "\n}"  # a method stands in no file of its own

Cut = tuple[int, int, bytes]  # from, to, what comes in its place


def without_comments(source: str) -> str:
    code = source.encode()
    return _cut(code, [_comment(code, node) for node in _walk(_parse(code), _COMMENTS)])


def without_bodies(source: str) -> str:
    """The source with signatures and comments; the bodies of methods, constructors, initializers and lambdas left out."""
    code = source.encode()
    return _cut(code, list(_bodies(code, _parse(code))))


def method_without_comments(method: str) -> str:
    return _unwrapped(without_comments(_BEFORE + textwrap.dedent(method).strip("\n") + _AFTER))


def signature_and_comment(method: str, comment: str) -> str:
    """The method's signature, with its comment above."""
    bare = _unwrapped(without_bodies(_BEFORE + textwrap.dedent(method).strip("\n") + _AFTER))
    if not comment or "/*" in bare or bare.lstrip().startswith("//"):
        return bare
    lines = [f" * {line}".rstrip() for line in comment.splitlines()]
    return "\n".join(["/**", *lines, " */", bare])


def functions(source: str) -> list[Function]:
    found = []
    for node in _outermost(_parse(source.encode())):
        names, around = [_name(node)], node.parent
        while around is not None:
            if around.type in _TYPES:
                names.insert(0, _name(around))
            around = around.parent
        found.append(Function(".".join(filter(None, names)), node.start_point.row + 1, node.end_point.row + 1))
    return found


def reduced(source: str, bodiless: Collection[int], gone: Collection[int]) -> str:
    """The source without these functions' bodies, and without those functions; both by index in `functions`."""
    code = source.encode()
    cuts: list[Cut] = []
    for index, node in enumerate(_outermost(_parse(code))):
        if index in gone:
            first = node
            while first.prev_sibling is not None and first.prev_sibling.type in _COMMENTS:
                first = first.prev_sibling
            cuts.append((first.start_byte, node.end_byte, b""))
        elif index in bodiless:
            cuts += _bodies(code, node)
    return _cut(code, cuts)


def _parse(code: bytes) -> tree_sitter.Node:
    return tree_sitter.Parser(_LANGUAGE).parse(code).root_node


def _walk(node: tree_sitter.Node, kinds: Collection[str]) -> Iterator[tree_sitter.Node]:
    """The outermost nodes of these kinds."""
    if node.type in kinds:
        yield node
        return
    for child in node.children:
        yield from _walk(child, kinds)


def _outermost(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    return (node for node in _walk(root, (*_METHODS, *_BLOCKS)) if node.type in _METHODS)


def _bodies(code: bytes, root: tree_sitter.Node) -> Iterator[Cut]:
    for node in _walk(root, (*_METHODS, *_BLOCKS)):
        if node.type in _METHODS:
            body = node.child_by_field_name("body")
            if body is not None:
                yield len(code[: body.start_byte].rstrip()), body.end_byte, b";"
        else:
            body = node if node.type == "block" else next((child for child in node.children if child.type == "block"), None)
            if body is not None:
                yield body.start_byte, body.end_byte, b"{ }"


def _comment(code: bytes, node: tree_sitter.Node) -> Cut:
    """A comment alone on its lines goes with them; one inside a line leaves a blank, so that words do not grow together."""
    start, end = node.start_byte, node.end_byte
    left = code.rfind(b"\n", 0, start) + 1
    right = code.find(b"\n", end)
    right = len(code) if right < 0 else right
    if not code[left:start].strip() and not code[end:right].strip():
        return left, min(right + 1, len(code)), b""
    if not code[end:right].strip():  # at the end of a line
        return left + len(code[left:start].rstrip()), end, b""
    return start, end, b" "


def _cut(code: bytes, cuts: list[Cut]) -> str:
    parts, at = [], 0
    for start, end, instead in sorted(cuts):
        start = max(start, at)
        parts += [code[at:start], instead]
        at = max(at, end)
    return b"".join([*parts, code[at:]]).decode(errors="replace")


def _unwrapped(code: str) -> str:
    return code.removeprefix(_BEFORE).removesuffix(_AFTER)


def _name(node: tree_sitter.Node) -> str:
    name = node.child_by_field_name("name")
    return name.text.decode() if name is not None and name.text else ""
