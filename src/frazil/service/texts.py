"""The texts of many IDs, for a reply.

A keyed text costs a whole encryption, and those of an array share most of their work. So many IDs
are formatted as an array, where numpy is installed. Unkeyed texts gain nothing from it.
"""

from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from frazil.schemes.scheme import Scheme

__all__ = ["texts"]

_MANY = 16  # IDs that are worth an array
_HAS_NUMPY = find_spec("numpy") is not None


def texts(scheme: Scheme, ids: Sequence[int]) -> Iterable[str]:
    """Return each ID as the scheme shows it, in order."""
    if scheme.key and len(ids) >= _MANY and _HAS_NUMPY:
        return map(str, scheme.format_many(ids))
    return map(scheme.format, ids)
