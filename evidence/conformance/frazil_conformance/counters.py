"""Checks of the contract for counters: layouts without time, where waiting does not end a loss."""

from functools import partial

from frazil import scheme
from frazil.claims.claim import LastSeen, Lost
from frazil.errors import LayoutExhausted
from frazil_conformance.store import Forgets, Restarts, Rewinds
from frazil_conformance.trial import (
    COUNTER,
    RUNS,
    Event,
    Trial,
    demand,
    demand_claim,
    demand_refused,
)


def missing_counters_are_errors(trial: Trial) -> None:
    """I2: a missing counter is an error and not a silent zero; the error says how to begin."""
    for layout in (COUNTER, RUNS):
        a = trial.member(layout, f"{trial.namespace}-{layout.name}")
        for verb in ("grant", "mint", "grant"):
            error = demand_refused(partial(a.try_grant, 5, verb), "a missing counter gave")
            names = "frazil init" in error and "--start" in error
            demand(names, f"the error does not name frazil init --start N: {error}")


def counters_begin_where_told(trial: Trial) -> None:
    """I1: the first value is the named one, and each block begins where the last one ended."""
    (a,) = trial.members(1, COUNTER, 700)
    first = a.grant(5)
    demand((first.start, first.until) == (700, 705), f"set to 700, it began at {first.start}")
    second = a.grant(3)
    demand((second.start, second.until) == (705, 708), f"the block after 705 is {second}")
    minted = a.grant(4, "mint")
    demand((minted.start, minted.token) == (708, ""), f"the mint after 708 is {minted}")
    runs = trial.member(RUNS, f"{trial.namespace}-runs")
    runs.initialise(9)
    demand(runs.grant(1).start == 9, "a run did not begin at its start value")


def counter_blocks_never_overlap(trial: Trial) -> None:
    """I2: no value is in two blocks, whatever verbs come in whatever order."""
    members = trial.members(4, COUNTER, 1)
    stale: list[Event] = []
    for _ in range(150):
        trial.random.choice(members).roam(trial.random, stale)
    demand(min(claim.start for claim in trial.claims()) == 1, "the first value was skipped")
    trial.demand_disjoint()


def counters_give_back_the_rest(trial: Trial) -> None:
    """I1: a holder extends its block and gives the rest back, and no value is skipped."""
    a, b = trial.members(2, COUNTER, 1)
    claim = a.grant(10)
    reply = a.renew(claim, claim.until + 10)
    longer = demand_claim(reply, f"[1, 11) was renewed as {reply!r}")
    demand(longer.until == 21, f"[1, 11) was renewed as {longer!r}")
    demand(isinstance(a.release(longer, 15), LastSeen), "a holder's release was refused")
    after = b.grant(5)
    demand(after.start == 15, f"given back from 15 on; the next block began at {after.start}")


def older_counters_are_refused(trial: Trial) -> None:
    """I2: if one member remembers more than the counter has, all members are refused."""
    (a,) = trial.members(1, COUNTER, 1)
    a.grant(5)
    stranger = trial.member(COUNTER)
    stranger.seen = LastSeen("another counter", 5, 0)
    fault = "a counter other than the one that a member remembers gave"
    demand_refused(partial(stranger.try_grant, 5), fault)
    top = a.grant(5).until
    ahead = trial.member(COUNTER)
    ahead.seen = a.seen._replace(revision=a.seen.revision + 1000)
    demand_refused(partial(ahead.try_grant, 5), "a counter older than a member's memory gave")
    newcomer = trial.member(COUNTER)
    demand_refused(partial(newcomer.try_grant, 5), "a loss that one member noticed is not recorded")
    trial.member(COUNTER).initialise(top + 10)
    store = trial.store
    if isinstance(store, Rewinds):
        b = trial.member(COUNTER)
        b.grant(5)
        copy = store.copy(trial.namespace)
        b.grant(5)
        b.grant(5)
        store.rewind(trial.namespace, copy)
        demand_refused(partial(b.try_grant, 5), "an older copy of a counter gave")


def lost_counters_are_errors(trial: Trial) -> None:
    """I2: a lost counter is an error for every member, until an operator sets its next value."""
    store = trial.able(Forgets)
    (a,) = trial.members(1, COUNTER, 1)
    a.grant(5)
    store.forget(trial.namespace)
    for member in (a, trial.member(COUNTER)):
        error = demand_refused(partial(member.try_grant, 5), "a lost counter gave")
        demand("frazil init" in error, f"the error does not name frazil init: {error}")
    b = trial.member(COUNTER)
    b.initialise(6)
    demand(b.grant(5).start == 6, "a counter did not continue at the value that was set")
    demand(a.grant(5).start == 11, "a member of the lost counter did not continue with the others")


def lost_counters_start_beyond_all_that_is_known(trial: Trial) -> None:
    """I2: if one was started too low, all members are refused once one asks that knows more."""
    store = trial.able(Forgets)
    (a,) = trial.members(1, COUNTER, 5)
    top = a.grant(50).until
    store.forget(trial.namespace)
    b = trial.member(COUNTER)
    b.initialise(top - 1)
    b.grant(5)
    for member in (a, b, trial.member(COUNTER)):
        error = demand_refused(partial(member.try_grant, 5), "a counter started too low gave")
        demand("--forward" in error, f"the error does not say how to continue: {error}")
    b.initialise(top + 100)
    for member in (a, b):
        demand(member.grant(5).start >= top + 100, "a counter ignored the value that was set")


def counters_are_not_older_than_their_last_start(trial: Trial) -> None:
    """I2: a member that got no value knows a copy from before the last start by that start."""
    store = trial.able(Rewinds)
    (a,) = trial.members(1, COUNTER, 5)
    a.grant(5)
    copy = store.copy(trial.namespace)
    a.grant(5)
    trial.able(Forgets).forget(trial.namespace)
    b = trial.member(COUNTER)
    b.initialise(100)
    store.rewind(trial.namespace, copy)
    demand_refused(partial(b.try_grant, 5), "a copy from before the last start gave")


def counters_move_forward_only(trial: Trial) -> None:
    """I2: an existing counter is moved beyond all values that were given, or not at all."""
    a, b = trial.members(2, COUNTER, 5)
    claim = a.grant(10)
    for start in (1, claim.until):
        fault = f"a counter was moved back to {start}, which was given before"
        demand_refused(partial(b.initialise, start), fault)
    b.initialise(1000)
    longer = a.renew(claim, claim.until + 10)
    demand(isinstance(longer, Lost), f"a block was renewed after its counter moved on: {longer!r}")
    demand(a.grant(5).start == 1000, "a counter that was moved on did not continue from there")
    demand(b.grant(5).start == 1005, "a counter that was moved on gave a value twice")


def counters_outlive_a_restart(trial: Trial) -> None:
    """I2: a restart that keeps everything is not a loss of a counter."""
    store = trial.able(Restarts)
    (a,) = trial.members(1, COUNTER, 1)
    a.grant(5)
    store.restart()
    b = trial.member(COUNTER)
    demand(b.grant(5).start == 6, "a counter did not continue after a restart")


def counters_end(trial: Trial) -> None:
    """I0: nothing is given beyond the last value of a counter."""
    (a,) = trial.members(1, scheme("sign:1=0 sequence:8"), 250)
    demand(a.grant(100).until == 256, "more was given than the counter has")
    demand_refused(partial(a.try_grant, 1), "a counter at its end gave", LayoutExhausted)
