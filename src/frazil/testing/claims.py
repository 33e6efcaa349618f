"""Checks of the contract: claims on a slot never overlap, whatever the order of requests."""

import random
import threading
from functools import partial

from frazil.errors import TryLater
from frazil.schemes.scheme import scheme
from frazil.testing.report import demand, demand_refused
from frazil.testing.trial import POOL, Event, Member, Trial


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
    trial.demand_disjoint()
    revisions = [(claim.seen.sid, claim.seen.revision) for claim in trial.claims()]
    demand(len(revisions) > 10, "320 verbs of eight threads had 10 claims or fewer")
    demand(len(set(revisions)) == len(revisions), "the replies to two verbs have one revision")


def members_share_one_record(trial: Trial) -> None:
    """I2: registry objects of one namespace write one record, and every write is counted."""
    trial.one_record()
    a, b = trial.members(2)
    for _ in range(3):
        before = a.grant(3).seen
        after = b.grant(3).seen
        demand(before.sid == after.sid, "two registry objects of a namespace show different sids")
        demand(after.revision > before.revision, "a write by another member was not counted")
    trial.demand_disjoint()


def namespaces_are_apart(trial: Trial) -> None:
    """I2: namespaces share nothing."""
    trial.one_record()
    (here,) = trial.members(1)
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
    trial.one_record()
    (a,) = trial.members(1)
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
