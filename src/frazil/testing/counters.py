"""Checks of the contract for counters: layouts without time, which cannot wait out a loss."""

from dataclasses import replace

from frazil.claims.claim import Claim, LastSeen, Lost
from frazil.errors import ConfigError, LayoutExhausted
from frazil.schemes.scheme import scheme
from frazil.testing.claims import roam
from frazil.testing.report import BrokenContract, NotApplicable, demand
from frazil.testing.store import Forgets, Restarts, Rewinds
from frazil.testing.trial import COUNTER, RUNS, Event, Member, Trial

__all__ = ["CHECKS"]


def _refused(member: Member, fault: str, verb: str = "grant") -> str:
    """Require ConfigError from the verb. Returns its message."""
    try:
        reply = member.try_grant(5, verb)
    except ConfigError as error:
        return str(error)
    raise BrokenContract(f"{fault}: {reply!r}")


def missing_counters_are_errors(trial: Trial) -> None:
    """I2: a counter that does not exist is never a silent zero; the error says how to begin."""
    trial.one_record()
    for layout in (COUNTER, RUNS):
        a = trial.member(layout, f"{trial.namespace}-{layout.name}")
        for verb in ("grant", "mint", "grant"):
            told = _refused(a, "a missing counter gave", verb)
            names = "frazil init" in told and "--start" in told
            demand(names, f"the error does not name frazil init --start N: {told}")


def counters_begin_where_told(trial: Trial) -> None:
    """I1: the first value is the one that was named, the next block begins where one ended."""
    trial.one_record()
    (a,) = trial.members(1, COUNTER, 700)
    first = a.grant(5)
    demand((first.start, first.until) == (700, 705), f"told 700, it began with {first.start}")
    second = a.grant(3)
    demand((second.start, second.until) == (705, 708), f"after 705 came {second.start}")
    minted = a.grant(4, "mint")
    demand((minted.start, minted.token) == (708, ""), f"after 708 was minted {minted}")
    runs = trial.member(RUNS, f"{trial.namespace}-runs")
    runs.initialise(9)
    demand(runs.grant(1).start == 9, "a run did not begin where it was told")


def counter_blocks_never_overlap(trial: Trial) -> None:
    """I2: no value is in two blocks, whatever verbs come in whatever order."""
    trial.one_record()
    members = trial.members(4, COUNTER, 1)
    stale: list[Event] = []
    for _ in range(150):
        roam(trial.random.choice(members), trial.random, stale)
    demand(min(claim.start for claim in trial.claims()) == 1, "the first value was left out")
    trial.demand_disjoint()


def counters_give_back_the_rest(trial: Trial) -> None:
    """I1: a block is made longer and given back by its holder, and then nothing is left out."""
    trial.one_record()
    a, b = trial.members(2, COUNTER, 1)
    claim = a.grant(10)
    longer = a.renew(claim, claim.until + 10)
    demand(isinstance(longer, Claim) and longer.until == 21, f"[1, 11) was renewed as {longer!r}")
    if isinstance(longer, Claim):
        demand(isinstance(a.release(longer, 15), LastSeen), "a holder's release was refused")
    after = b.grant(5)
    demand(after.start == 15, f"given back from 15 on, and {after.start} came next")


def older_counters_are_refused(trial: Trial) -> None:
    """I2: a counter that is older than what one member has seen of it is refused to all."""
    trial.one_record()
    (a,) = trial.members(1, COUNTER, 1)
    a.grant(5)
    stranger = trial.member(COUNTER)
    stranger.seen = LastSeen("another counter", 5, 0)
    _refused(stranger, "a counter other than the one that a member remembers gave")
    top = a.grant(5).until
    ahead = trial.member(COUNTER)
    ahead.seen = replace(a.seen, revision=a.seen.revision + 1000)
    _refused(ahead, "a counter older than a member's memory gave")
    _refused(trial.member(COUNTER), "a loss that one member noticed was not told to others")
    trial.member(COUNTER).initialise(top + 10)
    store = trial.store
    if isinstance(store, Rewinds):
        b = trial.member(COUNTER)
        b.grant(5)
        copy = store.copy(trial.namespace)
        b.grant(5)
        b.grant(5)
        store.rewind(trial.namespace, copy)
        _refused(b, "an older copy of a counter gave")


def lost_counters_are_errors(trial: Trial) -> None:
    """I2: a counter that was lost is an error for everybody, until a person says where to go on."""
    trial.one_record()
    store = trial.store
    if not isinstance(store, Forgets):
        raise NotApplicable("its state cannot be lost")
    (a,) = trial.members(1, COUNTER, 1)
    a.grant(5)
    store.forget(trial.namespace)
    for member in (a, trial.member(COUNTER)):
        told = _refused(member, "a lost counter gave")
        demand("frazil init" in told, f"the error does not name frazil init: {told}")
    b = trial.member(COUNTER)
    b.initialise(6)
    demand(b.grant(5).start == 6, "a counter did not go on where it was told")


def counters_move_forward_only(trial: Trial) -> None:
    """I2: a counter that exists goes on where it is told, ahead of all that was given, or not."""
    trial.one_record()
    a, b = trial.members(2, COUNTER, 5)
    claim = a.grant(10)
    for start in (1, claim.until):
        _not_moved(b, start)
    b.initialise(1000)
    longer = a.renew(claim, claim.until + 10)
    demand(isinstance(longer, Lost), f"a block from before a counter was moved on grew: {longer!r}")
    demand(a.grant(5).start == 1000, "a counter that was moved on did not go on from there")
    demand(b.grant(5).start == 1005, "a counter that was moved on gave a value twice")


def _not_moved(member: Member, start: int) -> None:
    try:
        member.initialise(start)
    except ConfigError:
        return
    raise BrokenContract(f"a counter was moved back to {start}, which was given away")


def counters_outlive_a_restart(trial: Trial) -> None:
    """I2: a restart that kept everything is no loss of a counter."""
    trial.one_record()
    store = trial.store
    if not isinstance(store, Restarts):
        raise NotApplicable("it cannot be restarted")
    (a,) = trial.members(1, COUNTER, 1)
    a.grant(5)
    store.restart()
    b = trial.member(COUNTER)
    demand(b.grant(5).start == 6, "a counter did not go on after a restart")


def counters_end(trial: Trial) -> None:
    """I0: nothing is given beyond the last value of a counter."""
    trial.one_record()
    small = scheme("sign:1=0 sequence:8")
    (a,) = trial.members(1, small, 250)
    demand(a.grant(100).until == 256, "more was given than the counter has")
    try:
        reply = a.try_grant(1)
    except LayoutExhausted:
        return
    raise BrokenContract(f"a counter at its end gave {reply!r}")


CHECKS = (
    missing_counters_are_errors,
    counters_begin_where_told,
    counter_blocks_never_overlap,
    counters_give_back_the_rest,
    older_counters_are_refused,
    lost_counters_are_errors,
    counters_move_forward_only,
    counters_outlive_a_restart,
    counters_end,
)
