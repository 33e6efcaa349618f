"""Stores for the conformance kit: the registries of one host, and one in a time of its own."""

import copy
import re
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from frazil.claims.record import Record
from frazil.claims.slots import SlotTable
from frazil.registries import connect, memory
from frazil.registries.base import RecordRegistry, terms_of
from frazil.system import clock
from frazil_conformance import ConformanceError, check_registry
from tests.servers.clock import SteppedClock, WallClock
from tests.tools.proxy import Proxy


class UrlStore:
    """A store with a URL. Subclasses add the faults that it can have."""

    def __init__(self, url: str) -> None:
        self.url = url

    def registry(self, scheme, namespace):
        return connect(self.url, namespace, scheme)


class HostClock(UrlStore):
    """A registry whose clock is the host's, which is stepped for it alone."""

    ahead_us = 0

    def registry(self, scheme, namespace):
        registry = super().registry(scheme, namespace)
        registry.reading_us = lambda: clock.wall_us() + self.ahead_us
        return registry

    def step_clock(self, us):
        self.ahead_us += us


class MemoryStore(HostClock):
    """Records in this process's memory."""

    rewind_shows = False

    def _key(self, namespace):
        return self.url.partition("?")[0], namespace

    def registry(self, scheme, namespace):
        memory._had.add(self._key(namespace))  # else the process knows that nothing is lost
        return super().registry(scheme, namespace)

    def forget(self, namespace):
        memory._records.pop(self._key(namespace), None)

    def copy(self, namespace):
        return copy.deepcopy(memory._records[self._key(namespace)])

    def rewind(self, namespace, copied):
        memory._records[self._key(namespace)] = copy.deepcopy(copied)


class BareMemory(UrlStore):
    """The same, without the faults."""

    def registry(self, scheme, namespace):
        return MemoryStore(self.url).registry(scheme, namespace)


class FileStore(HostClock):
    """Records in a file, which can be deleted, and overwritten with an older copy."""

    rewind_shows = True

    def __init__(self, url: str, path: Path) -> None:
        super().__init__(url)
        self.path = path

    def forget(self, namespace):
        self.path.unlink()

    def copy(self, namespace):
        older = self.path.with_name("older.db")
        older.unlink(missing_ok=True)
        with sqlite3.connect(self.path) as db:
            db.execute(f"VACUUM INTO '{older}'")
        db.close()
        return older.read_bytes()

    def rewind(self, namespace, copied):
        self.path.write_bytes(copied)


class ServerStore(UrlStore):
    """A server behind a proxy, whose clock is a file, and whose records can be overwritten.

    url: with the number of the proxy's port for ``{}``. losing: the message whose reply is lost.
    """

    rewind_shows = True
    url = losing = ""

    def __init__(self, server, wire: Proxy, clock: SteppedClock | WallClock) -> None:
        super().__init__(self.url.format(wire.port))
        self.server = server
        self.wire = wire
        self.clock = clock
        self.ahead_us = 0

    def step_clock(self, us):
        self.ahead_us += us
        self.clock.step(self.ahead_us / 1e6)

    def losing_replies(self):
        return self.wire.losing_replies(after=self.losing.encode())

    def repeating_requests(self):
        return self.wire.repeating_requests()

    def restart(self):
        self.server.kill9()
        self.server.start()


@contextmanager
def together(faults):
    """All of them at once."""
    with ExitStack() as stack:
        for fault in faults:
            stack.enter_context(fault)
        yield


@contextmanager
def clocked(kind: type[SteppedClock] | type[WallClock]) -> Iterator[SteppedClock | WallClock]:
    """A clock whose file the user of a server may read."""
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        Path(name).chmod(0o755)
        yield kind(Path(name))


class ManualRegistry(RecordRegistry):
    """A registry over a ManualStore. Subclasses break one rule each."""

    record_type: type[Record] = Record

    def __init__(self, store: "ManualStore", namespace: str, scheme) -> None:
        super().__init__("manual:", namespace, terms_of(scheme, 100_000))
        self.store = store

    def reading_us(self) -> int:
        return self.store.reading_us()

    def load(self) -> Record:
        kept = self.store.records.get(self.namespace) or self.record_type(slots=SlotTable())
        return replace(kept, slots=SlotTable(kept.slots))

    def save(self, record: Record) -> None:
        self.store.records[self.namespace] = record

    @contextmanager
    def step(self) -> Iterator[tuple[Record, str]]:
        with self.store.lock:
            record = self.load()
            yield record, "manual/1"
            self.save(record)


class ManualStore:
    """A store with its own time, which advances by 50 µs a verb and by each wait."""

    rewind_shows = False

    def __init__(self, registry_type: type[ManualRegistry] = ManualRegistry) -> None:
        self.registry_type = registry_type
        self.records: dict[str, Record] = {}
        self.lock = threading.Lock()
        self.us = 1_800_000_000_000_000
        self.ahead_us = 0
        self.objects = 0

    def registry(self, scheme, namespace):
        return self.registry_type(self, namespace, scheme)

    def reading_us(self) -> int:
        self.us += 50
        return self.us + self.ahead_us

    def stumble(self):
        """Let another thread interfere."""
        time.sleep(0.0005)

    def wall_us(self):
        return self.us

    def sleep_us(self, us):
        self.us += us

    def step_clock(self, us):
        self.ahead_us += us

    def forget(self, namespace):
        self.records.clear()

    def copy(self, namespace):
        return copy.deepcopy(self.records)

    def rewind(self, namespace, copied):
        self.records = copy.deepcopy(copied)


NO_SERVER = {
    "restarts_repeat_nothing",
    "lost_replies_are_told",
    "repeated_deliveries_do_no_harm",
    "counters_outlive_a_restart",
}
"""The checks that take a server."""

# On a slow machine a store may take longer over its verbs than its short horizon lasts.
_MAYBE = {"waits_are_long_enough"}
_NO_ANSWER = "RegistryUnavailable: "
_TOO_SHORT = "grants last longer than its horizon; raise it"


def applied(store: UrlStore, *excepted: str, because: str = "") -> int:
    """The store keeps the contract, and all checks apply but those that are named.

    because: a reason why others do not apply, whose number is returned.

    A check of a store that did not answer in time is run once more, and so, with a horizon of a
    minute, is a check that a slow machine needs a longer horizon for.
    """
    try:
        report = check_registry(store)
    except ConformanceError as error:
        report = error.report
        failed = {each.name: each.reason for each in report.results if each.outcome == "failed"}
        late = {name for name, reason in failed.items() if reason.startswith(_NO_ANSWER)}
        slow = {name for name, reason in failed.items() if reason.endswith(_TOO_SHORT)}
        if failed.keys() - late - slow:
            raise
        if late:
            check_registry(store, only=late)
        if slow:
            store.url = re.sub(r"horizon=\w+", "horizon=60s", store.url)
            check_registry(store, only=slow)
    others = {each.name for each in report.results if because and each.reason == because}
    assert report.names("not applicable") - _MAYBE - others == set(excepted), str(report)
    return len(others)
