"""Checks of the contract: now never goes back, and a step forward needs a second clock."""

from itertools import pairwise

from frazil.claims.claim import Lost
from frazil.errors import ClockError
from frazil_conformance.store import Partitioned
from frazil_conformance.trial import HOUR_US, BrokenContract, Member, Trial, demand, demand_claim


def now_never_goes_back(trial: Trial) -> None:
    """I1: the registry's now never goes back, and it moves."""
    members = trial.members(3)
    for _ in range(60):
        trial.random.choice(members).roam(trial.random)
        trial.sleep_us(2000)
    _demand_forward(trial)


def _demand_forward(trial: Trial) -> None:
    """Require that the times in each record never decrease."""
    times: dict[str, list[int]] = {}
    for claim in trial.claims():
        times.setdefault(claim.seen.sid, []).append(claim.now_us)
    for nows in times.values():
        for before, after in pairwise(nows):
            demand(after >= before, f"now went back by {before - after} µs")
    demand(any(nows[-1] > nows[0] for nows in times.values()), "now stands still")


def _demand_clock_error(member: Member, verb: str, witness_off_us: int) -> None:
    """Require ClockError for a verb whose witness disagrees.

    If the registry has several stores, that of the claim counts as away, and a renewal gets Lost.
    """
    ask = member.ask(member.claim if verb == "renew" else None)
    ask = ask._replace(witness_us=ask.witness_us + witness_off_us)
    try:
        reply = member.send(verb, ask, (1 << 40) if verb == "renew" else 5)
    except ClockError:
        return
    if not (isinstance(member.trial.store, Partitioned) and isinstance(reply, Lost)):
        raise BrokenContract(f"a clock one hour from its witness was accepted: {reply!r}")


def first_readings_take_a_witness(trial: Trial) -> None:
    """I0: a first reading of the clock is confirmed by the member's, or nothing is written."""
    a = trial.member()
    for off_us in (-HOUR_US, HOUR_US):
        _demand_clock_error(a, "grant", off_us)
    a.initialise()  # so there is no record yet
    claim = a.try_grant(5)
    demand_claim(claim, f"a new namespace answered {claim!r}")


def steps_forward_take_a_witness(trial: Trial) -> None:
    """I0: every verb refuses a clock that alone jumps ahead, and writes nothing."""
    (a,) = trial.members(1)
    before = a.grant(20)
    with trial.clock_off(HOUR_US):
        for verb in ("grant", "mint", "renew"):
            _demand_clock_error(a, verb, 0)
    reply = a.renew(before, before.until + 1)
    after = demand_claim(reply, "a claim was lost to a wrong reading that was refused")
    demand(after.seen.revision == before.seen.revision + 1, "a refused verb changed the record")
    passed_us = after.now_us - before.now_us
    demand(passed_us < HOUR_US // 2, "a wrong reading that was refused moved now")


def steps_back_are_absorbed(trial: Trial) -> None:
    """I1: a step back causes no repeat and no outage: now moves on, and so does every member."""
    a, b = trial.members(2)
    claim = a.grant(5)
    with trial.clock_off(-HOUR_US):
        trial.sleep_us(10_000)
        longer = a.renew(claim, claim.until + 5)
        demand_claim(longer, "a claim could not be renewed after a step back")
        demand_claim(b.try_grant(5), "after a step back a newcomer has to wait")
        for _ in range(10):
            b.try_grant(3)
            trial.sleep_us(5000)
    b.try_grant(3)
    _demand_forward(trial)
    trial.demand_disjoint()
