"""The ledger finds each kind of violation, and the simulated clocks have the errors set."""

import pytest

from evidence.simulator.ledger import Ledger
from evidence.simulator.violation import Violation
from frazil.claims.claim import Claim, LastSeen, Terms, VerbRequest
from frazil.claims.record import Record
from frazil.claims.slots import Slot, SlotTable

TERMS = Terms("toy", "", range(2), 2, 1 << 20, 1000, 0, 10)


def ask(token, held=None):
    return VerbRequest(LastSeen(), 0, token, "", held)


def record(**slots):
    table = SlotTable({int(n[1:]): slot for n, slot in slots.items()})
    return Record(slots=table, sid="x", last_us=5000, top_us=5000)


def claim(slot, start, until, token):
    return Claim(slot, start, until, token, 5000)


@pytest.fixture
def ledger():
    ledger = Ledger(TERMS, 3, 2)
    given = claim(0, 5, 9, "a")
    ledger.verb("grant", ask("a"), record(), record(n0=Slot(9, 5, "a")), given)
    return ledger


def number(tick, slot, sequence):
    return tick << 3 | slot << 2 | sequence


def test_ids_inside_their_claim_are_accepted(ledger):
    place = ledger.issue(number(5, 0, 0), (0, 5, 9), (-1, -1))
    assert ledger.issue(number(5, 0, 1), (0, 5, 9), place) == (5, 1)


@pytest.mark.parametrize(
    ("tick", "own", "last", "words"),
    [
        (9, (0, 5, 9), (5, 0), "was issued from slot 0"),
        (9, (0, 5, 12), (5, 0), "never given"),
        (6, (0, 5, 9), (7, 0), "after"),
        (6, (1, 5, 9), (5, 0), "was issued from slot 1"),
    ],
)
def test_ids_out_of_place_are_found(ledger, tick, own, last, words):
    with pytest.raises(Violation, match=words):
        ledger.issue(number(tick, 0, 0), own, last)


def test_a_repeated_id_is_found(ledger):
    ledger.issue(number(5, 0, 0), (0, 5, 9), (-1, -1))
    with pytest.raises(Violation, match="twice"):
        ledger.issue(number(5, 0, 0), (0, 5, 9), (-1, -1))


def test_overlaps_are_found(ledger):
    after = record(n0=Slot(12, 8, "b"))
    with pytest.raises(Violation, match="I2"):
        ledger.verb("grant", ask("b"), record(n0=Slot(9, 5, "a")), after, claim(0, 8, 12, "b"))


def test_a_renewal_over_another_is_found(ledger):
    ledger.verb("grant", ask("b"), record(), record(n0=Slot(12, 9, "b")), claim(0, 9, 12, "b"))
    held = claim(0, 5, 9, "a")
    after = record(n0=Slot(13, 5, "a"))
    with pytest.raises(Violation, match="I2"):
        ledger.verb("renew", ask("c", held), record(), after, claim(0, 5, 13, "a"))


def test_a_claim_beyond_the_horizon_is_found(ledger):
    after = record(n1=Slot(16, 5, "b"))
    with pytest.raises(Violation, match="I0"):
        ledger.verb("grant", ask("b"), record(), after, claim(1, 5, 16, "b"))


def test_a_falling_floor_is_found(ledger):
    with pytest.raises(Violation, match="I1"):
        ledger.verb("grant", ask("b"), record(n0=Slot(9)), record(n0=Slot(8)), None)


def test_a_release_below_what_was_issued_is_found(ledger):
    ledger.issue(number(7, 0, 0), (0, 5, 9), (-1, -1))
    held = claim(0, 5, 9, "a")
    with pytest.raises(Violation, match="I1"):
        ledger.verb("release", ask("b", held), record(n0=Slot(9)), record(n0=Slot(7)), LastSeen())


def test_two_owners_are_found(ledger):
    ledger.adopt(1, ask("a"), claim(0, 5, 9, "a"))
    with pytest.raises(Violation, match="I3"):
        ledger.adopt(2, ask("a"), claim(0, 5, 9, "a"))


def test_a_reply_to_another_request_is_found(ledger):
    with pytest.raises(Violation, match="I3"):
        ledger.adopt(1, ask("b"), claim(0, 5, 9, "a"))
    with pytest.raises(Violation, match="I3"):
        ledger.adopt(1, ask("c", claim(1, 5, 9, "b")), claim(0, 5, 9, "a"))
