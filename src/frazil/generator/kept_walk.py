"""A walk with its keeper: IDs as long as claims come, and how to wait until they do.

The walk answers an ID, a wait, or "no claim"; a caller wants an ID. Here is what lies between: it
names how long to sleep, calls the keeper when there is no claim, starts a new life after a fork,
and raises what cannot be waited for. Neither a lock nor the interpreter is held while it waits, and
it polls nothing: it sleeps for the time that the walk named, or until the keeper wakes it.

Threads wait here, tasks wait in ``frazil.aio``. What both do between two waits is written once, as
Python generators (``taking``, ``filling``) that yield each pause.

**Fork is a new owner.** In a child every walk finds its process identity gone (see
``system.process``), forgets the claim, which is its parent's, and calls a keeper of its own when it
needs an ID. A fork made by a signal handler, while a call gathers many IDs, makes the child begin
that call again.

**An exception may come between any two lines**: a signal handler raised it (Ctrl-C, an alarm, a
task queue's time limit). So nothing here is put right later. IDs are in no list that outlives the
call, a step of the walk is done or not done, and what a call begins for all (a life after a fork,
the end at ``close``) the next call begins again or finds begun. Nobody waits for another's half.
"""

import os
import time
from collections.abc import Generator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from frazil.generator.calls import Call, Gate
from frazil.generator.complaints import closed
from frazil.generator.keeper import Keeper
from frazil.generator.request import Request
from frazil.registries.base import Registry
from frazil.schemes.scheme import Scheme
from frazil.system.clock import boot_ns
from frazil.system.process import ProcessIdentity, require_gil
from frazil.walk.atomic import AtomicWalk
from frazil.walk.walk import CLOSED, COMPILED, FORKED, SPENT, Pause, Walk

__all__ = ["KeptWalk", "Pauses", "walk_arguments"]

Pauses: TypeAlias = Generator[tuple[int, int], None, None]
"""Yields a pause of the walk, and since when the caller has waited, each time it has to wait."""

_LONGEST_NAP_NS = 50_000_000  # so that a close by another thread is noticed
_ROW_BITS = 12  # of a counter: few enough for a short step when a claim is left, many for speed
_CELL_BITS = 62  # of a tick: what fits a machine's word, and more than any tick has time for
_BLOCKS = {"run": 1, "sequence": 1000}


def walk_arguments(
    scheme: Scheme, lead_us: int, dice: int | None, *, clocked: bool = True
) -> tuple[Any, ...]:
    """The arguments of ``Walk`` for a scheme, after the identity.

    clocked=False is for a walk that takes each claim as due when it comes.
    """
    tick_us = scheme.layout.tick_us or 0
    return *_places(scheme), tick_us * 1000 if clocked else 0, lead_us * 1000, dice


@lru_cache(maxsize=64)  # so that a child that lives for one ID finds it worked out
def _places(scheme: Scheme) -> tuple[Any, ...]:
    """Where in an ID the walk writes what it counts, and the bits that it never changes."""
    layout = scheme.layout
    free = {each.name: 0 for each in layout.fields if each.fixed is None}
    sequence = scheme.positions("sequence")
    return (
        scheme.bits,
        scheme.positions(layout.axis),
        scheme.positions("node"),
        sequence[: _ROW_BITS if layout.axis == "sequence" else _CELL_BITS],
        scheme.pack(**free),
    )


if TYPE_CHECKING:
    _Base: TypeAlias = AtomicWalk
else:
    _Base = Walk if COMPILED else AtomicWalk


