"""The ledger finds each kind of violation, and the simulated clocks have the errors set."""

import pytest

from evidence.simulator.clock import SMEAR_PPM, BootClock, WrongClock
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


def test_clocks_have_the_errors_that_are_set():
    true = [1_000_000]
    clock = WrongClock(lambda: true[0])
    clock.step(-500)
    assert clock.reading_us() == 999_500
    clock.drift(1000)
    true[0] += 1_000_000
    assert clock.reading_us() == 2_000_500
    clock.freeze()
    true[0] += 1_000_000
    assert clock.reading_us() == 2_000_500
    clock.thaw()
    true[0] += 1_000_000
    assert clock.reading_us() == 3_000_500 + 1000
    clock.put_right()
    assert clock.reading_us() == true[0]


HOUR_US = 3_600_000_000


class Later:
    """True time, and actions scheduled at moments of it."""

    def __init__(self):
        self.now_us = 0
        self.due = []

    def at(self, us, do):
        self.due.append((us, do))

    def go(self, us):
        for at_us, do in sorted(self.due, key=lambda due: due[0]):
            if self.now_us < at_us <= us:
                self.now_us = at_us
                do()
        self.now_us = us


@pytest.mark.parametrize("ahead", [-1, 1])
@pytest.mark.parametrize("smear_us", [HOUR_US // 10, HOUR_US, 24 * HOUR_US])
def test_a_leap_second_is_smeared(ahead, smear_us):
    true = Later()
    clock = WrongClock(lambda: true.now_us)
    ppm = clock.smear(smear_us, ahead, true.at)
    assert 0 < ahead * ppm <= SMEAR_PPM
    most_us = smear_us // 2 * abs(ppm) // 1_000_000
    for share, off in ((0.25, 0.5), (0.4999, 1), (0.5001, -1), (0.75, -0.5), (1, 0), (2, 0)):
        true.go(int(share * smear_us))
        behind_us = clock.reading_us() - true.now_us
        assert behind_us == pytest.approx(ahead * off * most_us, abs=most_us * 0.001 + 2)
        assert clock.smearing == (share < 1)


def test_a_clock_corrected_during_a_smear_stays_correct():
    true = Later()
    clock = WrongClock(lambda: true.now_us)
    clock.smear(HOUR_US, 1, true.at)
    true.go(HOUR_US // 4)
    clock.put_right()
    for share in (0.3, 0.6, 1.1):
        true.go(int(share * HOUR_US))
        assert clock.reading_us() == true.now_us


def test_a_boot_clock_drifts_and_restarts_with_its_host():
    true = Later()
    clock = BootClock(lambda: true.now_us, 100)
    since_ns = clock.reading_ns()
    true.go(1_000_000)
    assert clock.reading_ns() - since_ns == 1_000_100_000
    clock.slew(-1000)
    true.go(2_000_000)
    assert clock.reading_ns() - since_ns == 1_000_100_000 + 999_100_000
    clock.boot()
    assert clock.reading_ns() == 0
    true.go(3_000_000)
    assert clock.reading_ns() == 1_000_100_000
