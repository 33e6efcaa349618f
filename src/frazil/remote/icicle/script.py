"""The script that issues IDs: for ``EVALSHA``, and as a library of functions.

Servers from Redis 7 on store libraries of functions on disk and copy them to their replicas. So a
caller in any language needs only ``FCALL``. Both forms are made from ``icicle.lua``, which begins
with a description of the keys, arguments, units and the reply.
"""

import hashlib
from functools import cache

from frazil.redis_link.access import Script
from frazil.system.data_file import text_beside

FUNCTION = "frazil_icicle"
"""The name of the function, and of the library."""


@cache
def icicle_script() -> Script:
    """Return the script, with the SHA-1 by which a server knows it."""
    source = text_beside(__name__, "icicle.lua")
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


def icicle_library() -> str:
    """Return the text for ``FUNCTION LOAD``; ``FCALL frazil_icicle 1 KEY issue …`` calls it."""
    return (
        f"#!lua name={FUNCTION}\n"
        f"redis.register_function('{FUNCTION}', function(KEYS, ARGV)\n"
        f"{icicle_script().source}"
        "end)\n"
    )
