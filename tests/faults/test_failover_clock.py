"""No ID repeats after a failover to a successor that missed claims, and whose clock is behind.

``python -m evidence.benchmarks.failovers`` runs more clocks and seeds, and prints a table.
"""

import pytest

from tests.canary import canary
from tests.faults.failovers import repeats

CASES = [("confirmed", 4, "any"), ("postgresql", 4, "new"), ("confirmed", 4, "stopped")]


@pytest.mark.parametrize(("store", "behind_s", "first"), CASES)
def test_a_successor_that_is_behind(fleet, store, behind_s, first):
    assert repeats(fleet, store, behind_s, first=first) == 0


def test_a_replica_without_confirmation_that_lost_one_renewal(fleet):
    assert repeats(fleet, "redis", 1.5, missed_s=0.7) == 0


BROKEN = [("confirmed", "unguarded_script"), ("postgresql", "unguarded_store")]


@canary
@pytest.mark.parametrize(("store", "broken"), BROKEN)
def test_this_test_can_see(fleet, store, broken):
    assert repeats(fleet, store, 4, first="new", broken=broken) > 0
