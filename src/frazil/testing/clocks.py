"""Checks of the contract: now never goes back, and a step forward needs a second clock."""

from dataclasses import replace
from itertools import pairwise

from frazil.claims.claim import Claim, Lost
from frazil.errors import ClockError
from frazil.testing.claims import roam
from frazil.testing.report import BrokenContract, NotApplicable, demand
from frazil.testing.store import Partitioned, StepsClock
from frazil.testing.trial import Member, Trial

__all__ = ["CHECKS"]

_HOUR_US = 3_600_000_000


def now_never_goes_back(trial: Trial) -> None:
    """I1: the registry's now never goes back, and it moves."""
    members = trial.members(3)
    for _ in range(60):
        roam(trial.random.choice(members), trial.random)
        trial.sleep_us(2000)
    _demand_forward(trial)


def _demand_forward(trial: Trial) -> None:
    """Require that the times in each record never decrease."""
    told: dict[str, list[int]] = {}
    for claim in trial.claims():
        told.setdefault(claim.seen.sid, []).append(claim.now_us)
    for nows in told.values():
        for before, after in pairwise(nows):
            demand(after >= before, f"now went back by {before - after} µs")
    demand(any(nows[-1] > nows[0] for nows in told.values()), "now stands still")


def _refused(member: Member, verb: str, witness_off_us: int) -> None:
    """Require ClockError for a verb whose witness disagrees.

    Of several stores that of the claim counts as away, and then a renewal answers Lost.
    """
    ask = member.ask(member.claim if verb == "renew" else None)
    ask = replace(ask, witness_us=ask.witness_us + witness_off_us)
    try:
        reply = member.send(verb, ask, (1 << 40) if verb == "renew" else 5)
    except ClockError:
        return
    if isinstance(member.trial.store, Partitioned) and isinstance(reply, Lost):
        return
    raise BrokenContract(f"a clock an hour from its witness was believed: {reply!r}")


def first_readings_take_a_witness(trial: Trial) -> None:
    """I0: a first reading of the clock is confirmed by the member's, or nothing is written."""
    a = trial.member()
    for off_us in (-_HOUR_US, _HOUR_US):
        _refused(a, "grant", off_us)
    a.initialise()  # so there is no record yet
    claim = a.try_grant(5)
    demand(isinstance(claim, Claim), f"a new namespace answered {claim!r}")


def steps_forward_take_a_witness(trial: Trial) -> None:
    """I0: a clock that jumps ahead alone is refused, by every verb, and nothing is written."""
    store = trial.store
    if not isinstance(store, StepsClock):
        raise NotApplicable("its clock cannot be stepped")
    (a,) = trial.members(1)
    before = a.grant(20)
    store.step_clock(_HOUR_US)
    try:
        for verb in ("grant", "mint", "renew"):
            _refused(a, verb, 0)
    finally:
        store.step_clock(-_HOUR_US)
    after = a.renew(before, before.until + 1)
    demand(isinstance(after, Claim), "a claim was lost to a wrong reading that was refused")
    demand(after.seen.revision == before.seen.revision + 1, "what was refused was written down")
    if isinstance(after, Claim):
        passed_us = after.now_us - before.now_us
        demand(passed_us < _HOUR_US // 2, "a wrong reading that was refused moved now")


def steps_back_are_absorbed(trial: Trial) -> None:
    """I1: a step back is neither a repeat nor an outage: now goes on, and so does everybody."""
    store = trial.store
    if not isinstance(store, StepsClock):
        raise NotApplicable("its clock cannot be stepped")
    a, b = trial.members(2)
    claim = a.grant(5)
    store.step_clock(-_HOUR_US)
    try:
        trial.sleep_us(10_000)
        longer = a.renew(claim, claim.until + 5)
        demand(isinstance(longer, Claim), "a claim could not be renewed after a step back")
        other = b.try_grant(5)
        demand(isinstance(other, Claim), "after a step back a newcomer has to wait")
        for _ in range(10):
            b.try_grant(3)
            trial.sleep_us(5000)
    finally:
        store.step_clock(_HOUR_US)
    b.try_grant(3)
    _demand_forward(trial)
    trial.demand_disjoint()


CHECKS = (
    now_never_goes_back,
    first_readings_take_a_witness,
    steps_forward_take_a_witness,
    steps_back_are_absorbed,
)
