"""Checks of the contract: regions of the past, which have one owner and no token.

They apply to registries that have ``claim_past`` and ``declare_past``.
"""

from functools import partial

from frazil.claims.claim import Claim, LastSeen, Lost, Wait
from frazil.registries.base import PastRegistry
from frazil_conformance.trial import (
    Member,
    NotApplicable,
    Reply,
    Trial,
    demand,
    demand_claim,
    demand_refused,
)


def _members(trial: Trial, count: int) -> list[Member]:
    """Members of a new namespace. Raises NotApplicable if they cannot claim the past."""
    members = trial.members(count)
    if not isinstance(members[0].registry, PastRegistry):
        raise NotApplicable("it has no claim_past and declare_past")
    return members


def _past(member: Member) -> PastRegistry:
    assert isinstance(member.registry, PastRegistry)
    return member.registry


def _declare(member: Member, start: int = 0) -> None:
    for _ in range(8):
        ask = member.ask()
        reply: LastSeen | Wait = _past(member).declare_past(ask, start)
        member.hear(reply, ask)
        if not isinstance(reply, Wait):
            return
        member.trial.sleep_us(max(reply.wait_us, 1000))
    demand(isinstance(reply, LastSeen), "the past cannot be declared, for eight waits")


def _claim(member: Member, start: int, stop: int) -> Reply:
    reply = member.send("claim_past", member.ask(), (start, stop))
    member.hear(reply)
    return reply


def _now(member: Member) -> int:
    return member.terms.tick_at(member.seen.now_us)


def pasts_are_declared_first(trial: Trial) -> None:
    """I2: ticks before the record are given only from the moment on that a person declared."""
    a, b = _members(trial, 2)
    now = _now(a)
    for start in (0, now - 5):
        demand_refused(partial(_claim, a, start, now), "a past was given that nobody declared")
    early = now // 2
    _declare(b, early)
    demand_refused(partial(_claim, a, early - 1, now), "a past was given from before the word")
    found = demand_claim(_claim(a, early, now), "a past that was declared is not given")
    demand((found.start, found.until) == (early, now), f"not all of it was given: {found}")
    demand(not found.token, "a past has a token")
    if len(a.terms.slots) > 1:
        found = demand_claim(_claim(a, -1, now), "no past from the first known tick on")
        demand(found.start == early, f"the first known tick is {found.start}, not {early}")
    live = b.grant(5)
    demand(live.start >= now, "a grant begins in the past")
    trial.demand_disjoint()


def pasts_end_by_now(trial: Trial) -> None:
    """I2: a region of the past reaches no tick that a live grant may still be given."""
    a, _ = _members(trial, 2)
    _declare(a)
    ahead = _now(a) + 100 * a.horizon_ticks
    demand_refused(partial(_claim, a, 5, ahead), "a region reaches into the future")
    demand_refused(partial(_claim, a, ahead, ahead + 5), "a region of the future was given")
    found = demand_claim(_claim(a, 5, 0), "no past up to now")
    demand(found.until <= a.tick(found), "a past reaches beyond now")
    ask = a.ask()
    fault = "a past of the future was declared"
    demand_refused(lambda: _past(a).declare_past(ask, ahead), fault)


def pasts_never_overlap(trial: Trial) -> None:
    """I2: no cell has two owners, whatever pasts, grants, renewals and releases come together."""
    members = _members(trial, 4)
    _declare(members[0])
    for _ in range(150):
        member = trial.random.choice(members)
        if trial.random.random() < 0.3:
            now = _now(member) if member.seen.now_us else 1000
            start = max(0, now - trial.random.choice([5, 50, 500, 5000, now]))
            stop = trial.random.randint(start + 1, max(start + 1, now))
            if stop <= now:
                _claim(member, start, stop)
        else:
            member.roam(trial.random)
        trial.sleep_us(trial.random.choice([0, 0, 1000, 5000]))
    trial.demand_disjoint()


def pasts_end_a_holders_claim(trial: Trial) -> None:
    """I3: the last holder of a slot whose past was given can neither renew nor release it.

    That slot comes last, because its holder may only be late.
    """
    trial.one_record()
    a, b = _members(trial, 2)
    _declare(a)
    held = a.grant(5)
    trial.sleep_us((held.until - a.tick(held) + 20) * a.terms.tick_us)
    given = [
        demand_claim(_claim(b, held.until, 0), "no past after a claim that expired").slot
        for _ in a.terms.slots
    ]
    demand(given[-1] == held.slot, "the slot of a holder that may be late was not given last")
    demand(isinstance(a.renew(held, held.until + 5), Lost), "a claim was renewed over a past")
    demand(isinstance(a.release(held, held.start), Lost), "a claim was released over a past")
    trial.demand_disjoint()


def full_pasts_are_told(trial: Trial) -> None:
    """I2: when every slot has given a tick of a region, the region is not given again."""
    a, _ = _members(trial, 2)
    _declare(a)
    stop, given = _now(a), 0
    while isinstance(reply := _claim(a, 7, stop), Claim):
        given += 1
        demand(given <= len(a.terms.slots), "a region was given more often than there are slots")
    demand(isinstance(reply, Lost), f"a full past answered {reply!r}")
    demand(given == len(a.terms.slots), f"only {given} slots gave their past")
    demand(isinstance(_claim(a, 7, 9), Lost), "a part of a full past was given")
    a.grant(5)
    trial.demand_disjoint()


def losses_make_the_past_unknown(trial: Trial) -> None:
    """I2: after a loss nothing of the past is given until a person declares it again."""
    trial.one_record()
    a, b = _members(trial, 2)
    _declare(a)
    now = _now(a)
    demand_claim(_claim(a, 5, now), "a past that was declared is not given")
    a.seen = a.seen._replace(revision=a.seen.revision + 1000)
    reply = _claim(a, 5, now)
    demand(isinstance(reply, Wait), f"a loss that a member knows of answered {reply!r}")
    live = b.grant(5)
    demand_refused(partial(_claim, b, 5, now), "a past was given after a loss")
    trial.sleep_us((live.until - b.tick(live) + 20) * b.terms.tick_us)
    demand_refused(partial(_claim, b, live.until, 0), "a past was given just after a loss")
    _declare(b, 5)
    demand_claim(_claim(b, live.until, 0), "a past that was declared again is not given")
    trial.demand_disjoint()
