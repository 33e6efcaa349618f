"""One served namespace: its generator, and whether it will still have IDs in a moment.

``/readyz`` must report a problem before the first call fails. A namespace is unready when:

- its generator is (``Status.why_unready``): the registry does not answer and IDs are about to run
  out, or it grants nothing, or the time field is full;
- no claim is held, and the registry does not answer a read either. Without this read, the next
  caller would be the first to notice;
- a call failed within the last seconds;
- it is a counter that was never set up, so nothing tells its first value.

That read (see ``RecordCache``) also compares the layout of the record with that of the namespace.
A service that is configured for another layout reports it at the start, or as soon as its registry
answers.

A service gets the first claim of each namespace when it starts, so the first caller does not wait.
If the registry does not answer and the claim is used up, calls fail at once, and one task waits for
the next claim in the place of all.
"""

import asyncio
from array import array
from collections.abc import Awaitable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from typing import NamedTuple, TypeVar

from frazil import errors
from frazil.aio import AwaitedGenerator
from frazil.claims.claim import Snapshot, layout_mismatch
from frazil.errors import FrazilError, Misuse, RegistryUnavailable
from frazil.generator.awaiting import wait_through
from frazil.generator.kept_walk import KeptWalk
from frazil.generator.request import OpenRequest
from frazil.generator.status import Status
from frazil.inputs.masking import masked
from frazil.registries.commands import init_command
from frazil.schemes.scheme import Scheme
from frazil.service import logs
from frazil.system.clock import boot_ns, moment, to_us, wall_us
from frazil.walk.walk import Pause

BATCH_MOST = 1_000_000  # the most IDs in one request

Waited = TypeVar("Waited")


class _NoCounter(errors.ConfigError):
    """A counter has no record. The service starts nevertheless, and uses it once it is set up."""


_ONE_READ_NS = 500_000_000
_READ_MOST_S = 3.0
_MANY = 16  # keyed texts that are worth an array
_HAS_NUMPY = find_spec("numpy") is not None
_REFUSED_NS = 5_000_000_000
_HICCUP_S = 4  # for so long, callers wait for a registry that does not answer


class Known(NamedTuple):
    """What was read, and when."""

    at_ns: int
    snapshot: Snapshot | None


class RecordCache:
    """The record of a namespace, for ``/readyz`` and the claims table. Connects at the first read.

    Each read of the registry answers all requests of half a second. Reads run one at a time, in a
    thread and on a connection of their own, so no generator waits for them. last: the last read
    that was answered; None before.
    """

    def __init__(self, request: OpenRequest) -> None:
        self._registry = request.connect()
        self.terms = self._registry.terms
        self._thread = ThreadPoolExecutor(1, f"frazil-look-{request.namespace}")
        self._reading: asyncio.Task[Snapshot | FrazilError | None] | None = None
        self._began_ns = 0
        self.last: Known | None = None

    async def read(self) -> Snapshot | None:
        """Return the contents of the record, or None if there is none. Raises registry errors."""
        task = self._reading
        if task is None or (task.done() and boot_ns() - self._began_ns > _ONE_READ_NS):
            self._began_ns = boot_ns()
            task = self._reading = asyncio.create_task(self._look())
        # The read continues if the caller is cancelled: a registry serves one thread at a time.
        done, _ = await asyncio.wait([task], timeout=_READ_MOST_S)
        if not done:
            raise RegistryUnavailable(
                f"the registry did not answer within {_READ_MOST_S:g} s; retry"
            )
        found = task.result()
        if isinstance(found, FrazilError):
            raise found.again()
        return found

    async def _look(self) -> Snapshot | FrazilError | None:
        """Return the error instead of raising it, since no caller may be waiting for it."""
        try:
            found = await asyncio.get_running_loop().run_in_executor(
                self._thread, self._registry.look
            )
        except FrazilError as error:
            return error
        self.last = Known(boot_ns(), found)
        return found


