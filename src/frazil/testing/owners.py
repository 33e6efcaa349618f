"""Checks of the contract: only the holder of a claim can extend or release it."""

from contextlib import suppress
from dataclasses import replace

from frazil.claims.claim import Claim, LastSeen, Lost, Wait
from frazil.errors import ConfigError
from frazil.testing.report import demand, demand_claim
from frazil.testing.trial import Trial

_FORGED = "another token"


def replies_repeat_the_question(trial: Trial) -> None:
    """I3: a reply names the token, slot and start that it is about, so its owner recognises it."""
    (member,) = trial.members(1)
    for _ in range(5):
        ask = member.ask()
        claim = member.send("grant", ask, 7)
        member.hear(claim)
        if not isinstance(claim, Claim):
            trial.sleep_us(claim.wait_us if isinstance(claim, Wait) else 0)
            continue
        demand(claim.token == ask.token, "a grant's token is not the one that was sent")
        demand(claim.slot in member.terms.slots, f"slot {claim.slot} is outside of the pool")
        demand(claim.start < claim.until <= claim.start + 7, f"a grant of 7 ticks was {claim}")
        reply = member.renew(claim, claim.until + 5)
        longer = demand_claim(reply, "a holder's renewal was refused")
        same = (longer.slot, longer.start, longer.token)
        demand(same == (claim.slot, claim.start, claim.token), f"{claim} was renewed as {same}")
        demand(longer.until >= claim.until, "a renewal took ticks away")


def renewal_takes_the_token(trial: Trial) -> None:
    """I1: only its holder can extend a claim."""
    a, b = trial.members(2)
    claim = a.grant(20)
    reply = b.renew(replace(claim, token=_FORGED), claim.until + 5)
    demand(isinstance(reply, Lost), "a claim was renewed with another token")
    demand_claim(a.renew(claim, claim.until + 5), "after that, its holder could not renew it")


def renewal_takes_the_until(trial: Trial) -> None:
    """I5: after a renewal whose reply was lost, a renewal that names the old end is refused."""
    (a,) = trial.members(1)
    claim = a.grant(20)
    demand_claim(a.send("renew", a.ask(claim), claim.until + 10), "a holder's renewal was refused")
    reply = a.renew(claim, claim.until + 20)
    demand(isinstance(reply, Lost), "a claim was renewed by a member that named a wrong end")
    trial.demand_disjoint()


def renewal_may_be_late(trial: Trial) -> None:
    """I2: a claim can be renewed after its end, unless another member was given the slot."""
    (a,) = trial.members(1)
    claim = a.grant(2)
    trial.sleep_us(10 * a.terms.tick_us)
    reply = a.renew(claim, claim.until + 10 + a.horizon_ticks)
    demand_claim(reply, "a late renewal of a slot without another owner was refused")


def release_takes_the_token(trial: Trial) -> None:
    """I1: only its holder can give a claim back, also if it does so late.

    The late release reports the whole claim as used; the next holder's region begins at its end.
    """
    a, b, c = trial.members(3)
    claim = a.grant(2)
    trial.sleep_us(3 * a.terms.tick_us)
    forged = b.release(replace(claim, token=_FORGED), claim.start)
    demand(isinstance(forged, Lost), "a claim was given back with another token")
    for _ in range(2 * len(a.terms.slots)):
        b.grant(20)
    late = a.release(claim, claim.until)
    held = any(e.reply.slot == claim.slot for e in trial.history[1:] if isinstance(e.reply, Claim))
    demand(isinstance(late, Lost) or not held, "a claim was given back after another got its slot")
    for _ in range(len(a.terms.slots)):
        c.try_grant(5)
    trial.demand_disjoint()


def release_stays_inside_the_claim(trial: Trial) -> None:
    """I1: a release names a tick of the claim or the first after it; others are refused."""
    (a,) = trial.members(1)
    claim = a.grant(20)
    for used in (claim.start - 1, 0, claim.until + 1):
        reply = a.release(claim, used)
        inside = f"[{claim.start}, {claim.until})"
        demand(isinstance(reply, Lost), f"{inside} was given back from tick {used} on")
    reply = a.release(claim, claim.start)
    demand(isinstance(reply, LastSeen), "the release of an unused claim was refused")


def release_gives_back_the_rest(trial: Trial) -> None:
    """I1: after a release the floor is the first unused tick, and the token is void."""
    (a,) = trial.members(1)
    claim = a.grant(a.horizon_ticks)
    used = claim.start + 1
    demand(isinstance(a.release(claim, used), LastSeen), "a holder's release was refused")
    (holding,) = (h for h in a.registry.holdings() if h.slot == claim.slot)
    demand(holding.until == used, f"released from {used} on, and the floor is {holding.until}")
    demand(not holding.held, "a slot that was given back is still held")
    demand(isinstance(a.renew(claim, claim.until + 1), Lost), "a released claim was renewed")


def mint_leaves_no_token(trial: Trial) -> None:
    """I3: minted ticks have no holder: no token, no renewal, no release."""
    (a,) = trial.members(1)
    ask = a.ask()
    reply = a.send("mint", ask, 3)
    claim = demand_claim(reply, f"a new namespace minted {reply!r}")
    demand(claim.token == "", "minted ticks have a token")
    demand(claim.until - claim.start == 3, f"a mint of 3 ticks was {claim}")
    demand(not any(h.held for h in a.registry.holdings()), "minted ticks are held")
    mine = replace(claim, token=ask.token)
    demand(isinstance(a.renew(mine, claim.until + 3), Lost), "minted ticks were renewed")
    demand(isinstance(a.release(mine, claim.start), Lost), "minted ticks were given back")
    with suppress(ConfigError):  # also correct
        demand(isinstance(a.renew(claim, claim.until + 3), Lost), "renewed without a token")


def holdings_tell_who_holds_what(trial: Trial) -> None:
    """I3: the list of holdings shows slot, region, holder and whether it is held."""
    (a,) = trial.members(1)
    claim = a.grant(10)
    (holding,) = (h for h in a.registry.holdings() if h.held)
    demand((holding.slot, holding.start) == (claim.slot, claim.start), f"{claim} is {holding}")
    demand(holding.until == claim.until, f"{claim} is listed until {holding.until}")
    demand(holding.holder == "conformance:1", f"its holder is listed as {holding.holder!r}")
