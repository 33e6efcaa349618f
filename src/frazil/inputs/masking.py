"""URLs with masked passwords, for errors, logs and tables.

Every URL that is shown is masked first. Only the options of a driver and pickled objects keep the
password.
"""

import re

# A part of a text in which a user and a password may stand, and where they begin there. The slashes
# before the user may be missing; a path has other characters there. One pattern for both would take
# a time that grows with the square of a long text.
_PART = re.compile(r"[^/?#\s]+")
_BEFORE = r"(?:^|(?<=[\s'\"(:,@?&])|(?<=:/)|(?<=://)|(?<=[^:/]//))"
_USER = re.compile(_BEFORE + r"[^\s:/?#@'\"(,&]*:")
_OPTION = re.compile(r"([?&]password=)[^&\s]*")  # of libpq


def masked(text: object) -> str:
    """The text with ``***`` instead of each password in its URLs.

    >>> masked("redis://frazil:hunter2@ids.example/0 does not answer")
    'redis://frazil:***@ids.example/0 does not answer'
    """
    return _OPTION.sub(r"\1***", _PART.sub(_mask, str(text)))


def _mask(part: "re.Match[str]") -> str:
    # Up to the last @, because a user or password may contain one.
    last = part.string.rfind("@", part.start(), part.end())
    user = _USER.search(part.string, part.start(), last) if last >= 0 else None
    if user is None:
        return part[0]
    return f"{part.string[part.start() : user.end()]}***{part.string[last : part.end()]}"
