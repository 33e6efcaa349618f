"""Checks of the contract: after a loss, members wait until all lost claims have ended.

The sign of a loss may appear only once: on a new connection, in a message, in a memory. If the verb
that sees it fails for another reason, nothing is saved. So in the last checks verbs fail after a
loss, and the next verb must still notice it.
"""

from functools import partial

from frazil.claims.claim import Claim, LastSeen, Lost, Wait
from frazil.errors import ClockError, ConfigError
from frazil_conformance.store import Forgets, Rewinds, StepsClock
from frazil_conformance.trial import (
    COUNTER,
    HOUR_US,
    Member,
    Trial,
    demand,
    demand_claim,
    demand_refused,
)


def _demand_beyond(reply: Claim | Wait, floor: int, what: str) -> None:
    """Require that a grant after a loss begins at ``floor`` or later."""
    if isinstance(reply, Claim):
        demand(reply.start >= floor, f"after {what}, tick {reply.start} was given; {floor} is safe")


def first_uses_wait_a_horizon(trial: Trial) -> None:
    """I2: a namespace that was not initialised may be a lost one: it waits one horizon."""
    trial.one_record()
    a, b = trial.member(), trial.member()
    reply = a.try_grant(5)
    now_us = reply.now_us if isinstance(reply, Claim) else reply.seen.now_us
    floor = a.terms.tick_at(now_us) + a.horizon_ticks
    for member in (a, b):
        _demand_beyond(member.try_grant(5), floor, "a first use")
        _demand_beyond(member.grant(5), floor, "a first use")
    _demand_beyond(reply, floor, "a first use")
    trial.demand_disjoint()


def initialising_spares_the_wait(trial: Trial) -> None:
    """I2: in a namespace that was initialised as new, the first grant begins now."""
    a, b = trial.sharers(2)
    reply = b.try_grant(5)
    claim = demand_claim(reply, f"a new namespace answered {reply!r}")
    demand(claim.start == b.tick(claim), "a new namespace gave ticks ahead of now")
    demand(a.seen.sid == b.seen.sid, "initialising and granting made two records")


def initialising_without_knowing_waits(trial: Trial) -> None:
    """I2: a namespace that was initialised as unknown waits one horizon, as at a first use."""
    trial.one_record()
    a, b = trial.member(), trial.member()
    seen = a.initialise(None)
    floor = a.terms.tick_at(seen.now_us) + a.horizon_ticks
    for member in (a, b):
        _demand_beyond(member.try_grant(5), floor, "a first use")
    demand_refused(partial(b.initialise, None), "an existing namespace was initialised again")


def initialising_is_done_once(trial: Trial) -> None:
    """I1: an existing namespace cannot be initialised as new."""
    a, b = trial.sharers(2)
    a.grant(5)
    demand_refused(b.initialise, "a namespace with claims was initialised again")
    b.grant(5)
    trial.demand_disjoint()


def members_remember_the_revision(trial: Trial) -> None:
    """I2: a member that saw a later revision than the record's reveals a loss.

    Then nothing is given below one horizon from now, by any verb, and every token is void.
    """
    a, b, c = trial.sharers(3)
    held = b.grant(20)
    a.grant(5)
    a.seen = a.seen._replace(revision=a.seen.revision + 1000)
    reply = a.try_grant(5)
    floor = a.terms.tick_at(reply.seen.now_us) + a.horizon_ticks
    _demand_beyond(reply, floor, "a loss")
    _demand_beyond(c.try_grant(5), floor, "a loss")
    demand(isinstance(b.renew(held, held.until + 5), Lost), "a token outlived a loss")
    _demand_beyond(c.grant(5), floor, "a loss")
    trial.demand_disjoint()


