"""The script that issues IDs, as servers take it: for ``EVALSHA``, and as a library of functions.

Servers from Redis 7 on keep libraries of functions on disk and give them to their replicas, so a
caller in any language needs no script, only ``FCALL``. Both forms are made from one text,
``icicle.lua``; its first lines describe keys, arguments, units and the reply.
"""

import hashlib
from functools import cache
from importlib.resources import files

from frazil.redis_link.access import Script

__all__ = ["FUNCTION", "icicle_library", "icicle_script"]

FUNCTION = "frazil_icicle"
"""The name of the function, and of the library."""


@cache
def icicle_script() -> Script:
    """The script, and the SHA-1 by which a server knows it."""
    source = (files("frazil.remote.icicle") / "icicle.lua").read_text(encoding="utf-8")
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


def icicle_library() -> str:
    """The text for ``FUNCTION LOAD``; then ``FCALL frazil_icicle 1 KEY issue …`` as ``EVALSHA``."""
    return (
        f"#!lua name={FUNCTION}\n"
        f"redis.register_function('{FUNCTION}', function(KEYS, ARGV)\n"
        f"{icicle_script().source}"
        "end)\n"
    )
