"""Finds the methods of a Java file: where they stand, what kind they are, their comment, size and complexity."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import tree_sitter

from evaluation.java import syntax

_WORD = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*")
_TAG = re.compile(r"<[^>]+>|\{@\w+\s*([^}]*)\}")
_METHODS = {"method_declaration": "method", "constructor_declaration": "constructor"}
_TYPES = (
    "class_declaration",
    "interface_declaration",
    "enum_declaration",
    "record_declaration",
    "annotation_type_declaration",
)
_BRANCHES = (
    "if_statement",
    "for_statement",
    "enhanced_for_statement",
    "while_statement",
    "do_statement",
    "catch_clause",
    "ternary_expression",
)


@dataclass(frozen=True, slots=True)
class Method:
    """Lines are 1-based and inclusive; a method begins with its Javadoc. `kind`: instance, static, constructor, interface
    (default), enum, record, or local (inside of another method)."""

    qualname: str
    kind: str
    start_line: int
    end_line: int
    body_start_line: int
    signature: str
    comment: str
    implementation: str
    complexity: int
    parameters: tuple[str, ...]  # types
    result: str

    @property
    def comment_words(self) -> int:
        """Of prose: Javadoc's tags and HTML are left out."""
        prose = re.split(r"(?m)^\s*\*?\s*@(?:param|return|throws|exception|since|see|author|deprecated)\b", self.comment)[0]
        return len(_WORD.findall(_TAG.sub(lambda found: found.group(1) or " ", prose)))

    @property
    def lines(self) -> int:
        return self.end_line - self.start_line + 1


def methods(text: str) -> Iterator[Method]:
    """All methods and constructors with a body, in order; methods of nested and local classes included."""
    code = text.encode()
    root = syntax.parse(code)
    lines = text.split("\n")
    yield from _walk(root, lines, "", "", False)


def find(text: str, qualname: str, start_line: int | None = None) -> Method | None:
    """The method of that name (and, of overloaded ones, that begins at that line)."""
    found = [method for method in methods(text) if method.qualname == qualname]
    if start_line is not None:
        found = [method for method in found if method.start_line == start_line]
    return found[0] if found else None


def _walk(node: tree_sitter.Node, lines: list[str], prefix: str, within: str, local: bool) -> Iterator[Method]:
    for child in node.named_children:
        if child.type in _TYPES:
            yield from _walk(child, lines, f"{prefix}{syntax.text(child.child_by_field_name('name'))}.", child.type, local)
        elif child.type in _METHODS:
            if child.child_by_field_name("body") is not None:
                yield _method(child, lines, prefix, within, local)
            yield from _walk(child, lines, f"{prefix}{syntax.text(child.child_by_field_name('name'))}.", within, True)
        else:
            yield from _walk(child, lines, prefix, within, local)


def _method(node: tree_sitter.Node, lines: list[str], prefix: str, within: str, local: bool) -> Method:
    before = node.prev_sibling
    comment = syntax.text(before) if before is not None and before.type == "block_comment" else ""
    documented = comment.startswith("/**")
    first = before.start_point.row if documented and before is not None else node.start_point.row
    body = node.child_by_field_name("body")
    assert body is not None
    last = node.end_point.row
    modifiers = next((syntax.text(child) for child in node.children if child.type == "modifiers"), "")
    parameters = node.child_by_field_name("parameters")
    types = tuple(
        syntax.text(child.child_by_field_name("type") or child.named_children[0])
        for child in (parameters.named_children if parameters is not None else ())
        if child.type in ("formal_parameter", "spread_parameter")
    )
    start, end = node.start_byte, body.start_byte
    signature = (node.text or b"")[: end - start].decode().strip()
    return Method(
        qualname=prefix + syntax.text(node.child_by_field_name("name")),
        kind=_kind(node, modifiers, within, local),
        start_line=first + 1,
        end_line=last + 1,
        body_start_line=body.start_point.row + 1,
        signature=signature,
        comment=comment if documented else "",
        implementation="\n".join(lines[first : last + 1]),
        complexity=1 + _branches(body),
        parameters=types,
        result=syntax.text(node.child_by_field_name("type")),
    )


def _kind(node: tree_sitter.Node, modifiers: str, within: str, local: bool) -> str:
    if local:
        return "local"
    if node.type == "constructor_declaration":
        return "constructor"
    if within in ("interface_declaration", "enum_declaration", "record_declaration"):
        return within.partition("_")[0]
    return "static" if "static" in modifiers.split() else "instance"


def _branches(node: tree_sitter.Node) -> int:
    """Decisions below the node (McCabe, with && and ||, as published)."""
    found = 0
    for child in node.children:
        found += child.type in _BRANCHES
        found += child.type in ("&&", "||")
        found += child.type == "switch_label" and not (child.text or b"").startswith(b"default")
        found += _branches(child)
    return found
