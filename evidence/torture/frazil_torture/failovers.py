"""A failover: the primary dies, and a replica takes its place that missed its last writes.

Its clock is behind that of the primary, as between two hosts, and is corrected later. The processes
that know what it missed continue, one of them is stopped meanwhile, and a new one starts.
"""

from contextlib import closing

from frazil_torture.fault import Fault
from frazil_torture.stores import Replicated
from frazil_torture.trial import EVIDENCE_S, Trial, Unavailable

__all__ = ["FAILOVERS"]

_HORIZON_S = 5.0  # of frazil's claims in this store
_MEMBERS = 4
_WARM_S = 7.0  # until claims are as long as the horizon
_AFTER_S = 8.0


def _failover(trial: Trial) -> None:
    """One failover under live processes. The new one asks at once, or some time later."""
    store, rng = trial.store(), trial.random
    if not isinstance(store, Replicated) or not store.replicated:
        raise Unavailable("the store has no replica; --own replica, replicas or standby makes one")
    if isinstance(trial.world.clock, str):
        raise Unavailable(trial.world.clock)
    with closing(store.replica()) as successor:
        names = [trial.launch(node=number + 1) for number in range(_MEMBERS)]
        newcomer = trial.launch(node=_MEMBERS + 1, waits="go")
        trial.until((trial.folder / f"{newcomer}.ready").exists)
        for name in names:
            trial.until_issuing(name)
        trial.wait(_WARM_S)
        behind_s = rng.uniform(0.6, 1.0) * _HORIZON_S
        successor.step_clock(-behind_s)
        trial.demand(successor.forsake(), "the replica follows on")
        began_ns = trial.mark("missed writes", "replica")
        trial.wait(rng.uniform(0.3, 0.6) * _HORIZON_S)
        stopped = rng.choice(names)
        trial.demand(trial.processes.stop(stopped), f"{stopped} did not stop")
        written = trial.written(stopped)
        trial.demand(store.fail_over(successor), "the replica did not take over")
        trial.mark(f"failover, clock {-behind_s:+.1f} s", "store", began_ns)
        newcomer_s = rng.choice([0.0, rng.uniform(0.0, 1.5) * _HORIZON_S])
        stopped_s = rng.uniform(0.1, 1.5) * _HORIZON_S
        trial.wait(min(newcomer_s, stopped_s))
        if newcomer_s < stopped_s:
            (trial.folder / "go").touch()
            trial.wait(stopped_s - newcomer_s)
        trial.processes.resume(stopped)
        trial.wait(max(0.0, newcomer_s - stopped_s))
        (trial.folder / "go").touch()
        trial.wait(_AFTER_S)
        store.step_clock(0)
        trial.until_issuing(newcomer)
        went_on = trial.until(lambda: trial.written(stopped) > written, EVIDENCE_S)
        trial.demand(went_on, f"{stopped} gave no ID after its stop")


FAILOVERS = (
    Fault("failover", "a replica that missed writes takes over, its clock behind", _failover),
)
"""Failovers of a server."""
