"""URLs with masked passwords, for errors, logs and tables.

Every URL that is shown is masked first. Only the options of a driver and pickled objects keep the
password.
"""

import re

# Up to the last @ before the path, because a user or password may contain one. The slashes before
# the user may be missing; a path has other characters there. And an option of libpq.
_BEFORE = r"(?:^|(?<=[\s'\"(:,@?&])|(?<=:/)|(?<=://)|(?<=[^:/]//))"
_PASSWORD = re.compile(_BEFORE + r"([^\s:/?#@'\"(]*:)[^/?#\s]*@|([?&]password=)[^&\s]*")


def masked(text: object) -> str:
    """The text with ``***`` instead of each password in its URLs.

    >>> masked("redis://frazil:hunter2@ids.example/0 does not answer")
    'redis://frazil:***@ids.example/0 does not answer'
    """
    return _PASSWORD.sub(_mask, str(text))


def _mask(match: "re.Match[str]") -> str:
    return f"{match[1]}***@" if match[1] else f"{match[2]}***"
