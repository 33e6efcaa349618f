"""The sums over all members."""

from frazil.claims.claim import Holding, Snapshot
from frazil.claims.fleet import fleet_of
from frazil.claims.holding import node_holdings
from frazil.layout.layout import Layout

TIMED = "cluster:2=0 time:40 node:10 sequence:12 @1ms since 2025-01-01T00:00:00Z"


def fleet(layout, *slots, now_us=1_800_000_000_000_000):
    """The fleet of slots, each (slot, until, holder); without a holder the slot is free."""
    holdings = tuple(
        Holding(slot, 0, until, held=bool(holder), holder=holder, since_us=0)
        for slot, until, holder in slots
    )
    found = Snapshot(layout, "", now_us, holdings)
    return fleet_of(node_holdings(found), Layout.parse(layout))


def test_only_held_claims_count():
    late, over = 1 << 39, 1
    found = fleet(
        TIMED,
        (3, late, "db7:1 1200/s"),
        (4, late, "db7:2 300/s"),
        (5, late, "web1:3"),
        (6, over, "web2:4 9999/s"),
        (7, late, ""),
    )
    assert (found.members, found.hosts, found.rate_hz, found.unknown) == (3, 2, 1500, 1)
