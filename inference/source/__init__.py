"""What a prompt shows of a file, one module a language. Removal is done on syntax trees.

Each module has `without_comments`, `without_bodies`, `functions` and `reduced` for a file, and `method_without_comments`,
`signature_and_comment` for a method as it stands in one. What hides comments or bodies keeps all functions, in their order.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method of a file that stands in no other one. Lines are 1-based and inclusive."""

    name: str
    first: int
    last: int
