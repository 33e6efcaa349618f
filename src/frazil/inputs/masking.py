"""URLs with their passwords hidden, for all that people and logs may see.

A URL is an argument, a fact of an error, a line of a log, a cell of a table. Whoever shows one
masks it first, or is given it masked. What works with it (the driver's options, what pickling
carries) keeps the password and is never shown.
"""

import re

__all__ = ["masked"]

# Up to the last @ before the path, as a user or a password may hold one; and libpq's, an option.
_PASSWORD = re.compile(r"(://[^:/?#\s]*:)[^/?#\s]*@|([?&]password=)[^&\s]*")


def masked(text: object) -> str:
    """The text with ``***`` in the place of each password in its URLs.

    >>> masked("redis://frazil:hunter2@ids.example/0 is away")
    'redis://frazil:***@ids.example/0 is away'
    """
    return _PASSWORD.sub(_hide, str(text))


def _hide(found: "re.Match[str]") -> str:
    return f"{found[1]}***@" if found[1] else f"{found[2]}***"
