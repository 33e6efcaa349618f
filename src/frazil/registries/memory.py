"""``memory:``: claims within one process, for tests.

All generators of a process with ``memory:`` (or ``memory:NAME``) share one set of records, as
processes on a host share a file. It does not work across processes: a forked child has a copy of
the records and would grant the same claims as its parent. So a child gets an error; and so does
another interpreter of the process (``concurrent.interpreters``), which would have its own records.

The first ID needs no wait. Elsewhere a first use looks the same as a loss, and waits for a horizon.
Here it does not: the records and everything that was claimed from them are in one process, so a
namespace that this process never had holds no claims that could still be in use. A record that it
had and that is gone is a loss, as everywhere. The promise ends with the process: the IDs of two
processes, at the same time or one after the other, may be equal.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Lock

from frazil.claims.claim import Claim, LastSeen, Lost, VerbRequest, Wait
from frazil.claims.past import claim_past, declare_past
from frazil.claims.record import Record
from frazil.claims.slots import SlotTable
from frazil.errors import ConfigError
from frazil.inputs.url import Options, Url
from frazil.registries.base import RecordRegistry, terms_of
from frazil.schemes.scheme import Scheme
from frazil.system.process import ProcessIdentity

_records: dict[tuple[str, str], Record] = {}
_had: set[tuple[str, str]] = set()  # the records that were ever in this process
_lock = Lock()
_process = ProcessIdentity()


class MemoryRegistry(RecordRegistry):
    """A registry in this process's memory. Options: ``?horizon=``.

    lives_longer: whether another process may have had claims of the namespace.
    """

    lives_longer = False

    def __init__(self, url: Url, namespace: str, scheme: Scheme) -> None:
        options = url.options()
        horizon_us = options.horizon_us()
        node, name = self._place(url, options)
        options.finish()
        terms = terms_of(scheme, horizon_us, node)._replace(shared=False)
        super().__init__(url, namespace, terms)
        self._key = name, namespace

    def _place(self, url: Url, _: Options) -> tuple[int | None, str]:
        """The only node number to grant, if any, and the name of the records."""
        if not _is_main_interpreter():
            raise ConfigError(
                f"{url} works in the main interpreter only, since another interpreter would grant "
                "the same claims; use sqlite: for several interpreters",
                url=url,
            )
        return None, f"memory:{url.body}"

    def grant(self, ask: VerbRequest, want: int) -> Claim | Wait:
        return self.perform(
            lambda r, us, inc: self._begun(r, ask, us, inc).grant(self.terms, ask, us, inc, want)
        )

    def mint(self, ask: VerbRequest, ticks: int) -> Claim | Wait:
        return self.perform(
            lambda r, us, inc: self._begun(r, ask, us, inc).mint(self.terms, ask, us, inc, ticks)
        )

    def claim_past(self, ask: VerbRequest, region: tuple[int, int]) -> Claim | Wait | Lost:
        return self.perform(
            lambda r, us, inc: claim_past(
                self._begun(r, ask, us, inc), self.terms, ask, us, inc, region
            )
        )

    def declare_past(self, ask: VerbRequest, start: int) -> LastSeen | Wait:
        return self.perform(
            lambda r, us, inc: declare_past(
                self._begun(r, ask, us, inc), self.terms, ask, us, inc, start
            )
        )

    def _begun(self, record: Record, ask: VerbRequest, us: int, incarnation: str) -> Record:
        """The record. One that never existed is made as new, so that no call waits."""
        if self.terms.timed and not self.lives_longer and self._key not in _had:
            assert not record.sid
            record.initialise(self.terms, ask, us, incarnation, 0)
        return record

    @contextmanager
    def step(self) -> Iterator[tuple[Record, str]]:
        if not _process.intact():
            raise ConfigError(
                f"{self.url} works in one process only, and this is a fork of it; use sqlite: for "
                "several processes on this host",
                url=self.url,
            )
        with _lock:
            kept = _records.get(self._key) or Record(slots=SlotTable())
            assert isinstance(kept.slots, SlotTable)
            record = replace(kept, slots=SlotTable(kept.slots))
            yield record, "memory"
            _had.add(self._key)  # first: an exception after it makes the next verb wait
            _records[self._key] = record


def _is_main_interpreter() -> bool:
    if sys.version_info >= (3, 14):  # the first version that can start others
        with suppress(ImportError):  # not every implementation of Python can
            from concurrent import interpreters

            return interpreters.get_current().id == interpreters.get_main().id
    return True
