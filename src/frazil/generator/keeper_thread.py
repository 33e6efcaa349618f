"""The keeper of a generator: a thread that runs the rounds of a ``KeeperPolicy``.

The thread does all I/O, because the thread that needs an ID may be in a signal handler or an event
loop. It starts at the first request, without ``threading``, which waits for locks of its own. It
sleeps until the next round is due or a caller wakes it.

``atexit`` closes the open generators while the threads still run.
"""

import atexit
import os
import weakref
from _thread import allocate_lock, get_ident, start_new_thread
from contextlib import suppress
from queue import Empty, SimpleQueue

from frazil.errors import RegistryUnavailable
from frazil.generator.calls import Call, Gate
from frazil.generator.complaints import inside_the_keeper, no_thread
from frazil.generator.keeper import KeeperPolicy, Result, Steps
from frazil.generator.pacing import jitter
from frazil.generator.verb_requests import ask_of
from frazil.registries.base import Registry
from frazil.system import clock
from frazil.system.process import ProcessIdentity
from frazil.system.steps import run_by
from frazil.walk.walk import Walk

__all__ = ["CLOSE_WAIT_S", "Keeper", "drive"]

CLOSE_WAIT_S = 2.0


def drive(steps: Steps[Result], registry: Registry) -> Result:
    """Run each verb that ``steps`` yields on the registry; returns the result of the steps."""
    return run_by(steps, lambda verb: verb(registry))


class Keeper:
    """Keeps one walk, which it holds weakly, supplied from one registry; see ``KeeperPolicy``."""

    def __init__(self, walk: Walk, registry: Registry, block: int, keep_us: int) -> None:
        self._wakeups: SimpleQueue[object] = SimpleQueue()
        self._running = allocate_lock()
        self._thread = 0  # what get_ident() returns in it; 0 if there is none
        self.registry = registry
        self.policy = KeeperPolicy(
            weakref.ref(walk, self._wakeups.put),
            registry.url,
            registry.terms,
            block,
            identity=ProcessIdentity(),
            wall_us=clock.wall_us,
            jitter=jitter,
            request=ask_of,
            keep_us=keep_us,
        )
        _live.add(self)

    def call(self, call: Call) -> None:
        """See ``KeeperPolicy``.

        Raises RegistryUnavailable if no thread can be started, and in the thread itself, where
        Python may run a finalizer that asks for an ID: the thread would wait for itself.
        """
        if get_ident() == self._thread:
            raise inside_the_keeper(self.registry.url)
        if self.policy.call(call):
            self._wake_thread()

    def look_ahead(self) -> None:
        """Half of a block is used: fetch the next one in the background."""
        if self.policy.look_ahead():
            with suppress(RegistryUnavailable):  # no thread: the caller has an ID
                self._wake_thread()

    def end(self, used: int, call: Call) -> None:
        """See ``KeeperPolicy``."""
        if self.policy.end(used, call):
            try:
                self._wake_thread()
            except RegistryUnavailable:  # no thread
                self.policy.closers.answer(None)

    def close(self, used: int) -> None:
        """End, and wait for the release, but not long."""
        self.end(used, gate := Gate())
        gate.wait(CLOSE_WAIT_S)

    def finish(self) -> None:
        """At the interpreter's exit: close the walk, if it is this process's."""
        walk = self.policy.walk()
        if walk is not None and self.policy.identity.intact() and not walk.closed:
            self.close(walk.finish())

    def wake_in_child(self) -> None:
        """In a child: a caller that forked inside a call tries again, and notices the fork."""
        self.policy.calls.answer(None)
        self.policy.closers.answer(None)

    def _wake_thread(self) -> None:
        """Begin a round now; start the thread if it does not run."""
        if self._wakeups.empty():
            self._wakeups.put(None)
        if not self._running.locked():  # a signal handler may start a second thread, which ends
            try:
                start_new_thread(self._run, ())
            except RuntimeError as error:
                raise no_thread(self.registry.url, error) from error

    def _run(self) -> None:
        """The thread. If it fails, the next caller starts another."""
        if not self._running.acquire(blocking=False):
            return
        policy = self.policy
        try:
            self._thread = get_ident()
            wait_s: float | None = None
            while not policy.ended and policy.identity.intact():
                with suppress(Empty):
                    self._wakeups.get(timeout=wait_s)
                wait_s = drive(policy.round(), self.registry)
            if not policy.identity.intact():  # the machine was restored: callers try again
                policy.wake(None)
        finally:
            self._thread = 0
            self._running.release()


_live: weakref.WeakSet[Keeper] = weakref.WeakSet()


@atexit.register
def _finish() -> None:
    for keeper in list(_live):
        keeper.finish()


def _in_child() -> None:
    for keeper in list(_live):
        keeper.wake_in_child()


os.register_at_fork(after_in_child=_in_child)
