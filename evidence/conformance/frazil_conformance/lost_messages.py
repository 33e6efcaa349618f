"""Checks of the contract: lost, late and repeated requests and replies are harmless."""

from frazil.claims.claim import Claim, LastSeen, Lost
from frazil.errors import RegistryUnavailable, TryLater
from frazil_conformance.store import Restarts, Wire
from frazil_conformance.trial import Member, Trial, demand


def lost_replies_waste_and_no_more(trial: Trial) -> None:
    """I5: a grant, a renewal and a release whose replies are lost are never given again."""
    a, b = trial.members(2)
    a.send("grant", a.ask(), 10)
    a.send("mint", a.ask(), 3)
    claim = a.grant(10)
    a.send("renew", a.ask(claim), claim.until + 10)
    other = b.grant(10)
    b.send("release", b.ask(other), other.start + 1)
    trial.touch_all_slots(b)
    trial.demand_disjoint()


def repeated_requests_do_no_harm(trial: Trial) -> None:
    """I5: a request that arrives twice wastes ticks and has no other effect."""
    a, b = trial.members(2)
    for verb in ("grant", "mint"):
        ask = a.ask()
        a.send(verb, ask, 5)
        a.hear(a.send(verb, ask, 5))
    claim = a.grant(10)
    ask = a.ask(claim)
    a.send("renew", ask, claim.until + 10)
    a.hear(a.send("renew", ask, claim.until + 10))
    claim = a.grant(10)
    ask = a.ask(claim)
    first = a.send("release", ask, claim.start + 2)
    demand(isinstance(first, LastSeen), "a holder's release was refused")
    again = a.send("release", ask, claim.start + 2)
    demand(isinstance(again, Lost), "one claim was given back twice")
    trial.touch_all_slots(b)
    trial.demand_disjoint()


def lost_replies_are_told(trial: Trial) -> None:
    """I5: a verb whose reply is lost raises an error that says that its outcome is unknown."""
    store = trial.able(Wire)
    a, b = trial.members(2)
    claim = a.grant(10)
    with store.losing_replies():
        calls = [
            ("grant", a.ask(), 10),
            ("renew", a.ask(claim), claim.until + 10),
            ("mint", a.ask(), 3),
        ]
        for verb, ask, value in calls:
            try:
                reply = a.send(verb, ask, value)
            except RegistryUnavailable as error:
                known = error.facts.get("outcome_known")
                demand(known is False, f"a {verb} may have been done, and its error denies that")
            else:
                # Refusing a renewal is safe, whatever the store did.
                given_up = verb == "renew" and isinstance(reply, Lost)
                demand(given_up, f"the reply was lost, and a {verb} answered {reply!r}")
    _grant_with_retries(trial, b)
    _grant_with_retries(trial, a)
    trial.touch_all_slots(b)
    trial.demand_disjoint()


def repeated_deliveries_do_no_harm(trial: Trial) -> None:
    """I5: if the wire repeats requests, each caller gets its own reply, and no tick comes twice."""
    store = trial.able(Wire)
    a, b = trial.members(2)
    with store.repeating_requests():
        for _ in range(5):
            for member in (a, b):
                try:
                    claim = member.try_grant(5)
                    if isinstance(claim, Claim):
                        member.renew(claim, claim.until + 3)
                except TryLater:
                    continue  # the answer did not match the request
    _grant_with_retries(trial, b)
    trial.demand_disjoint()


def restarts_repeat_nothing(trial: Trial) -> None:
    """I2: claims before and after a restart that keeps everything are disjoint."""
    store = trial.able(Restarts)
    a, b = trial.members(2)
    for _ in range(3):
        a.grant(a.horizon_ticks)
        store.restart()
        for member in (b, a):
            _grant_with_retries(trial, member)
    trial.demand_disjoint()


def _grant_with_retries(trial: Trial, member: Member) -> None:
    """Request a claim after a restart; connections may be broken."""
    for attempt in range(100):
        try:
            member.grant(5)
        except TryLater:
            demand(attempt < 99, "it does not answer after a restart")
            trial.sleep_us(100_000)
        else:
            return