def members_remember_what_they_hold(trial: Trial) -> None:
    """I2: a member whose claim reaches beyond the slot's floor reveals a loss."""
    a, b = trial.sharers(2)
    claim = a.grant(5)
    longer = claim._replace(until=claim.until + a.horizon_ticks // 2)
    reply = a.renew(longer, longer.until + 1)
    demand(isinstance(reply, Lost), "a claim that the record does not contain was renewed")
    floor = max(longer.until, a.terms.tick_at(a.seen.now_us) + a.horizon_ticks)
    _demand_beyond(b.try_grant(5), floor, "a loss")
    _demand_beyond(b.grant(5), floor, "a loss")
    trial.demand_disjoint()


def members_remember_the_clock(trial: Trial) -> None:
    """I2: if a member of a lost record has seen a later now, no tick before it is given."""
    trial.one_record()
    for foreign in (False, True):
        namespace = f"{trial.namespace}-{foreign}"
        a, b = trial.member(namespace=namespace), trial.member(namespace=namespace)
        a.initialise()
        seen = a.grant(5).seen
        later_us = seen.now_us + 30_000_000
        sid = "lost" if foreign else seen.sid
        a.seen = LastSeen(sid, seen.revision + 1000, later_us)
        floor = a.terms.tick_at(later_us) + a.horizon_ticks
        for member in (a, b):
            _demand_beyond(member.try_grant(5), floor, "a loss")


def members_remember_the_reach(trial: Trial) -> None:
    """I2: in the wait after a loss, a member's report covers every tick that it was ever given."""
    a, b, c = trial.sharers(3)
    a.grant(5)
    reach = a.terms.tick_at(a.seen.now_us) + 4 * a.horizon_ticks
    remembered = a.seen._replace(reach=reach)
    _lose(b)
    a.seen = remembered
    for member in (a, b, c):
        reply = member.try_grant(5)
        least_us = (reach - a.terms.tick_at(reply.seen.now_us) - 1) * a.terms.tick_us
        demand(
            isinstance(reply, Wait) and reply.wait_us >= least_us,
            f"a report of a claim until {least_us} µs from now left {reply!r}",
        )


def members_continue_the_clock(trial: Trial) -> None:
    """I2: a member reports the clock of a lost record as it would read now."""
    a, b, c = trial.sharers(3)
    a.grant(5)
    ahead_us = 4 * a.horizon_ticks * a.terms.tick_us
    remembered = a.seen._replace(sent_us=a.seen.sent_us - ahead_us)
    _lose(b)
    a.seen = remembered
    for member in (a, b, c):
        reply = member.try_grant(5)
        demand(
            isinstance(reply, Wait) and reply.wait_us > ahead_us,
            f"a clock that is {ahead_us} µs ahead left {reply!r}",
        )


def late_members_close_nothing(trial: Trial) -> None:
    """I2: a member of the time before a loss that returns after the wait begins no other wait."""
    a, b, c = trial.sharers(3)
    a.grant(5)
    remembered = a.seen._replace(revision=a.seen.revision + 10_000)
    _lose(b)
    b.grant(5)
    a.seen = remembered
    for member in (a, c):
        reply = member.try_grant(5)
        demand(isinstance(reply, Claim), f"a member that returned late left {reply!r}")


def lost_claims_are_not_given_back(trial: Trial) -> None:
    """I2: a renewal of a lost claim reveals what was lost with it, also after the first notice."""
    a, b, c = trial.sharers(3)
    claims = [a.grant(5), a.grant(5)]
    _lose(b)
    taken = b.grant(5).slot
    claim = next((claim for claim in claims if claim.slot != taken), claims[0])
    longer = claim._replace(until=a.terms.tick_at(b.seen.now_us) + 4 * a.horizon_ticks)
    renewed = a.renew(longer, longer.until)
    demand(isinstance(renewed, Lost), "a claim that the record does not contain was renewed")
    for member in (c, b):
        reply = member.try_grant(5)
        demand(isinstance(reply, Wait), f"after a second loss {reply!r} was given")


def _lose(member: Member) -> None:
    """Let the member reveal a loss: it remembers more than the record."""
    member.grant(5)
    member.seen = member.seen._replace(revision=member.seen.revision + 1000)
    reply = member.try_grant(5)
    demand(isinstance(reply, Wait), f"a loss was not noticed: {reply!r}")


def losses_are_waited_out(trial: Trial) -> None:
    """I2: after a loss of all data, twice in a row, nothing is given that was given before."""
    store = trial.able(Forgets)
    for rounds in (1, 2):
        members = [trial.member() for _ in range(3)]
        if rounds == 1:
            members[0].initialise()
        claims = [member.grant(member.horizon_ticks) for member in members]
        for _ in range(rounds):
            store.forget(trial.namespace)
            trial.member().try_grant(members[0].horizon_ticks)
        for member, claim in zip(members, claims, strict=True):
            reply = member.renew(claim, claim.until + 5)
            demand(isinstance(reply, Lost), "a token outlived the loss of its record")
        for _ in range(2):
            trial.member().grant(members[0].horizon_ticks)
        trial.demand_disjoint()


def older_copies_are_noticed(trial: Trial) -> None:
    """I2: after an older copy of the state was restored, nothing is given twice."""
    store = trial.able(Rewinds)
    a, b, c = trial.sharers(3)
    before = b.grant(5)
    copy = store.copy(trial.namespace)
    claims = [a.grant(a.horizon_ticks) for _ in range(3)]
    store.rewind(trial.namespace, copy)
    newcomer = trial.member()
    for member in (newcomer, a) if store.rewind_shows else (a, newcomer):
        member.try_grant(a.horizon_ticks)
    reply = b.renew(before, before.until + 5)
    demand(isinstance(reply, Lost), "a token outlived the return of an older copy")
    demand(isinstance(c.renew(claims[-1], claims[-1].until), Lost), "a lost claim was renewed")
    for member in (newcomer, a, b):
        member.grant(a.horizon_ticks)
    trial.demand_disjoint()


def losses_while_the_clock_is_absorbed(trial: Trial) -> None:
    """I2: if a store forgets how far its clock was behind, its members report it.

    The clock is stepped back (an offset keeps now from going back), claims are given in that time,
    and then the state is lost, offset included, or restored from a copy from before the step.
    """
    a, b = trial.members(2)
    lose = trial.losing()
    a.grant(5)
    back_us = 3 * a.horizon_ticks * a.terms.tick_us // 2
    with trial.clock_off(-back_us):
        for _ in range(3):
            a.grant(a.horizon_ticks)
        lose()
        for member in (a, b, trial.member()):  # the first of them remembers
            member.try_grant(a.horizon_ticks)
        trial.member().grant(a.horizon_ticks)
        trial.demand_disjoint()
    b.grant(a.horizon_ticks)
    trial.demand_disjoint()


def losses_with_an_earlier_clock(trial: Trial) -> None:
    """I2: a store that lost a claim and its clock learns both from the holder, if not at first.

    The clock goes back and the state is lost. A newcomer asks before the holder does.
    """
    a, b = trial.members(2)
    a.grant(5)
    lose = trial.losing()
    claims = [a.grant(a.horizon_ticks), b.grant(b.horizon_ticks)]
    newcomer = trial.member()
    with trial.clock_off(-3 * a.horizon_ticks * a.terms.tick_us // 2):
        lose()
        store = trial.store
        shows = isinstance(store, Forgets) or trial.able(Rewinds).rewind_shows
        for member in (newcomer, a, newcomer) if shows else (a, newcomer):
            member.try_grant(a.horizon_ticks)
        reply = b.renew(claims[1], claims[1].until)
        demand(isinstance(reply, Lost), "a token outlived a loss")
        newcomer.grant(a.horizon_ticks)
        trial.demand_disjoint()


def waits_outlast_a_corrected_clock(trial: Trial) -> None:
    """I2: a clock that is behind after a loss, and then set right, does not end the wait."""
    store = trial.able(Forgets)
    trial.members(1)[0].grant(5)
    newcomer = trial.member()
    horizon_us = newcomer.horizon_ticks * newcomer.terms.tick_us
    with trial.clock_off(-3 * horizon_us):
        store.forget(trial.namespace)
        told_us = trial.boot_us()
        newcomer.try_grant(5)
    reply = newcomer.try_grant(5)
    over = trial.boot_us() - told_us > horizon_us  # on a busy host
    fault = f"a clock that was set right ended the wait: {reply!r}"
    demand(over or isinstance(reply, Wait), fault)
    newcomer.grant(5)


_REFUSALS = (ConfigError, ClockError)


def _demand_noticed(member: Member) -> None:
    """Require that a grant after a loss and failed verbs gives no tick of one horizon."""
    reply = member.try_grant(member.horizon_ticks)
    floor = member.terms.tick_at(reply.seen.now_us) + member.horizon_ticks
    _demand_beyond(reply, floor, "a failed verb that used up the notice of a loss")


def lost_states_are_noticed_until_written(trial: Trial) -> None:
    """I2: after a verb that fails on a lost record, the next one still has to wait."""
    store = trial.able(Forgets)
    trial.members(1)[0].grant(5)
    store.forget(trial.namespace)
    newcomer = trial.member()
    for _ in range(2):
        newcomer.registry.look()
        ask = newcomer.ask()
        astray = ask._replace(witness_us=ask.witness_us + HOUR_US)
        attempt = partial(newcomer.registry.grant, astray, 5)
        demand_refused(attempt, "a wrong clock was accepted", _REFUSALS)
    _demand_noticed(newcomer)


def older_copies_are_noticed_until_written(trial: Trial) -> None:
    """I2: after a verb that fails on an older copy, the next one still has to wait."""
    store = trial.able(Rewinds)
    a, b = trial.sharers(2)
    before = b.grant(5)
    copy = store.copy(trial.namespace)
    for _ in range(3):
        a.grant(a.horizon_ticks)
    store.rewind(trial.namespace, copy)
    first = trial.member() if store.rewind_shows else a
    registry = first.registry
    for _ in range(2):
        registry.look()
        initialise = partial(registry.initialise, first.ask(), 0)
        demand_refused(initialise, "an existing namespace was initialised", _REFUSALS)
        renew = partial(registry.renew, first.ask(), 1)
        demand_refused(renew, "a renewal without a claim was answered", _REFUSALS)
        if isinstance(store, StepsClock):
            with trial.clock_off(HOUR_US):
                grant = partial(registry.grant, first.ask(), 5)
                demand_refused(grant, "a wrong clock was accepted", _REFUSALS)
    _demand_noticed(first)
    demand(isinstance(b.renew(before, before.until + 5), Lost), "a token outlived the loss")
    for member in (trial.member(), a, b):
        member.grant(a.horizon_ticks)
    trial.demand_disjoint()


def older_counters_stay_refused(trial: Trial) -> None:
    """I2: each call on an older copy of a counter is refused, until an operator sets a value.

    If the store shows the loss, every member is refused; otherwise those that remember more.
    """
    store = trial.able(Rewinds)
    trial.one_record()
    a, b = trial.members(2, COUNTER, 1)
    a.grant(5)
    copy = store.copy(trial.namespace)
    top = a.grant(500).until
    store.rewind(trial.namespace, copy)
    anybody = [trial.member(COUNTER), trial.member(COUNTER)] if store.rewind_shows else []
    newcomer = trial.member(COUNTER)  # a has recorded the loss for all
    for member in (*anybody, a, *anybody, newcomer):
        for verb in ("grant", "mint", "grant"):
            member.registry.look()
            attempt = partial(member.try_grant, 5, verb)
            error = demand_refused(attempt, "an older counter gave", _REFUSALS)
            demand("--forward" in error, f"the error does not say how to continue: {error}")
    trial.member(COUNTER).initialise(top + 100)
    for member in (a, b, *anybody):
        demand(member.grant(5).start >= top + 100, "a counter ignored the value that was set")
    trial.demand_disjoint()
