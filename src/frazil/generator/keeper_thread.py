"""The keeper of a generator: a thread that runs the rounds of a ``KeeperPolicy``.

All I/O is done here, since the thread that needs an ID may be in a signal handler or an event loop.
The thread is started at the first need, and not by ``threading``, which waits for locks of its own.
It sleeps until the next round is due or a caller rings the bell.

``atexit`` closes what is still open while the threads still run.
"""

import atexit
import os
import weakref
from _thread import allocate_lock, start_new_thread
from contextlib import suppress
from queue import Empty, SimpleQueue

from frazil.claims.claim import Claim
from frazil.errors import FrazilError, RegistryUnavailable, TryLater
from frazil.generator.calls import Call, Gate
from frazil.generator.complaints import no_thread
from frazil.generator.keeper import KeeperPolicy, Result, Steps
from frazil.generator.pacing import jitter
from frazil.generator.verb_requests import ask_of
from frazil.registries.base import Registry
from frazil.system import clock
from frazil.system.process import ProcessIdentity
from frazil.system.steps import run_by
from frazil.walk.walk import Walk

__all__ = ["FAREWELL_S", "Keeper", "drive"]

FAREWELL_S = 2.0


def drive(steps: Steps[Result], registry: Registry) -> Result:
    """Run each verb that ``steps`` yields on the registry; answers what the steps return."""
    return run_by(steps, lambda verb: verb(registry))


class Keeper:
    """Keeps one walk supplied from one registry. Arguments and attributes: see ``KeeperPolicy``.

    walk: held weakly.
    """

    def __init__(self, walk: Walk, registry: Registry, block: int) -> None:
        self._bell: SimpleQueue[object] = SimpleQueue()
        self._running = allocate_lock()
        self.registry = registry
        self.terms = registry.terms
        self.policy = KeeperPolicy(
            weakref.ref(walk, self._bell.put),
            registry.url,
            registry.terms,
            block,
            identity=ProcessIdentity(),
            wall_us=clock.wall_us,
            jitter=jitter,
            request=ask_of,
        )
        _live.add(self)

    @property
    def claim(self) -> Claim | None:
        """See ``KeeperPolicy``."""
        return self.policy.claim

    @property
    def trouble(self) -> TryLater | None:
        """See ``KeeperPolicy``."""
        return self.policy.trouble

    @property
    def trouble_since_us(self) -> int:
        """See ``KeeperPolicy``."""
        return self.policy.trouble_since_us

    @property
    def failures(self) -> int:
        """See ``KeeperPolicy``."""
        return self.policy.failures

    def complaint(self, waited_s: float) -> FrazilError:
        """See ``KeeperPolicy``."""
        return self.policy.complaint(waited_s)

    def call(self, call: Call) -> None:
        """Have ``call`` woken when the walk can go on, or cannot. Raises RegistryUnavailable."""
        if self.policy.call(call):
            self._ring()

    def look_ahead(self) -> None:
        """Half of a block is used: have the next one fetched, and do not wait for it."""
        if self.policy.look_ahead():
            with suppress(RegistryUnavailable):  # no thread: the caller has an ID, and goes on
                self._ring()

    def end(self, used: int, call: Call) -> None:
        """The walk has closed: give back its claim from ``used`` on, then wake ``call``."""
        if self.policy.end(used, call):
            try:
                self._ring()
            except RegistryUnavailable:  # no thread: so nothing is held
                self.policy.farewells.answer(None)

    def close(self, used: int) -> None:
        """End, and wait for it as long as is decent."""
        self.end(used, gate := Gate())
        gate.wait(FAREWELL_S)

    def finish(self) -> None:
        """At the interpreter's exit: close the walk, if it is this process's, and release."""
        walk = self.policy.walk()
        if walk is not None and self.policy.identity.intact() and not walk.closed:
            self.close(walk.finish())

    def awaken(self) -> None:
        """In a child: whoever forked inside a call looks again, and finds that it is a child."""
        self.policy.calls.answer(None)
        self.policy.farewells.answer(None)

    def _ring(self) -> None:
        """Have the thread begin a round now; start it if there is none."""
        if self._bell.empty():
            self._bell.put(None)
        if not self._running.locked():  # maybe twice, by a signal handler; one of them stays
            try:
                start_new_thread(self._run, ())
            except RuntimeError as error:
                raise no_thread(self.registry.url, error) from error

    def _run(self) -> None:
        """The thread. Should it die, the next caller starts another."""
        if not self._running.acquire(blocking=False):
            return
        policy = self.policy
        try:
            wait_s: float | None = None
            while not policy.ended and policy.identity.intact():
                with suppress(Empty):
                    self._bell.get(timeout=wait_s)
                wait_s = drive(policy.round(), self.registry)
            if not policy.identity.intact():  # the machine was restored: who waits looks again
                policy.wake(None)
        finally:
            self._running.release()


_live: weakref.WeakSet[Keeper] = weakref.WeakSet()


@atexit.register
def _finish() -> None:
    for keeper in list(_live):
        keeper.finish()


def _in_child() -> None:
    for keeper in list(_live):
        keeper.awaken()


os.register_at_fork(after_in_child=_in_child)
