"""The keeper of a generator: it runs the rounds of a ``KeeperPolicy`` in the thread of its store.

That thread does all I/O, because the thread that needs an ID may be in a signal handler or an event
loop.

``atexit`` closes the open generators while the threads still run. It ends all of them first and
waits afterwards, so a store that does not answer delays the exit once.
"""

import atexit
import weakref
from _thread import get_ident
from contextlib import suppress

from frazil.errors import RegistryUnavailable
from frazil.generator.block_policy import BlockPolicy
from frazil.generator.calls import Call, Gate
from frazil.generator.complaints import inside_the_keeper, no_thread
from frazil.generator.journal import Journal
from frazil.generator.status import is_late
from frazil.generator.store_thread import NEVER_S, StoreThread, thread_of
from frazil.generator.timed_policy import TimedPolicy
from frazil.generator.verb_requests import ask_of
from frazil.registries.base import Registry
from frazil.registries.partitioned import PartitionedRegistry
from frazil.system import clock, event_log
from frazil.system.chance import jitter
from frazil.system.clock import boot_ns
from frazil.system.process import ProcessIdentity, at_fork, unlock
from frazil.system.steps import run_by
from frazil.walk.walk import Walk

CLOSE_WAIT_S = 2.0
_FLUSH_S = 1.0  # for the last records, if a handler of the program waits


class Keeper:
    """Keeps one walk, which it holds weakly, supplied from one registry; see ``KeeperPolicy``."""

    def __init__(self, walk: Walk, registry: Registry, block: int, keep_us: int) -> None:
        identity = ProcessIdentity()
        alone = isinstance(registry, PartitionedRegistry)
        self.thread = StoreThread() if alone else thread_of(registry.url, identity.era)
        self.registry = registry
        self.journal = Journal(registry.url, registry.terms)
        kind = TimedPolicy if registry.terms.timed else BlockPolicy
        self.policy = kind(
            weakref.ref(walk, self.thread.bell.put),
            registry.url,
            registry.terms,
            block,
            identity=identity,
            wall_us=clock.wall_us,
            jitter=jitter,
            ask_of=ask_of,
            keep_us=keep_us,
            report=self.journal,
        )
        _live.add(self)

    def call(self, call: Call) -> None:
        """See ``KeeperPolicy``.

        Raises RegistryUnavailable if no thread can be started, and in the thread itself, where
        Python may run a finalizer that asks for an ID: the thread would wait for itself.
        """
        if get_ident() == self.thread.ident:
            raise inside_the_keeper(self.registry.url)
        if self.policy.call(call):
            self._wake_thread()

    def doubt(self) -> bool:
        """See ``TimedPolicy``."""
        if isinstance(self.policy, TimedPolicy) and self.policy.doubt():
            self._wake_thread()
            return True
        return False

    @property
    def doubted(self) -> bool:
        """Whether the registry's clock was not heard since ``doubt``."""
        return isinstance(self.policy, TimedPolicy) and self.policy.doubted

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
        """End, and wait for the release, but not long; in the thread itself not at all."""
        self.end(used, gate := Gate())
        if get_ident() != self.thread.ident:
            gate.wait(CLOSE_WAIT_S)

    def finish(self) -> Gate | None:
        """At the interpreter's exit: end the walk, if it is this process's and open.

        Returns the call that is woken after the release.
        """
        walk = self.policy.walk()
        if walk is None or walk.closed or not self.policy.identity.intact():
            return None
        self.end(walk.finish(), gate := Gate())
        return gate

    def wake_in_child(self) -> None:
        """In a child: a caller that forked inside a call tries again, and notices the fork."""
        unlock(self.policy.walk())
        self.policy.calls.answer(None)
        self.policy.closers.answer(None)

    def away_s(self, left_s: float) -> float:
        """For how long the store has not answered; 0 if it does, or may still do so in time.

        left_s: how long IDs are left.
        """
        policy, thread = self.policy, self.thread
        now_ns, since_ns, trouble = boot_ns(), thread.silent_since_ns, policy.trouble
        silent_s = (now_ns - since_ns) / 1e9 if since_ns else 0.0
        if trouble is not None:
            return max(0.001, (clock.wall_us() - policy.trouble_since_us) / 1e6, silent_s)
        late = thread.asking and is_late(silent_s, policy.answer_ns / 1e9, left_s)
        return silent_s if late else 0.0

    def is_of(self, walk: weakref.ref[Walk]) -> bool:
        """See Served."""
        return self.policy.walk is walk

    def tend(self) -> float | None:
        """See Served."""
        if self._is_over():
            return None
        wait_s = run_by(self.policy.round(), lambda verb: self.thread.ask(verb, self.registry))
        if self._is_over():
            return None
        return NEVER_S if wait_s is None else wait_s

    def _is_over(self) -> bool:
        """Whether there is no other round. After a restore of the machine, callers try again."""
        intact = self.policy.identity.intact()
        if not intact:
            self.policy.wake(None)
        return self.policy.ended or not intact

    def _wake_thread(self) -> None:
        try:
            self.thread.call(self)
        except RuntimeError as error:
            raise no_thread(self.registry.url, error) from error


_live: weakref.WeakSet[Keeper] = weakref.WeakSet()


@atexit.register
def _finish() -> None:
    ended = [(keeper.thread, keeper.finish()) for keeper in list(_live)]
    silent: set[StoreThread] = set()
    for thread, gate in ended:
        if gate is not None and thread not in silent and not gate.wait(CLOSE_WAIT_S):
            silent.add(thread)
    event_log.flush(_FLUSH_S)


def _in_child() -> None:
    for keeper in list(_live):
        keeper.wake_in_child()


at_fork(after_in_child=_in_child)
