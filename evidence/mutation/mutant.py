"""A mutant, in any language."""

from typing import NamedTuple

__all__ = ["Mutant"]


class Mutant(NamedTuple):
    """One change: the operator, the line it is in (from 1), that line's text, the whole file."""

    operator: str
    line: int
    text: str
    source: str
