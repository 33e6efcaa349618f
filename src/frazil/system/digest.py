"""A short hash of a text, without OpenSSL.

``hashlib`` loads OpenSSL, which takes longer than a step on a file of claims. So the hash is that
of Python's own module, as in ``random``; ``hashlib`` has the same where Python is built without it.
"""

from functools import lru_cache
from importlib import import_module
from typing import Any


def _sha256() -> Any:
    for name in ("_sha2", "_sha256"):  # from Python 3.12 on, and before
        try:
            return import_module(name).sha256
        except ImportError:
            continue
    return import_module("hashlib").sha256


_HASH = _sha256()  # now, and not in an event loop


@lru_cache(maxsize=64)  # every verb of a registry needs one
def digest(text: str) -> str:
    """16 hex characters: a hash of the text, equal by chance with odds of 2**-64."""
    hexes: str = _HASH(text.encode()).hexdigest()
    return hexes[:16]
