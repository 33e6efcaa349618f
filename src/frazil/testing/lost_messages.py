"""Checks of the contract: lost, late and repeated requests and replies are harmless."""

from frazil.claims.claim import Claim, LastSeen, Lost
from frazil.errors import RegistryUnavailable, TryLater
from frazil.testing.report import NotApplicable, demand
from frazil.testing.store import Restarts, Wire
from frazil.testing.trial import Member, Trial

__all__ = ["CHECKS"]


def lost_replies_waste_and_no_more(trial: Trial) -> None:
    """I5: a grant, a renewal and a release whose replies are lost are never given again."""
    a, b = trial.members(2)
    a.send("grant", a.ask(), 10)
    a.send("mint", a.ask(), 3)
    claim = a.grant(10)
    a.send("renew", a.ask(claim), claim.until + 10)
    other = b.grant(10)
    b.send("release", b.ask(other), other.start + 1)
    for _ in range(2 * len(a.terms.slots)):
        b.try_grant(5)
    trial.demand_disjoint()


def repeated_requests_do_no_harm(trial: Trial) -> None:
    """I5: a request that comes twice wastes ticks and no more."""
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
    for _ in range(2 * len(a.terms.slots)):
        b.try_grant(5)
    trial.demand_disjoint()


def lost_replies_are_told(trial: Trial) -> None:
    """I5: a verb that was done and not answered raises, and says that its outcome is unknown."""
    store = trial.store
    if not isinstance(store, Wire):
        raise NotApplicable("it is not reached over a wire that can be cut")
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
                demand(known is False, f"a {verb} may have been done, and it says that it was not")
            else:
                # Refusing a renewal is safe, whatever the store did.
                given_up = verb == "renew" and isinstance(reply, Lost)
                demand(given_up, f"no reply came back, and a {verb} answered {reply!r}")
    _patiently(trial, b)
    _patiently(trial, a)
    for _ in range(2 * len(a.terms.slots)):
        b.try_grant(5)
    trial.demand_disjoint()


def repeated_deliveries_do_no_harm(trial: Trial) -> None:
    """I5: when the wire repeats requests, each caller has its own reply and nothing comes twice."""
    store = trial.store
    if not isinstance(store, Wire):
        raise NotApplicable("it is not reached over a wire that can repeat requests")
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
    _patiently(trial, b)
    trial.demand_disjoint()


def restarts_repeat_nothing(trial: Trial) -> None:
    """I2: claims before and after a restart that kept everything are disjoint."""
    store = trial.store
    if not isinstance(store, Restarts):
        raise NotApplicable("it cannot be restarted")
    a, b = trial.members(2)
    for _ in range(3):
        a.grant(a.horizon_ticks)
        store.restart()
        for member in (b, a):
            _patiently(trial, member)
    trial.demand_disjoint()


def _patiently(trial: Trial, member: Member) -> None:
    """Request a claim after a restart; connections may be broken."""
    for attempt in range(100):
        try:
            member.grant(5)
        except TryLater:
            demand(attempt < 99, "it does not answer after a restart")
            trial.sleep_us(100_000)
        else:
            return


CHECKS = (
    lost_replies_waste_and_no_more,
    repeated_requests_do_no_harm,
    lost_replies_are_told,
    repeated_deliveries_do_no_harm,
    restarts_repeat_nothing,
)
