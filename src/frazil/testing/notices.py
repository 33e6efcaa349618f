"""Checks of the contract: a loss is noticed until it has been recorded.

The sign of a loss may appear only once: on a new connection, in a message, in a memory. If the verb
that sees it fails for another reason, nothing is saved. So in these checks verbs fail after a loss,
and the next verb must still notice it.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from frazil.claims.claim import Claim, Lost
from frazil.errors import ClockError, ConfigError
from frazil.testing.report import BrokenContract, NotApplicable, demand
from frazil.testing.store import Forgets, Rewinds, StepsClock
from frazil.testing.trial import COUNTER, Member, Trial

__all__ = ["CHECKS"]

_HOUR_US = 3_600_000_000


def _refused(attempt: Callable[[], object], what: str) -> str:
    """Require ConfigError or ClockError from the attempt. Returns its message."""
    try:
        reply = attempt()
    except (ConfigError, ClockError) as error:
        return str(error)
    raise BrokenContract(f"{what}: {reply!r}")


def _demand_noticed(member: Member) -> None:
    """Require that a grant after a loss and failed verbs gives no tick of one horizon."""
    reply = member.try_grant(member.horizon_ticks)
    floor = member.terms.tick_at(reply.seen.now_us) + member.horizon_ticks
    if isinstance(reply, Claim):
        told = f"a failed verb used up the notice of a loss: tick {reply.start} was given"
        demand(reply.start >= floor, f"{told}; {floor} is safe")


def lost_states_are_noticed_until_written(trial: Trial) -> None:
    """I2: a verb that fails over a lost record does not spare the next one the wait."""
    store = trial.store
    if not isinstance(store, Forgets):
        raise NotApplicable("its state cannot be lost")
    trial.members(1)[0].grant(5)
    store.forget(trial.namespace)
    newcomer = trial.member()
    for _ in range(2):
        newcomer.registry.look()
        ask = newcomer.ask()
        astray = replace(ask, witness_us=ask.witness_us + _HOUR_US)
        _refused(partial(newcomer.registry.grant, astray, 5), "a wrong clock")
    _demand_noticed(newcomer)


def older_copies_are_noticed_until_written(trial: Trial) -> None:
    """I2: a verb that fails over an older copy does not spare the next one the wait."""
    store = trial.store
    if not isinstance(store, Rewinds):
        raise NotApplicable("it cannot be put back to an older copy")
    trial.one_record()
    a, b = trial.members(2)
    before = b.grant(5)
    copy = store.copy(trial.namespace)
    for _ in range(3):
        a.grant(a.horizon_ticks)
    store.rewind(trial.namespace, copy)
    first = trial.member() if store.rewind_shows else a
    for _ in range(2):
        first.registry.look()
        _refused(lambda: first.registry.initialise(first.ask(), 0), "a namespace was made anew")
        _refused(lambda: first.registry.renew(first.ask(), 1), "no claim was renewed")
        if isinstance(store, StepsClock):
            store.step_clock(_HOUR_US)
            try:
                _refused(lambda: first.registry.grant(first.ask(), 5), "a wrong clock")
            finally:
                store.step_clock(-_HOUR_US)
    _demand_noticed(first)
    demand(isinstance(b.renew(before, before.until + 5), Lost), "a token outlived the loss")
    for member in (trial.member(), a, b):
        member.grant(a.horizon_ticks)
    trial.demand_disjoint()


def older_counters_stay_refused(trial: Trial) -> None:
    """I2: an older copy of a counter is refused in each call, until a person says where to go on.

    If the store shows the loss, to every member; otherwise to those that remember more.
    """
    store = trial.store
    if not isinstance(store, Rewinds):
        raise NotApplicable("it cannot be put back to an older copy")
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
            told = _refused(partial(member.try_grant, 5, verb), "an older counter gave")
            demand("--forward" in told, f"the error does not say how to go on: {told}")
    trial.member(COUNTER).initialise(top + 100)
    for member in (a, b, *anybody):
        demand(member.grant(5).start >= top + 100, "a counter did not go on where it was told")
    trial.demand_disjoint()


CHECKS = (
    lost_states_are_noticed_until_written,
    older_copies_are_noticed_until_written,
    older_counters_stay_refused,
)
