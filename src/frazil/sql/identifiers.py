"""Names in SQL: of schemas, functions and tables, as they are written into statements."""

import re

from frazil.errors import ConfigError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LONGEST = 40  # with "_sequence" and the like after it, below the 63 characters of PostgreSQL


def checked_name(name: str, what: str) -> str:
    """``name`` if it can begin the names of functions; raises ConfigError. what: for the error."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise ConfigError(
            f"{what} {name[:80]!r} is not a name; write at most {_LONGEST} ASCII letters, digits "
            "and '_', a letter first, like 'order'",
            value=name,
            limit=_LONGEST,
        )
    return name


def quoted(name: str, mark: str = '"') -> str:
    """An identifier in quotes, so that any name means itself."""
    if not name or "\0" in name:
        raise ConfigError(f"{name!r} is not a name; write at least one character", value=name)
    return f"{mark}{name.replace(mark, 2 * mark)}{mark}"
