"""Checks of the contract: which slot is given, how far ahead, and that no member starves."""

from collections.abc import Iterator

from frazil.claims.claim import Claim, LastSeen, Lost, Wait
from frazil_conformance.trial import (
    BrokenContract,
    Member,
    NotApplicable,
    Trial,
    demand,
    demand_claim,
)

_ATTEMPTS = 5


def nothing_is_given_beyond_the_horizon(trial: Trial) -> None:
    """I0: a grant, a renewal or a mint gives nothing at or beyond now + horizon."""
    members = trial.members(3)
    horizon = members[0].horizon_ticks
    far = 10 * horizon
    for member in members:
        member.try_grant(far)
        if member.claim is not None:
            member.renew(member.claim, member.claim.until + far)
        member.hear(member.send("mint", member.ask(), far))
        trial.sleep_us(5000)
        if member.claim is not None:
            member.renew(member.claim, member.claim.until + far)
    reached = 0
    for claim in trial.claims():
        ahead = claim.until - members[0].tick(claim)
        demand(ahead <= horizon, f"{ahead} ticks ahead were given; the horizon is {horizon}")
        reached = max(reached, ahead)
    demand(reached > horizon // 2, "less than half of the horizon was given")


def grants_begin_at_the_floor_or_now(trial: Trial) -> None:
    """I1: a claim begins at its slot's floor, or now if that is later; floors never fall."""
    for claim, now, floors, _ in _grants(trial):
        right = max(floors.get(claim.slot, 0), now)
        demand(claim.start == right, f"a claim began at {claim.start}, not at {right}")


def grants_fit_best(trial: Trial) -> None:
    """I2: of the slots free now the one with the greatest floor is given; if none is, the least.

    So untouched slots remain in reserve, and held slots are used last. A slot whose last holder has
    not given it back, and may only be late with a renewal, comes after all others that are free: it
    ended less than a horizon ago. Of several such slots the one that ended first is given.
    """
    trial.one_record()
    member = trial.member()
    slots = member.terms.slots
    for claim, now, floors, held in _grants(trial):
        floor = floors.get(claim.slot, 0)
        free = {n: floors.get(n, 0) for n in slots if floors.get(n, 0) <= now}
        sure = [f for n, f in free.items() if n not in held or f <= now - member.horizon_ticks]
        least = min(free.values() if free else (floors.get(n, 0) for n in slots))
        best = max(sure) if sure else least
        kind = "free" if free else "full"
        demand(floor == best, f"a {kind} pool gave the slot with floor {floor}, not {best}")


def _grants(trial: Trial) -> Iterator[tuple[Claim, int, dict[int, int], set[int]]]:
    """The grants and mints of a random schedule, each with its tick, and what was before it.

    That is the floors (an untouched slot has the floor 0), and the slots not given back.
    """
    members = trial.members(4)
    for _ in range(200):
        trial.random.choice(members).roam(trial.random)
        trial.sleep_us(trial.random.choice([0, 0, 1000, 5000, 20_000]))
    floors: dict[int, int] = {}
    held: set[int] = set()
    for event in trial.history:
        if isinstance(event.reply, Claim):
            if event.ask.held is None:
                yield event.reply, members[0].tick(event.reply), floors, held
            floors[event.reply.slot] = event.reply.until
            (held.add if event.reply.token else held.discard)(event.reply.slot)
        elif event.verb == "release" and isinstance(event.reply, LastSeen) and event.ask.held:
            floors[event.ask.held.slot] = event.value
            held.discard(event.ask.held.slot)


def full_pools_are_shared(trial: Trial) -> None:
    """I2: if all slots are held, a newcomer gets the ticks after a holder's region.

    The holder keeps its claim and cannot extend it; the other holders can.
    """
    trial.one_record()
    members, claims, extra = _filled(trial)
    first = min(claim.until for claim in claims)
    used = len({claim.slot for claim in claims})
    demand(used == len(claims), "a slot was shared while one was free")
    demand(extra.start == first, f"a full pool gave [{extra.start}, …), not [{first}, …)")
    for member, claim in zip(members, claims, strict=False):
        reply = member.renew(claim, claim.until + 1)
        if claim.slot == extra.slot:
            demand(isinstance(reply, Lost), "a holder renewed over the ticks of its successor")
        else:
            demand_claim(reply, "a holder whose slot was not given to another could not renew")
    trial.demand_disjoint()


def _filled(trial: Trial) -> tuple[list[Member], list[Claim], Claim]:
    """Holders of all slots, their claims, and one more claim; a busy host needs several tries."""
    slots = len(trial.member().terms.slots)
    for _ in range(_ATTEMPTS):
        *members, newcomer = trial.members(slots + 1)
        claims = [member.grant(newcomer.horizon_ticks * 3 // 4) for member in members]
        extra = newcomer.try_grant(newcomer.horizon_ticks // 8)
        if not isinstance(extra, Claim):
            raise BrokenContract("a full pool with room up to the horizon gave nothing")
        if newcomer.tick(extra) < min(claim.until for claim in claims):
            return members, claims, extra
        trial.begin()
    raise BrokenContract(f"{slots} grants last longer than its horizon; raise it")


def waits_are_long_enough(trial: Trial) -> None:
    """I0: if all ticks up to the horizon are given, the reply says how long to wait for more."""
    slots = len(trial.member().terms.slots)
    (member,) = trial.members(1)
    for _ in range(3 * slots):
        reply = member.try_grant(member.horizon_ticks)
        if isinstance(reply, Wait):
            break
    if not isinstance(reply, Wait):
        raise NotApplicable("its verbs take so long that its horizon is never used up")
    horizon_us = member.horizon_ticks * member.terms.tick_us
    demand(0 < reply.wait_us <= 2 * horizon_us, f"the reply says to wait {reply.wait_us} µs")
    trial.sleep_us(reply.wait_us)
    demand_claim(member.try_grant(member.horizon_ticks), "the wait in the reply was too short")
    trial.demand_disjoint()


def sixty_four_contenders_are_all_served(trial: Trial) -> None:
    """I2: 64 members that want claims all get some, beside members that hold on to theirs."""
    contenders = trial.members(64)
    slots = len(contenders[0].terms.slots)
    hogs, others = contenders[: min(slots, 16)], contenders[min(slots, 16) :]
    hungry = dict.fromkeys(others, 2 if slots > 4 else 1)
    share = max(1, others[0].horizon_ticks // 16)
    patience = 16 * (4 + 64 // slots)
    while hungry:
        demand(patience > 0, f"{len(hungry)} of {len(others)} were not served for many horizons")
        patience -= 1
        for member in trial.random.sample([*hogs, *hungry], len(hogs) + len(hungry)):
            if member not in hungry:
                _hold_on(member)
            elif isinstance(member.try_grant(share), Claim):
                hungry[member] -= 1
        hungry = {member: left for member, left in hungry.items() if left > 0}
        trial.sleep_us(share * others[0].terms.tick_us)
    trial.demand_disjoint()


def _hold_on(hog: Member) -> None:
    """Renew as far as possible; request another claim if it is lost."""
    far = 10 * hog.horizon_ticks
    if hog.claim is None or isinstance(hog.renew(hog.claim, hog.claim.until + far), Lost):
        hog.claim = None
        hog.try_grant(far)
