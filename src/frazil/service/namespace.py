"""One namespace as the doors see it: IDs, and the truth about how long there will be some.

A generator needs no server around it to issue. What a service needs beside it is an answer to "will
you still have an ID in a moment?", given before it is too late. Three things say no:

- the registry did not answer the keeper, which asks when half of its claim is left; so this is
  known while there still are IDs;
- the generator rests, holds nothing, and the registry does not answer a look at it either. Nobody
  else would notice before the first caller;
- a caller was sent away within the last seconds.

The look uses a connection and a thread of its own, at most once a second however many ask.

Each look also compares the layout of the record with the namespace's. So a service that is set up
for another layout says so when it starts, or as soon as its registry answers, and not to the first
caller.
"""

import asyncio
from array import array
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from frazil.aio import AwaitedGenerator
from frazil.claims.record import layout_mismatch
from frazil.errors import (
    Closed,
    ConfigError,
    FrazilError,
    LayoutError,
    Misuse,
    RegistryUnavailable,
    TryLater,
)
from frazil.generator.awaiting import wait_through
from frazil.generator.kept_walk import KeptWalk
from frazil.generator.local import registry_of
from frazil.service import logs
from frazil.service.settings import Namespace
from frazil.service.side_threads import Aside
from frazil.system.clock import boot_ns, wall_us
from frazil.walk.walk import Pause

__all__ = ["MOST", "Gauge", "Issuer"]

MOST = 1_000_000
"""IDs that may be asked for at once."""

Waited = TypeVar("Waited")

_LOOK_EVERY_NS = 1_000_000_000
_LOOK_PATIENCE_S = 3.0
_SENT_AWAY_NS = 5_000_000_000


@dataclass(frozen=True, slots=True)
class Gauge:
    """How a namespace stands. Units are in the names; what is not known is None."""

    issued: int
    waits: int
    failures: int
    lead_s: float | None
    claim_left_s: float | None
    trouble_s: float
    renew_failures: int
    clock_offset_s: float | None
    exhausted_in_s: float | None