class KeptWalk(_Base):
    """A walk of the claims that its keeper gets from ``registry``. Threads may share it."""

    def __init__(self, request: Request, registry: Registry) -> None:
        require_gil()
        self.request = request
        self.registry = registry
        dice = int.from_bytes(os.urandom(6), "big") if request.scattered else None
        super().__init__(ProcessIdentity(), *walk_arguments(request.scheme, request.lead_us, dice))
        usual = _BLOCKS.get(request.scheme.layout.axis, 0)
        self._block = usual if request.block is None else request.block
        self._lives = {self.identity.era: Keeper(self, registry, self._block)}

    @property
    def keeper(self) -> Keeper:
        """Who brings the claims in this process."""
        return self._lives[self.identity.era]

    def poll(self) -> int | Pause:
        """An ID, or a Pause."""
        answer = super().poll()
        if self.wanting:
            self.keeper.look_ahead()
        return answer

    def take_ready(self, count: int) -> list[int]:
        """Up to ``count`` IDs in order: all that may be had without waiting. Maybe none."""
        ids = super().take_ready(count)
        if self.wanting:
            self.keeper.look_ahead()
        return ids

    def fill(self, out: Any, at: int) -> int:
        """Write IDs into ``out`` from index ``at`` on (see ``Walk``)."""
        at = super().fill(out, at)
        if self.wanting:
            self.keeper.look_ahead()
        return at

    def taking(self, ids: list[int], count: int) -> Pauses:
        """Take more IDs until the list has ``count``; a tick's end is no obstacle."""
        since_ns = boot_ns()
        while len(ids) < count:
            yield self.pause_ns(), since_ns
            more = self.take_ready(count - len(ids))
            if more:
                ids += more
                since_ns = boot_ns()

    def filling(self, out: Any, at: int, size: int) -> Pauses:
        """Write IDs into ``out`` from index ``at`` to ``size``."""
        since_ns = boot_ns()
        while True:
            before, at = at, self.fill(out, at)
            if at >= size:
                return
            if at > before:
                since_ns = boot_ns()
            yield self.pause_ns(), since_ns

    def own_identity(self) -> ProcessIdentity:
        """The identity of this process, for a call that begins.

        A signal handler may fork in the middle of a call. The child goes on in it, with what was
        gathered before, which is its parent's. So whoever gathers asks this identity, as the last
        thing before it returns, whether it is still in the process in which it began.
        """
        if not self.identity.mine:
            self.reborn()
        return self.identity

    def stalled(self) -> int:
        """The next ID, when the tick's cells are used up or there is no claim."""
        since_ns = boot_ns()
        while True:
            identity = self.own_identity()
            answer = self.poll()
            if isinstance(answer, Pause):
                self.wait(answer.wait_ns, since_ns)
            elif identity.mine:
                return answer

    def reborn(self) -> None:
        """After a fork: forget what is the parent's.

        Threads and signal handlers may all do it at once. They come to one keeper, and one of them
        changes the walk, in one step; none waits for another.
        """
        identity = ProcessIdentity()
        self._lives.setdefault(identity.era, Keeper(self, self.registry, self._block))
        self.rise(identity)

    def call_keeper(self, call: Call) -> Keeper:
        """Have ``call`` woken when there is a claim, or an error; answers the keeper asked."""
        keeper = self.keeper
        keeper.call(call)
        return keeper

    def nap_ns(self, pause_ns: int, since_ns: int) -> int | None:
        """How long to sleep for a pause of the walk; None: until the keeper has a claim.

        since_ns: when the caller began to wait. Raises what waiting does not help.
        """
        if pause_ns == FORKED:
            self.reborn()
            return 0
        if pause_ns == CLOSED:
            raise closed()
        if pause_ns == SPENT:
            return None
        waited_ns = boot_ns() - since_ns
        if waited_ns + pause_ns > self.request.timeout_us * 1000 + _LONGEST_NAP_NS:
            raise self.keeper.complaint(waited_ns / 1e9)
        return min(pause_ns, _LONGEST_NAP_NS)

    def patience_s(self, since_ns: int) -> float:
        """Seconds that a caller who waits since then may still wait for a claim."""
        return max(self.request.timeout_us / 1e6 - (boot_ns() - since_ns) / 1e9, 0.0)

    def wait(self, pause_ns: int, since_ns: int) -> None:
        """Wait as long as the walk says, or for a claim; raises what waiting does not help."""
        nap_ns = self.nap_ns(pause_ns, since_ns)
        if nap_ns is not None:
            time.sleep(nap_ns / 1e9)
            return
        gate = Gate()
        try:
            keeper = self.call_keeper(gate)
            if not gate.wait(self.patience_s(since_ns)):
                raise keeper.complaint((boot_ns() - since_ns) / 1e9)
            error = gate.error
        finally:
            del gate  # the call ends here, also where a traceback keeps this frame
        if error is not None:
            raise error.again()

    def close(self) -> None:
        """Issue nothing more, and give back the unused part of the claim. Twice is no error."""
        self.keeper.close(self.finish())

    def __del__(self) -> None:
        if "_lives" in self.__dict__:
            self.keeper.end(self.finish(), Gate())