class ServedNamespace:
    """Issues the IDs of one namespace. Created before the event loop runs; connects at first use.

    issued: IDs handed to an endpoint. The walk's own count is exact only between two ticks. names:
    the members of each reply that name the namespace. record: its record in the registry. new:
    whether it is red until its first claim, as no worker is that replaces another.
    """

    def __init__(self, request: OpenRequest) -> None:
        self.name = request.namespace
        self.scheme = request.scheme
        self.names = {"namespace": self.name, "scheme": self.scheme.name}
        self._walk = KeptWalk(request)
        self.issued = 0
        self.waits = 0
        self.failures = 0
        self._async = AwaitedGenerator(self._walk)
        self.record = RecordCache(request)
        self._refused_ns: int | None = None
        self._url = masked(request.url)
        self._looked = False
        self.new = True
        self._first = self.record.terms.timed  # whether there was no claim yet; blocks leave holes
        self._look_error: FrazilError | None = None  # raised by the last read
        self._claiming: asyncio.Task[None] | None = None
        self._outage: RegistryUnavailable | None = None  # known since a call that waited in vain
        self._fault: FrazilError | None = None  # of the last call, until one succeeds
        self._noted = ("", 0)  # the last error, and when

    def ready_one(self) -> int | None:
        """Return the next ID, or None if it is not available at once."""
        answer = self._walk.poll()
        if isinstance(answer, Pause):
            return None
        self.issued += 1
        return answer

    def ready(self, n: int) -> list[int]:
        """Return up to ``n`` IDs that are available at once, in order."""
        ids = self._walk.take_ready(n)
        self.issued += len(ids)
        return ids

    async def many(self, n: int) -> list[int]:
        """Return the next ``n`` IDs, in order. Raises what the generator raises."""
        ids = self.ready(n)
        if len(ids) < n:
            self._fail_fast()
            self.waits += 1
            rest = await self._counted(self._async.take(n - len(ids)))
            self.issued += len(rest)
            ids += rest
        return ids

    async def pass_by(self, seen: Sequence[str], *, trusted: bool) -> None:
        """Wait until every later ID exceeds those seen; see ``frazil.Generator.after``.

        An ID that is too far ahead fails its own request, and does not make the namespace unready.
        """
        marks = self._walk.marks(seen, trusted=trusted)
        self._fail_fast()
        await wait_through(self._walk, self._walk.passing(marks))

    async def words(self, n: int) -> "array[int]":
        """Return the next ``n`` IDs of up to 64 bits as an array, which costs a fifth of a list."""
        out = array("Q", bytes(8 * n))
        while True:
            identity = self._walk.own_identity()
            at = self._walk.fill(out, 0)
            if at < n:
                self._fail_fast()
                self.waits += 1
                filling = self._walk.filling(out, at, n)
                await self._counted(wait_through(self._walk, filling))
            self.issued += n
            if identity.mine:
                return out

    def _fail_fast(self) -> None:
        """Raise the error of a registry that is known not to answer, if there is no claim left."""
        if self._walk.reach() > 0:
            return
        trouble = self._walk.keeper.policy.trouble
        away_s = self._walk.status().store_away_s
        if isinstance(trouble, RegistryUnavailable) and away_s >= _HICCUP_S:
            self._outage = trouble
        if self._outage is not None:
            self.get_claim()
            self._refuse(self._outage)
            raise self._outage.again()

    def get_claim(self) -> None:
        """Wait for a claim in a task of its own, if none does."""
        if self._claiming is None or self._claiming.done():
            self._claiming = asyncio.create_task(self._get_claim())

    async def _get_claim(self) -> None:
        try:
            await self._async.ready()
            self._first, self._outage, self._fault = False, None, None
        except FrazilError as error:
            self._note(error)

    def _note(self, error: FrazilError) -> None:
        self._fault, self._noted = error, (masked(error), wall_us())

    def _refuse(self, error: FrazilError) -> None:
        """Record that a call failed."""
        self._note(error)
        self.failures += 1
        self._refused_ns = boot_ns()

    async def check_layout(self) -> str:
        """Compare the layout with that of the record: "", or the problem, which names both.

        If the registry does not answer, ``recheck`` repeats the check.
        """
        await self._look()
        error = self._look_error
        wrong = isinstance(error, Misuse) and not isinstance(error, _NoCounter)
        return f"namespace {self.name!r} cannot be served: {error}" if wrong else ""

    async def recheck(self) -> None:
        """Read the record again if the last read failed or found an error, and log the error.

        A namespace without a claim gets its first one, or another one if it is unready.
        """
        if not self._looked or self._look_error is not None:
            await self._look()
        if self._look_error is not None:
            logs.failure(self.name, self._look_error, "not ready")
            return
        status = self._walk.status()  # without a call it would stay as it is
        if self._first or self._outage is not None or status.store_away_s or status.blocked:
            self.get_claim()

    async def unready(self) -> str:
        """Return why the next calls may fail, without host names; "" if they will not."""
        if why := self._trouble():
            return why
        await self._look()
        if isinstance(self._look_error, errors.TryLater) and self._lasts():
            return ""
        return self._registry_trouble()

    def known_unready(self) -> str:
        """Return what ``unready`` returns as far as it is known without a read."""
        known = self._look_error is None or isinstance(self._look_error, Misuse)
        return self._trouble() or (self._registry_trouble() if known else "")

    def _trouble(self) -> str:
        """Return why calls fail, or are about to, as the generator knows it."""
        if why := self._walk.status().why_unready():
            return why
        since_ns = self._refused_ns
        if since_ns is not None and boot_ns() - since_ns < _REFUSED_NS:
            return "a call failed a moment ago"
        return ""

    def _lasts(self) -> bool:
        """Return whether the claim lasts for a while without the registry."""
        status = self._walk.status()
        return status.claimed and (status.seconds_left or 0.0) >= status.margin_s

    def _registry_trouble(self) -> str:
        """Return what the last read of the registry found, without host names."""
        if self._look_error is None:
            waits = self._first and self.new and not self.issued
            return "the first claim is not there yet" if waits else ""
        if isinstance(self._look_error, errors.TryLater):
            return "the registry does not answer"
        if isinstance(self._look_error, _NoCounter):
            return "the counter was not set up; the log has the command (frazil init)"
        if isinstance(self._look_error, Misuse):
            return "the configuration does not match the registry; see the log"
        return "the registry cannot be used; see the log"

    @property
    def page(self) -> str:
        """The page that says what to do about the present fault."""
        if self._walk.keeper.journal.apart_us is not None:
            return errors.ClockError.page
        fault = self._walk.keeper.policy.trouble or self._fault or self._look_error
        return errors.PoolExhausted.page if fault is None else fault.page

    def status(self) -> Status:
        """Return its state in this process. ``last_error`` names hosts, so it is for admins only.

        IDs, waits and failures are those of clients. seconds_left: None without a time.
        """
        status = self._walk.status()
        at = status.last_error_at
        error, error_us = max(
            self._noted, (status.last_error, to_us(at) if at else 0), key=lambda noted: noted[1]
        )
        return replace(
            status,
            issued=self.issued,
            waits=self.waits,
            failures=self.failures,
            seconds_left=status.seconds_left if self._walk.keeper.policy.terms.timed else None,
            last_error=error,
            last_error_at=moment(error_us) if error else None,
        )

    async def close(self) -> None:
        """Stop issuing, and give back the rest of the claim."""
        if self._claiming is not None:
            self._claiming.cancel()
        await self._async.aclose()

    async def _counted(self, waiting: Awaitable[Waited]) -> Waited:
        """Wait for IDs, and record whether the call failed."""
        try:
            found = await waiting
        except errors.Closed:
            raise
        except FrazilError as error:
            self._refuse(error)
            if isinstance(error, RegistryUnavailable):
                self._outage = error
            if isinstance(error, Misuse):
                await self._look()
                if isinstance(self._look_error, Misuse):
                    raise self._look_error from None  # more exact: it has the command
            raise
        self._refused_ns = self._outage = self._fault = None
        return found

    def _no_counter(self) -> errors.ConfigError:
        """Return the error for a counter without a record, with the command that makes it."""
        command = init_command(self._url, self.name, self.scheme)
        return _NoCounter(
            f"counter {self.name!r} does not exist, or was lost; find the highest value in use and "
            f"run once: {command} --start N (--new if it was never used)",
            namespace=self.name,
        )

    async def _look(self) -> None:
        """Read the record, and compare its layout."""
        terms = self.record.terms
        try:
            found = await self.record.read()
            if found is not None and found.fingerprint != terms.fingerprint:
                raise layout_mismatch(found.layout, terms)
            if found is None and not terms.timed:
                raise self._no_counter()
            self._look_error = None
        except FrazilError as error:
            self._look_error = error
            self._noted = masked(error), wall_us()
        self._looked = True


def texts(scheme: Scheme, ids: Sequence[int]) -> Iterable[str]:
    """Return each ID as the scheme shows it, in order.

    A keyed text costs a whole encryption, and those of an array share most of their work.
    """
    if scheme.key and len(ids) >= _MANY and _HAS_NUMPY:
        return map(str, scheme.format_many(ids))
    return map(scheme.format, ids)