class Issuer:
    """Issues the IDs of one namespace. Made before the loop runs; nothing is contacted.

    issued: IDs handed to a door. The walk counts its cells when it leaves a tick, which is exact
    only then.
    """

    def __init__(self, namespace: Namespace) -> None:
        request = namespace.request()
        self.name = namespace.name
        self.scheme = namespace.scheme
        self._walk = KeptWalk(request, registry_of(request))
        self.issued = 0
        self.waits = 0
        self.failures = 0
        self._async = AwaitedGenerator(self._walk)
        self._scout = registry_of(request)
        self._aside = Aside(f"look-{self.name}")
        self._sent_away_ns: int | None = None
        self._looked_ns: int | None = None
        self._seen: FrazilError | None = None  # what the last look raised
        self._looking: asyncio.Task[None] | None = None

    def ready_one(self) -> int | None:
        """The next ID if it can be had without waiting."""
        answer = self._walk.poll()
        if isinstance(answer, Pause):
            return None
        self.issued += 1
        return answer

    def ready(self, n: int) -> list[int]:
        """Up to ``n`` IDs, in order: those that can be had without waiting."""
        ids = self._walk.take_ready(n)
        self.issued += len(ids)
        return ids

    async def one(self) -> int:
        """The next ID. Raises what the generator raises."""
        found = self.ready_one()
        if found is None:
            found = (await self._waited(1))[0]
        return found

    async def many(self, n: int) -> list[int]:
        """The next ``n`` IDs, in order."""
        ids = self.ready(n)
        if len(ids) < n:
            ids += await self._waited(n - len(ids))
        return ids

    async def words(self, n: int) -> "array[int]":
        """The next ``n`` IDs of at most 64 bits as words, which costs a fifth of a list of them."""
        out = array("Q", bytes(8 * n))
        while True:
            identity = self._walk.own_identity()
            at = self._walk.fill(out, 0)
            if at < n:
                self.waits += 1
                filling = self._walk.filling(out, at, n)
                await self._reported(wait_through(self._walk, filling))
            self.issued += n
            if identity.mine:
                return out

    async def begin(self) -> None:
        """Compare the layout with the record's; raises ConfigError, which names both.

        A registry that does not answer now is asked again by ``look_again``.
        """
        await self._look()
        if isinstance(self._seen, Misuse):
            raise ConfigError(
                f"namespace {self.name!r} cannot be served: {self._seen}",
                **{**self._seen.facts, "namespace": self.name},
            )

    async def look_again(self) -> None:
        """Look at a registry that was not seen yet, or not as it should be; log what is wrong."""
        if self._looked_ns is None or self._seen is not None:
            await self._look()
        if self._seen is not None and not isinstance(self._seen, TryLater):
            logs.failure(self.name, self._seen)

    async def unready(self) -> str:
        """Why the next callers may get no ID, in words without names of hosts; "" if they will."""
        why = self._soon()
        if not why:
            await self._look()
            why = self._words()
        return why

    def short(self) -> str:
        """The part of ``unready`` that is known without a look at the registry."""
        return self._soon() or (self._words() if isinstance(self._seen, Misuse) else "")

    def _soon(self) -> str:
        """Why callers will be, or were just now, without an ID, as the generator has it."""
        if self._walk.closed:
            return "it is closing"
        keeper = self._walk.keeper
        if keeper.trouble is not None and keeper.claim is not None and self._walk.reach() > 0:
            return "its registry does not answer; what is left of its claim is being used up"
        since_ns = self._sent_away_ns
        if since_ns is not None and boot_ns() - since_ns < _SENT_AWAY_NS:
            return "callers were sent away without an ID a moment ago"
        return ""

    def _words(self) -> str:
        """What the last look saw, in words without names of hosts."""
        if self._seen is None:
            return ""
        if isinstance(self._seen, TryLater):
            return "its registry does not answer"
        if isinstance(self._seen, Misuse):
            return "it is not set up for its registry; the log has the reason"
        return "its registry cannot be used; the log has the reason"

    def gauge(self) -> Gauge:
        """How the namespace stands now."""
        keeper, walk = self._walk.keeper, self._walk
        terms = keeper.terms
        lead_s = left_s = offset_s = None
        if terms.timed:
            tick_s = terms.tick_us / 1e6
            left_s = walk.reach() * tick_s
            held = keeper.claim is not None and walk.held
            due = walk.due(boot_ns())
            lead_s = max(0, walk.tick - due) * tick_s if held else 0.0
            if held:
                offset_s = (wall_us() - terms.epoch_us) / 1e6 - (due + 0.5) * tick_s
        try:
            end_us = self.scheme.layout.exhausted_us
        except LayoutError:
            end_us = None
        now_us = wall_us()
        return Gauge(
            issued=self.issued,
            waits=self.waits,
            failures=self.failures,
            lead_s=lead_s,
            claim_left_s=left_s,
            trouble_s=0.0
            if keeper.trouble is None
            else max(0.0, (now_us - keeper.trouble_since_us) / 1e6),
            renew_failures=keeper.failures,
            clock_offset_s=offset_s,
            exhausted_in_s=None if end_us is None else (end_us - now_us) / 1e6,
        )

    async def close(self) -> None:
        """Issue nothing more, and give back what is left of the claim."""
        if self._looking is not None:
            self._looking.cancel()
        await self._async.aclose()

    async def _waited(self, n: int) -> list[int]:
        self.waits += 1
        ids = await self._reported(self._async.take(n))
        self.issued += len(ids)
        return ids

    async def _reported(self, waiting: Awaitable[Waited]) -> Waited:
        """Wait for IDs, and remember whether a caller was sent away."""
        try:
            found = await waiting
        except Closed:
            raise
        except FrazilError:
            self.failures += 1
            self._sent_away_ns = boot_ns()
            raise
        self._sent_away_ns = None
        return found

    async def _look(self) -> None:
        """Learn whether the registry answers, unless that was learnt a moment ago."""
        if self._looking is None or self._looking.done():
            if self._looked_ns is not None and boot_ns() - self._looked_ns < _LOOK_EVERY_NS:
                return
            self._looking = asyncio.create_task(self._look_now())
        try:
            await asyncio.wait_for(asyncio.shield(self._looking), _LOOK_PATIENCE_S)
        except TimeoutError:
            self._seen = RegistryUnavailable(
                f"the registry did not answer within {_LOOK_PATIENCE_S:g} s; it is asked again"
            )

    async def _look_now(self) -> None:
        terms = self._scout.terms
        try:
            found = await self._aside.call(self._scout.look)
            if found is not None and found.fingerprint != terms.fingerprint:
                raise layout_mismatch(found.layout, terms)
        except FrazilError as error:
            self._seen = error
        else:
            self._seen = None
        finally:
            self._looked_ns = boot_ns()
