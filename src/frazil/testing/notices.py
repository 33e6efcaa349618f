"""Checks of the contract: a loss is noticed until it has been recorded.

The sign of a loss may appear only once: on a new connection, in a message, in a memory. If the verb
that sees it fails for another reason, nothing is saved. So in these checks verbs fail after a loss,
and the next verb must still notice it.
"""

from dataclasses import replace
from functools import partial

from frazil.claims.claim import Claim, Lost
from frazil.errors import ClockError, ConfigError
from frazil.testing.report import demand, demand_refused
from frazil.testing.store import Forgets, Rewinds, StepsClock
from frazil.testing.trial import COUNTER, HOUR_US, Member, Trial

_REFUSALS = (ConfigError, ClockError)


def _demand_noticed(member: Member) -> None:
    """Require that a grant after a loss and failed verbs gives no tick of one horizon."""
    reply = member.try_grant(member.horizon_ticks)
    floor = member.terms.tick_at(reply.seen.now_us) + member.horizon_ticks
    if isinstance(reply, Claim):
        fault = f"a failed verb used up the notice of a loss: tick {reply.start} was given"
        demand(reply.start >= floor, f"{fault}; {floor} is safe")


def lost_states_are_noticed_until_written(trial: Trial) -> None:
    """I2: after a verb that fails on a lost record, the next one still has to wait."""
    store = trial.able(Forgets)
    trial.members(1)[0].grant(5)
    store.forget(trial.namespace)
    newcomer = trial.member()
    for _ in range(2):
        newcomer.registry.look()
        ask = newcomer.ask()
        astray = replace(ask, witness_us=ask.witness_us + HOUR_US)
        attempt = partial(newcomer.registry.grant, astray, 5)
        demand_refused(attempt, "a wrong clock was accepted", _REFUSALS)
    _demand_noticed(newcomer)


def older_copies_are_noticed_until_written(trial: Trial) -> None:
    """I2: after a verb that fails on an older copy, the next one still has to wait."""
    store = trial.able(Rewinds)
    trial.one_record()
    a, b = trial.members(2)
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
