"""Ways to break frazil, each in one place and each the mistake of some ID generator in use.

A worker calls one of these functions before it opens a generator. With it the worker must repeat
IDs; if it does not, its test cannot see.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from typing import Any

from frazil.claims.claim import Claim, Lost
from frazil.claims.record import Record
from frazil.claims.slots import SlotTable
from frazil.generator import calls, keeper, kept_walk, local
from frazil.registries.base import RecordRegistry
from frazil.registries.memory import MemoryRegistry
from frazil.registries.sqlite.registry import SqliteRegistry
from frazil.system import clock
from frazil.system.process import ProcessIdentity, PureIdentity
from frazil.system.steps import run_by
from frazil.walk import atomic
from frazil.walk.walk import Caller, Walk


def unguarded() -> None:
    """The interpreted walk as it stands in its source, with nothing around its steps."""
    kept_walk.KeptWalk.__bases__ = (Walk,)
    local.LocalGenerator.__bases__ = (Caller,)


def iterators() -> None:
    """The cells of the interpreted walk in iterators, as where only one thread runs at a time."""
    atomic.FREE_THREADED = False


def inherited_lock() -> None:
    """A child that leaves the lock of its walk as a thread of its parent had it."""
    clock.in_c = None


def shared() -> None:
    """A registry that gives everybody the same region."""
    given = []

    def grant(self: RecordRegistry, ask: Any, want: int) -> Claim:
        if not given:
            now_us = self.reading_us()
            now = self.terms.tick_at(now_us)
            until = now + self.terms.horizon_ticks
            given.append(Claim(0, now, until, ask.token, now_us, ask.seen))
        return given[0]

    RecordRegistry.grant = MemoryRegistry.grant = grant
    RecordRegistry.renew = lambda self, ask, until: Lost(ask.seen)


class _Blind(ProcessIdentity):
    def __init__(self) -> None:
        if ProcessIdentity is PureIdentity:
            super().__init__()
            self.word = [self.era]

    def intact(self) -> bool:
        return True

    mine = property(intact)


def blind() -> None:
    """A process that does not notice that it is a copy."""
    kept_walk.ProcessIdentity = keeper.ProcessIdentity = _Blind


def hooks() -> None:
    """A process that notices only the forks that Python made."""
    forks = [1]

    class Hooked(ProcessIdentity):
        def __init__(self) -> None:
            self.forks = forks[0]
            if ProcessIdentity is PureIdentity:
                super().__init__()
                self.word, self.era = forks, forks[0]

        def intact(self) -> bool:
            return self.forks == forks[0]

        mine = property(intact)

    os.register_at_fork(after_in_child=lambda: forks.append(forks.pop() + 1))
    kept_walk.ProcessIdentity = keeper.ProcessIdentity = Hooked


def child_releases() -> None:
    """A child whose exit gives back what its parent holds."""

    def end(self: keeper.Keeper, used: int, call: calls.Call) -> None:
        self.policy.identity = ProcessIdentity()  # as if it were the parent
        run_by(self.policy._last_round(used), lambda verb: verb(self.registry))
        call.wake(None)

    def finish(self: keeper.Keeper) -> None:
        walk = self.policy.walk()
        if walk is not None:
            self.close(walk.finish())

    keeper.Keeper.end, keeper.Keeper.finish = end, finish


def open_release() -> None:
    """A close that gives the claim back while others may still issue from it."""

    def close(self: kept_walk.KeptWalk) -> None:
        release = self.keeper.policy._release(self.tick + 1)
        run_by(release, lambda verb: verb(self.registry))

    kept_walk.KeptWalk.close = close


def lease() -> None:
    """A generator that holds its number until somebody tells it otherwise."""

    def adopt(self: Any, node: int, start: int, until: int, *clock: int) -> None:
        end = 1 << len(self.request.scheme.positions("time"))
        super(kept_walk.KeptWalk, self).adopt(node, start, end, *clock)

    kept_walk.KeptWalk.adopt = adopt


def forgetful() -> None:
    """A registry that keeps nothing: every start begins at the present moment."""

    @contextmanager
    def step(self: RecordRegistry) -> Iterator[tuple[Record, str]]:
        terms = self.terms
        yield Record(SlotTable(), "same", "same", terms.fingerprint, terms.layout), "same"

    SqliteRegistry.step = MemoryRegistry.step = step
    MemoryRegistry.lives_longer = True
    Record._is_loss = lambda self, terms, ask, incarnation: False


def unguarded_store() -> None:
    """A registry that takes a lost record for a new one, and tokens of another for its own."""

    def is_loss(self: Record, terms: Any, ask: Any, incarnation: str) -> bool:
        if not self.sid:
            self._set_identity(terms, ask._replace(token="same"), incarnation)
        return False

    Record._is_loss = is_loss


def unguarded_script() -> None:
    """The same mistake in the script of the Redis registry."""
    raised = "record.guard = math.max(record.guard, "
    _break_script({raised: "verbs.none = math.max(0, ", "record.WAITS .. ask.nonce": "ask.nonce"})


def _break_script(changes: dict[str, str]) -> None:
    from frazil.registries.redis import registry as redis

    source = redis.claims_script().source
    for right, wrong in changes.items():
        assert right in source
        source = source.replace(right, wrong)
    broken = redis.Script(source, sha1(source.encode(), usedforsecurity=False).hexdigest())
    redis.claims_script = lambda: broken


def unguarded_icicle() -> None:
    """A server that issues IDs, and after a loss goes on at once."""
    from frazil.redis_link.access import Script
    from frazil.remote.icicle import server

    source = server.icicle_script().source
    guard = "guard = math.max(guard, "
    assert source.count(guard) == 1
    source = source.replace(guard, f"{guard[:8]}0 * {guard[8:]}")
    broken = Script(source, sha1(source.encode(), usedforsecurity=False).hexdigest())
    server.icicle_script = lambda: broken
