"""Checks of the contract: claims on a slot never overlap, and only a holder can change its own."""

import random
import threading
from contextlib import suppress
from functools import partial

from frazil import scheme
from frazil.claims.claim import Claim, LastSeen, Lost, Wait
from frazil.errors import ConfigError, TryLater
from frazil_conformance.trial import (
    POOL,
    Event,
    Member,
    Trial,
    demand,
    demand_claim,
    demand_refused,
)


def claims_never_overlap(trial: Trial) -> None:
    """I2: no two claims on one slot overlap, whatever verbs come in whatever order."""
    members = trial.members(6)
    stale: list[Event] = []
    for _ in range(300):
        trial.random.choice(members).roam(trial.random, stale)
        trial.sleep_us(trial.random.choice([0, 0, 0, 1000, 5000]))
    demand(len(list(trial.claims())) > 50, "a random schedule of 300 verbs had 50 claims or fewer")
    trial.demand_disjoint()


def threads_never_meet(trial: Trial) -> None:
    """I2: the same, with simultaneous verbs, each thread with its own connection."""
    members = trial.members(8)
    faults: list[BaseException] = []

    def work(member: Member, seed: int) -> None:
        stale: list[Event] = []
        rng = random.Random(seed)  # noqa: S311 - schedules, not secrets
        for _ in range(40):
            try:
                member.roam(rng, stale)
            except TryLater:
                member.claim = None  # no answer
            except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
                faults.append(error)
                return

    for _ in range(10):  # one number may be held by one member through most of a round
        seeds = [trial.random.getrandbits(32) for _ in members]
        threads = [
            threading.Thread(target=work, args=pair) for pair in zip(members, seeds, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for fault in faults:
            raise fault
        if len(list(trial.claims())) > 10:
            break
    trial.demand_disjoint()
    revisions = [(claim.seen.sid, claim.seen.revision) for claim in trial.claims()]
    demand(len(revisions) > 10, "3,200 verbs of eight threads had 10 claims or fewer")
    demand(len(set(revisions)) == len(revisions), "the replies to two verbs have one revision")


def members_share_one_record(trial: Trial) -> None:
    """I2: registry objects of one namespace write one record, and every write is counted."""
    a, b = trial.sharers(2)
    for _ in range(3):
        before = a.grant(3).seen
        after = b.grant(3).seen
        demand(before.sid == after.sid, "two registry objects of a namespace show different sids")
        demand(after.revision > before.revision, "a write by another member was not counted")
    trial.demand_disjoint()


def namespaces_are_apart(trial: Trial) -> None:
    """I2: namespaces share nothing."""
    (here,) = trial.sharers(1)
    here.grant(5)
    there = trial.member(namespace=f"{trial.namespace}-other")
    there.initialise()
    demand(there.registry.holdings() == [], "a new namespace has holdings of another one")
    before = here.grant(1).seen
    there.try_grant(5)
    after = here.grant(1).seen
    demand(before.sid != there.seen.sid, "two namespaces have one sid")
    demand(after.revision == before.revision + 1, "a verb on another namespace was counted here")


def strangers_are_refused(trial: Trial) -> None:
    """I2: a member with another layout or shuffle is refused and shown both; nothing changes."""
    (a,) = trial.sharers(1)
    text = str(POOL.layout)
    # With the same node numbers, so that a static number is valid.
    other = scheme(text.replace("time:41", "time:42").replace("sign:1=0 ", ""))
    before = a.grant(1).seen
    for stranger in (other, scheme(POOL, shuffle="seed:v1:stranger")):
        b = trial.member(stranger)
        for verb in ("grant", "mint"):
            error = demand_refused(
                partial(b.send, verb, b.ask(), 5),
                f"a member with the layout {stranger.layout} got an answer",
            )
            shown = stranger is not other or (b.terms.layout in error and a.terms.layout in error)
            demand(shown, f"the refusal does not show both layouts: {error}")
    after = a.grant(1).seen
    demand(after.revision == before.revision + 1, "a refused verb changed the record")


def constants_have_slots_of_their_own(trial: Trial) -> None:
    """I2: members whose layouts differ in a constant share the record and never a slot."""
    trial.one_record()
    text = str(POOL.layout).replace("sign:1=0", "mode:1=0")
    schemes = [scheme(text), scheme(text, fields={"mode": 1})]
    members = [trial.member(each) for each in schemes]
    members[0].initialise()
    slots = [{member.grant(3).slot for _ in range(5)} for member in members]
    demand(not slots[0] & slots[1], "members with different constants were given one slot")
    demand(members[0].seen.sid == members[1].seen.sid, "different constants have two records")
    trial.demand_disjoint()


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
    reply = b.renew(claim._replace(token=_FORGED), claim.until + 5)
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
    forged = b.release(claim._replace(token=_FORGED), claim.start)
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
    mine = claim._replace(token=ask.token)
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
