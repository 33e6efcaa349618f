"""``etcd://``: claims in an etcd cluster.

A namespace is one key. A verb is computed from the state that was read, and written by a
transaction that succeeds only if the key has not changed. Otherwise the answer contains the new
state, and the verb is computed again after a random pause. The last state is cached, so a verb
without a conflict costs one round trip.

**Not changed** means more than an equal ``mod_revision``: after a restore the same number may occur
again with another value. So each value begins with a random mark, and the transaction also requires
that the value still begins with it.

**A request without an answer may have been applied, or may still be.** It is sent again unchanged,
to the next endpoint. At most one of the two finds the key unchanged; if the second fails, the mark
in the key shows whether the first one succeeded.

**A restore** from a snapshot keeps every id, and even the term if the cluster was young. But raft's
log starts again, so its index (or the term) is lower than the one noted beside the record, and
every member checks it over a new connection. A key that was written by another program, or deleted
and restored, does not have the noted version. Members remember the highest revision and index of
the store (in this object) and of the record (``LastSeen``; that also works with
``--bump-revision``). One case remains: a young or very busy cluster whose new log reaches the
length of the old one before the first member connects. A restore with a new
``--initial-cluster-token`` creates new ids.

**A loss stays noticed until it is settled.** The new log grows, so the sign of a restore disappears
soon, and the verb that noticed it may fail: a counter refuses every verb, a member's clock may be
wrong, an answer may be lost. So each record has an *era*, a random text that changes when a loss is
settled. A member remembers which eras are over, and treats a record of such an era as lost. When a
verb that noticed a loss is refused, a separate transaction writes the loss into the record, for all
other members and for later processes.

**Contention.** Of 64 members that write at once one succeeds, and with random pauses some starve.
So a member whose fresh state was changed by others takes a ticket, by writing a second key whose
version numbers the tickets, and waits until the record has served all earlier tickets but one. This
is not a lock: a ticket whose owner is gone is skipped after half a second, and a member without a
ticket still has to find the key unchanged.

**Clock.** etcd has no clock, so the member's is used, read between the state and the transaction.
The clocks of members differ. If each reading counted as the store's, each difference would be
absorbed as a step back, and ``now`` would run ahead. So a member whose clock is behind the last
reading continues from that reading, a little slower than real time, until its own clock is ahead.
And no reading is later than etcd's own clock can be, by the ``Date`` header of its answers, which
leaves out the fraction of a second. So a member whose clock is fast, or gains, leads the others by
a second at most. A step forward of a minute needs that header to agree. So does a loss, because its
guard depends on the clock: members' clocks should differ by much less than a horizon.

The key has no lease, because a floor must outlive its holder. Old values accumulate in etcd as for
any key; compaction removes them (``--auto-compaction-retention``).
"""

import secrets
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from frazil.claims.claim import Snapshot
from frazil.claims.record import JUMP_US, WITNESS_US, Record
from frazil.errors import ClockError, ConfigError, FrazilError, Misuse, RegistryUnavailable, Stopped
from frazil.inputs.url import Url, host_port, tls_files
from frazil.registries.base import Answer, RecordRegistry, terms_of
from frazil.registries.doctor import StoreReport
from frazil.registries.etcd.doctor import examine
from frazil.registries.etcd.link import DATE_WITHIN_US, TRANSACTION, Date, Link, Unanswered
from frazil.registries.etcd.state import Noted, State, around, parsed, written
from frazil.registries.shared_links import SharedLinks
from frazil.schemes.scheme import Scheme
from frazil.system import clock
from frazil.system.chance import jitter, shuffled
from frazil.system.clock import boot_ns, boot_s

_PORT = 2379
_PATIENCE_S = 6.0  # while no endpoint answers
_CROWD_S = 12.0  # while other members cause conflicts
_CROWD = 64  # the longest queue that adds to the waiting time
_PACE_S = 0.02  # about the time of one turn
_TOGETHER = 2  # tickets served at once: one writes while the next one reads
_STALL_S = 0.5  # after this time a ticket is skipped


class _ConflictError(Exception):
    """The key changed since it was read: the verb must be computed again."""


