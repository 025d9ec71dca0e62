"""Java's syntax trees: by tree-sitter, from text to nodes and back."""

from collections.abc import Collection, Iterator

import tree_sitter
import tree_sitter_java

_LANGUAGE = tree_sitter.Language(tree_sitter_java.language())


def parse(code: bytes) -> tree_sitter.Node:
    """The root. What can't be parsed stands in error nodes."""
    return tree_sitter.Parser(_LANGUAGE).parse(code).root_node


def text(node: tree_sitter.Node | None) -> str:
    return (node.text or b"").decode() if node is not None else ""


def outermost(node: tree_sitter.Node, kinds: Collection[str]) -> Iterator[tree_sitter.Node]:
    """The nodes of these kinds that stand in no other of them, from the node itself on."""
    if node.type in kinds:
        yield node
        return
    for child in node.children:
        yield from outermost(child, kinds)


def every(node: tree_sitter.Node, kinds: Collection[str]) -> Iterator[tree_sitter.Node]:
    """All nodes of these kinds, from the node itself on."""
    if node.type in kinds:
        yield node
    for child in node.children:
        yield from every(child, kinds)
