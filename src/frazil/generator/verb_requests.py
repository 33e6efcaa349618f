"""The request that this process sends with each verb."""

import os

from frazil.claims.claim import Claim, LastSeen, VerbRequest
from frazil.claims.holder import Holder
from frazil.system import clock


def ask_of(seen: LastSeen, held: Claim | None = None, rate_hz: int | None = None) -> VerbRequest:
    """A verb's request from this process, now. rate_hz: its IDs per second."""
    holder, boot_us = str(Holder.here(rate_hz)), clock.boot_ns() // 1000
    return VerbRequest(seen, clock.wall_us(), os.urandom(8).hex(), holder, held, boot_us)