class EtcdRegistry(RecordRegistry):
    """A registry in a cluster: ``etcd://[user:password@]host[:port],…`` (``etcds:`` for TLS).

    Options: ``?horizon=`` (default 5 s); for TLS ``?ca=``, ``?cert=`` and ``?key=``, files.
    """

    def __init__(self, url: Url, namespace: str, scheme: Scheme) -> None:
        options = url.options()
        terms = terms_of(scheme, options.horizon_us())
        tls = tls_files(url, options)
        options.finish()
        super().__init__(url, namespace, terms)
        self._client: dict[str, Any] = {"protocol": "http"}
        if tls is not None:
            self._client = {"protocol": "https", "ca_cert": tls.get("ca")}
            self._client |= {"cert_cert": tls.get("cert"), "cert_key": tls.get("key")}
        if url.path.strip("/"):
            raise ConfigError("etcd: has no databases; use etcd://host without a path")
        self._user = url.user if any(url.user) else None
        # Members of a fleet spread over the cluster.
        self._endpoints = shuffled(_endpoint(host, self.url) for host in url.hosts)
        self._key = b64encode(f"frazil/record/{namespace}".encode()).decode()
        self._tail = b64encode(f"frazil/queue/{namespace}".encode()).decode()
        self._look = [{"request_range": {"key": key}} for key in (self._key, self._tail)]
        self._ticket = 0
        make = partial(Link, self.url, self._endpoints, self._client, self._user)
        self._links = SharedLinks(make, "etcd", url.text)
        self._date = Date()
        self._checked = 0
        self._state: State | None = None
        self._era, self._store, self._index = "", 0, 0
        self._over: set[str] = set()
        self._last_us = 0
        self._forgotten = False
        self._told = 0, 0

    def reading_us(self) -> int:
        """See RecordRegistry: this host's clock, between the last reading and etcd's clock."""
        wall_us, now_ns = clock.wall_us(), boot_ns()
        told_us, told_ns = self._told
        since_us = (now_ns - told_ns) // 1000
        date_us = self._date.now_us()
        own_us = min(wall_us, date_us + DATE_WITHIN_US) if date_us else wall_us
        reading_us = max(own_us, self._last_us, told_us + since_us - since_us // 8)
        astray = abs(wall_us - date_us) > WITNESS_US and self.terms.timed
        if date_us and astray and (self._forgotten or wall_us > self._last_us + JUMP_US):
            raise ClockError(
                f"this host's clock shows {clock.moment_text(wall_us)} and etcd's clock "
                f"{clock.moment_text(date_us)}; correct the wrong one and try again",
                reading_us=date_us,
                witness_us=wall_us,
            )
        self._told = reading_us, now_ns
        self.read_ns = now_ns
        return reading_us

    def perform(self, verb: Callable[[Record, int, str], Answer]) -> Answer:
        """See RecordRegistry. Repeats the verb after a conflict, then with a ticket."""
        deadline_s = boot_s() + _CROWD_S
        self._ticket = 0
        kept = self._state is not None
        if self._crowded():
            self._queue(deadline_s)
        while True:
            try:
                return super().perform(verb)
            except _ConflictError:
                if boot_s() > deadline_s:
                    raise self.crowded() from None
            except (Misuse, Stopped):
                if not kept:
                    raise  # a cached state may be old: read again
            if not kept or self._crowded():
                self._queue(deadline_s)
            kept = False  # an old cached state is not contention

    def _crowded(self) -> bool:
        """Whether a member was waiting with a ticket when the key was read."""
        return self._state is not None and self._state.tail > _served(self._state)

    def _queue(self, deadline_s: float) -> None:
        """Take a ticket, a numbered write of the queue's key, and wait for its turn."""
        if not self._ticket:
            body = {"key": self._tail, "prev_kv": True}
            self._ticket = self._request("kv/put", body, self._drawn)
            self._state = None
        served, moved_s = -1, 0.0
        while True:
            self._state = self._state or self._read()
            now_s, before = boot_s(), served
            served = _served(self._state)
            moved_s = now_s if served != before else moved_s
            ahead = self._ticket - served - _TOGETHER
            longest_s = min(ahead, _CROWD) * _PACE_S
            stalled = now_s - moved_s > _STALL_S + longest_s
            if ahead <= 0 or stalled or now_s > deadline_s:
                return
            self._state = None
            time.sleep(longest_s * jitter())

    def look(self) -> Snapshot | None:
        self._state = None  # the cached state may be old, and only a write would notice
        return super().look()

    def examine(self) -> StoreReport:
        status = self._request("maintenance/status", {}, partial(_with, "version"))
        members = self._request("cluster/member/list", {}, partial(_with, "members"))
        alarms: dict[str, Any] = self._request("maintenance/alarm", {"action": "GET"}, dict)
        date_us = self._date.now_us()
        ahead_us = date_us - clock.wall_us() if date_us else None
        found = examine(status, members, alarms, self.terms, ahead_us)
        return found._replace(within_us=DATE_WITHIN_US)

    @contextmanager
    def step(self) -> Iterator[tuple[Record, str]]:
        state, self._state = self._state, None
        if state is None:
            state = self._read()
        record, noted = self._load(state)
        before = record.sid, record.revision
        try:
            yield record, state.cluster
        except (Misuse, Stopped):
            self._mark_lost(state, noted)
            raise
        if (record.sid, record.revision) != before:
            self._state = self._write(state, record, noted)
            self._era, self._store = noted.era, self._state.store

    def close(self) -> None:
        self._links.close()

    def _load(self, state: State) -> tuple[Record, Noted]:
        """The record, and the notes to write beside it."""
        record, was = parsed(state.value)
        if was.era in self._over or was.version != state.version:
            record.incarnation = ""
        self._last_us = record.last_us
        self._forgotten = record.incarnation != state.cluster
        if self._forgotten:
            was = replace(was, index=0, era=secrets.token_hex(8))  # another log
        return record, Noted(
            version=state.version + 1,
            term=state.term,
            index=max(self._index, was.index),
            served=max(_served(state), self._ticket),
            era=was.era or secrets.token_hex(8),
        )

    def _heard(self, state: State) -> State:
        """Compare the state with what its writers and this member know; returns it."""
        _, was = parsed(state.value)
        remembered = was.era == self._era
        index = max(was.index, self._index) if remembered else was.index
        older = (
            0 < state.index < index
            or state.term < was.term
            or (remembered and state.store < self._store)
        )
        if state.value and older:
            self._over.add(was.era)
        self._index = state.index or self._index
        self._era, self._store = was.era, state.store
        return state

    def _mark_lost(self, state: State, noted: Noted) -> None:
        """Write the loss into the record, if only this member knows of it."""
        record, was = parsed(state.value)
        if was.era in self._over and record.incarnation:
            record.incarnation = ""
            with suppress(FrazilError, _ConflictError):  # then this member remembers it
                self._write(state, record, replace(noted, era=was.era))

    def _read(self) -> State:
        return self._heard(self._request(TRANSACTION, {"success": self._look}, self._found))

    def _found(self, answer: dict[str, Any]) -> State:
        return State.read(answer, (self._key, self._tail))

    def _drawn(self, answer: dict[str, Any]) -> int:
        before = _with("header", answer).get("prev_kv", {"key": self._tail})
        if before["key"] != self._tail or "responses" in answer:
            raise ValueError("it is about another key")
        return int(before.get("version", 0)) + 1

    def _write(self, state: State, record: Record, noted: Noted) -> State:
        """Write the record if the key is unchanged; returns the new state."""
        mark = secrets.token_hex(8).encode()
        value = written(mark, record, noted)
        put = {"key": self._key, "value": b64encode(value).decode()}
        body = {
            "compare": self._unchanged(state),
            "success": [{"request_put": put}],
            "failure": self._look,
        }

        def after(answer: dict[str, Any]) -> State:
            if not answer.get("succeeded"):
                return self._found(answer)
            _with("response_put", answer["responses"][0])
            now = around(answer)
            version = state.version + 1
            return replace(state, value=value, modified=now["store"], version=version, **now)

        kept = self._request(TRANSACTION, body, after)
        if kept.mark != mark:  # else this request was applied, and arrived twice
            self._state = self._heard(kept)
            raise _ConflictError
        lower = kept.term < state.term or kept.store <= state.store
        if lower or 0 < kept.index < noted.index or kept.cluster != state.cluster:
            self._over.add(noted.era)  # another store than the one that was read
            self._index = kept.index
            raise _ConflictError
        self._index = (kept.index or self._index) + 1  # at least
        return replace(kept, index=0)

    def _unchanged(self, state: State) -> list[dict[str, Any]]:
        """The conditions for an unchanged key: its revision and its mark."""
        same = {"key": self._key, "target": "MOD", "mod_revision": state.modified}
        asked = [same | {"result": "EQUAL"}]
        if state.value:
            for result, bound in ("GREATER", state.mark), ("LESS", state.mark + b"\xff"):
                value = b64encode(bound).decode()
                asked.append(
                    {"key": self._key, "target": "VALUE", "result": result, "value": value}
                )
        return asked

    def _request(
        self, path: str, body: dict[str, Any], read: Callable[[dict[str, Any]], Answer]
    ) -> Answer:
        """Send a request until an endpoint answers; returns ``read(answer)``."""
        deadline_s = boot_s() + _PATIENCE_S
        sent = False
        while True:
            try:
                with self._links.taken() as link:
                    found = link.post(path, body, read, self._checked)
                    self._date = link.date
                    if path == TRANSACTION:
                        self._checked = link.connection
                    return found
            except Unanswered as failure:
                sent = sent or failure.sent
                if boot_s() > deadline_s:
                    writing = "compare" in body
                    raise RegistryUnavailable(
                        f"{self.url}: {failure}; {failure.advice}",
                        url=self.url,
                        outcome_known=not (sent and writing),
                    ) from failure
            time.sleep(jitter(0.0, _PACE_S))


def _with(name: str, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, which must have a part of this name. Raises KeyError."""
    if name not in answer:
        raise KeyError(name)
    return answer


def _served(state: State) -> int:
    """The last ticket served; for a missing key, the last one taken."""
    return parsed(state.value)[1].served if state.value else state.tail


def _endpoint(text: str, url: str) -> tuple[str, int]:
    """Host and port; the port may be left out, and an IPv6 address stands in brackets."""
    found = host_port(text, _PORT)
    if found is None or not found[0]:
        raise ConfigError(f"{url}: {text!r} is not host:port; use etcd://host1:2379,host2", url=url)
    return found
