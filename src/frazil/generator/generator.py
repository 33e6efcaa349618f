"""What users hold: a walk that waits by itself.

The walk answers an ID, a wait, or "no claim"; a caller wants an ID. This is the skin between: it
sleeps through the waits, calls the keeper when there is no claim, starts a new life after a fork,
and raises what cannot be waited for. Neither a lock nor the interpreter is held while it waits, and
it polls nothing: it sleeps for the time the walk named, or until the keeper wakes it.

The everyday call does not come here at all: ``Generator`` inherits ``__call__`` and ``__next__``
from the walk, which answers in C while its tick has cells left. Only a tick's end comes here.

**Fork is a new owner.** In a child every generator finds its sense of self gone (see ``machine``),
forgets the claim, which is its parent's, and calls a keeper of its own when it needs an ID. A fork
made by a signal handler, while a call gathers many IDs, makes the child begin that call again.
Pickling and copying carry the configuration and never the claim.

**An exception may come between any two lines**: a signal handler raised it (Ctrl-C, an alarm, a
task queue's time limit). So nothing here is put right later. IDs are in no list that outlives the
call, a step of the walk is done or not done, and what a call begins for all (a life after a fork,
the end at ``close``) the next call begins again or finds begun. Nobody waits for another's half.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from frazil.claims.claim import Terms
from frazil.errors import ConfigError
from frazil.generator.calls import Call, Gate
from frazil.generator.complaints import closed
from frazil.generator.keeper import Keeper
from frazil.inputs.duration import duration_text, duration_us
from frazil.inputs.url import anchored
from frazil.registries import connect
from frazil.registries.base import Registry
from frazil.schemes.scheme import Scheme, scheme
from frazil.system.clock import boot_ns
from frazil.system.process import ProcessIdentity, require_gil
from frazil.walk.atomic import AtomicWalk
from frazil.walk.walk import CLOSED, COMPILED, FORKED, SPENT, Pause, Walk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Config", "Generator", "check_count", "configure", "refuse_given", "walk_arguments"]

_LONGEST_NAP_NS = 50_000_000  # so that a close by another thread is noticed
_ROW_BITS = 12  # of a counter: few enough for a short step when a claim is left, many for speed
_CELL_BITS = 62  # of a tick: what fits a machine's word, and more than any tick has time for
_BLOCKS = {"run": 1, "sequence": 1000}
_MOST_AT_ONCE = 1 << 40

Duration = str | float | timedelta


@dataclass(frozen=True, slots=True)
class Config:
    """All that ``open`` was told. Two generators of equal configs share nothing but that.

    url: with its password, and so in no repr.
    """

    url: str = field(repr=False)
    namespace: str
    scheme: Scheme
    lead_us: int
    timeout_us: int
    scattered: bool
    block: int


def configure(
    url: str,
    scheme_: str | Scheme,
    *,
    namespace: str = "default",
    fields: Mapping[str, int] | None = None,
    lead: Duration = 0,
    timeout: Duration = 10,
    sequence_start: int | str = 0,
    block: int | None = None,
) -> tuple[Config, Registry]:
    """Check what ``open`` was told. Contacts nothing. Raises ConfigError and LayoutError."""
    if type(sequence_start) not in (int, str) or sequence_start not in (0, "random"):
        raise ConfigError(f'sequence_start is 0 or "random", not {sequence_start!r}')
    chosen = scheme(scheme_, fields=fields)
    config = Config(
        url=url,
        namespace=namespace,
        scheme=chosen,
        lead_us=duration_us(lead, name="lead"),
        timeout_us=duration_us(timeout, name="timeout"),
        scattered=sequence_start == "random",
        block=_BLOCKS.get(chosen.layout.axis, 0) if block is None else block,
    )
    registry = connect(config.url, namespace, config.scheme)
    config = replace(config, url=anchored(config.url))
    if block is not None:
        _check_block(block, registry.terms)
    horizon_us = registry.terms.horizon_ticks * registry.terms.tick_us
    if config.lead_us > horizon_us and registry.terms.timed:
        raise ConfigError(
            f"lead={duration_text(config.lead_us)} is more than the registry's horizon "
            f"{duration_text(horizon_us)}; nothing is given away that far ahead "
            "(raise ?horizon= for all members, or lower lead=)",
            value=config.lead_us,
            limit=horizon_us,
        )
    return config, registry


def _check_block(block: int, terms: Terms) -> None:
    """ConfigError for a block of a layout with time, and for one that is too long."""
    if terms.timed:
        raise ConfigError(
            f"block= is for counters and runs, and {terms.layout!r} goes by time; leave it out",
            value=block,
        )
    if (
        not isinstance(block, int)
        or isinstance(block, bool)
        or not 0 < block <= terms.horizon_ticks
    ):
        raise ConfigError(
            f"block={block!r} is not within 1..{terms.horizon_ticks}, what may be taken at a time",
            value=block,
            limit=terms.horizon_ticks,
        )


def refuse_given(problem: str, **given: bool) -> None:
    """ConfigError for arguments that were given and have no meaning here; {} is their names."""
    if any(given.values()):
        raise ConfigError(problem.format(", ".join(name for name, told in given.items() if told)))


def walk_arguments(
    scheme_: Scheme, lead_us: int, dice: int | None, *, clocked: bool = True
) -> tuple[Any, ...]:
    """The arguments of ``Walk`` for a scheme, after the identity.

    clocked=False is for a walk that takes each claim as due when it comes.
    """
    tick_us = scheme_.layout.tick_us or 0
    return *_places(scheme_), tick_us * 1000 if clocked else 0, lead_us * 1000, dice


@lru_cache(maxsize=64)  # so that a child that lives for one ID finds it worked out
def _places(scheme_: Scheme) -> tuple[Any, ...]:
    """Where in an ID the walk writes what it counts, and the bits that it never changes."""
    layout = scheme_.layout
    free = {each.name: 0 for each in layout.fields if each.fixed is None}
    sequence = scheme_.positions("sequence")
    return (
        scheme_.bits,
        scheme_.positions(layout.axis),
        scheme_.positions("node"),
        sequence[: _ROW_BITS if layout.axis == "sequence" else _CELL_BITS],
        scheme_.pack(**free),
    )


if TYPE_CHECKING:
    _Base: TypeAlias = AtomicWalk
else:
    _Base = Walk if COMPILED else AtomicWalk


class Generator(_Base):
    """Unique IDs: call it, iterate over it, or take many at once. Made by ``frazil.open``.

    Threads may share it. ``scheme`` reads and writes its IDs; ``config`` is what it was opened
    with.
    """

    def __init__(self, config: Config, registry: Registry) -> None:
        require_gil()
        dice = int.from_bytes(os.urandom(6), "big") if config.scattered else None
        super().__init__(ProcessIdentity(), *walk_arguments(config.scheme, config.lead_us, dice))
        self.config = config
        self.scheme = config.scheme
        self._registry = registry
        self._lives = {self.identity.era: Keeper(self, registry, config.block)}

    def take(self, n: int) -> list[int]:
        """The next ``n`` IDs, in order, in one step; a tick's end is no obstacle."""
        left = check_count(n)
        identity = self.own_sense()
        ids = self.take_ready(left)
        since_ns = boot_ns()
        while len(ids) < left:
            self._wait(self.pause_ns(), since_ns)
            more = self.take_ready(left - len(ids))
            if more:
                ids += more
                since_ns = boot_ns()
        if identity.mine:
            return ids
        return self.take(n)

    def array(self, n: int) -> "NDArray[np.uint64]":
        """The next ``n`` IDs as a numpy array of uint64.

        IDs wider than 64 bits come as a structured array with the fields ``hi`` and ``lo``. Raises
        ConfigError where numpy is not installed.
        """
        from frazil.schemes.arrays import empty

        array = empty(check_count(n), self.scheme.bits)
        words = array.view("<u8")
        identity = self.own_sense()
        at = self.fill(words, 0)
        since_ns = boot_ns()
        while at < n:
            self._wait(self.pause_ns(), since_ns)
            before, at = at, self.fill(words, at)
            if at > before:
                since_ns = boot_ns()
        if identity.mine:
            return array
        return self.array(n)

    def text(self) -> str:
        """The next ID in the scheme's text form."""
        while True:
            identity = self.own_sense()
            text = self.scheme.format(self())
            if identity.mine:
                return text

    def close(self) -> None:
        """Issue nothing more, and give back the unused part of the claim. Twice is no error."""
        self._keeper.close(self.finish())

    def poll(self) -> int | Pause:
        """An ID, or a Pause."""
        answer = super().poll()
        if self.wanting:
            self._keeper.look_ahead()
        return answer

    def take_ready(self, count: int) -> list[int]:
        """Up to ``count`` IDs in order: all that may be had without waiting. Maybe none."""
        ids = super().take_ready(count)
        if self.wanting:
            self._keeper.look_ahead()
        return ids

    def fill(self, out: Any, at: int) -> int:
        """Write IDs into ``out`` from index ``at`` on (see ``Walk``)."""
        at = super().fill(out, at)
        if self.wanting:
            self._keeper.look_ahead()
        return at

    def own_sense(self) -> ProcessIdentity:
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
            identity = self.own_sense()
            answer = self.poll()
            if isinstance(answer, Pause):
                self._wait(answer.wait_ns, since_ns)
            elif identity.mine:
                return answer

    def reborn(self) -> None:
        """After a fork: forget what is the parent's.

        Threads and signal handlers may all do it at once. They come to one keeper, and one of them
        changes the walk, in one step; none waits for another.
        """
        identity = ProcessIdentity()
        self._lives.setdefault(identity.era, Keeper(self, self._registry, self.config.block))
        self.rise(identity)

    @property
    def _keeper(self) -> Keeper:
        return self._lives[self.identity.era]

    @property
    def keeper(self) -> Keeper:
        """Who brings the claims; for those who watch how they stand."""
        return self._keeper

    def call_keeper(self, call: Call) -> Keeper:
        """Have ``call`` woken when there is a claim, or an error; answers the keeper asked."""
        keeper = self._keeper
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
        if waited_ns + pause_ns > self.config.timeout_us * 1000 + _LONGEST_NAP_NS:
            raise self._keeper.complaint(waited_ns / 1e9)
        return min(pause_ns, _LONGEST_NAP_NS)

    def patience_s(self, since_ns: int) -> float:
        """Seconds that a caller who waits since then may still wait for a claim."""
        return max(self.config.timeout_us / 1e6 - (boot_ns() - since_ns) / 1e9, 0.0)

    def _wait(self, pause_ns: int, since_ns: int) -> None:
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if "_lives" in self.__dict__:
            self._keeper.end(self.finish(), Gate())

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.config,)

    def __repr__(self) -> str:
        config = self.config
        return (
            f"<frazil.Generator {config.scheme.name} {config.namespace!r} at {self._registry.url}"
            f"{' closed' if self.closed else ''}>"
        )


def _reopen(config: Config) -> Generator:
    return Generator(config, connect(config.url, config.namespace, config.scheme))


def check_count(n: int) -> int:
    """``n`` if it is a number of IDs; else ConfigError."""
    if not isinstance(n, int) or isinstance(n, bool) or n < 0:
        raise ConfigError(f"how many IDs? {n!r} is no whole number from 0 on", value=n)
    if n > _MOST_AT_ONCE:
        raise ConfigError(f"{n} IDs at once are more than memory holds; ask for them in parts")
    return n
