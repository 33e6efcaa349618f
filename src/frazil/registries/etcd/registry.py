"""``etcd://``: claims in an etcd cluster.

A shelf of a namespace is one key. A verb is computed from the state that was read, and written by a
transaction that succeeds only if the key has not changed (or none of all). Otherwise the answer
contains the new state, and the verb is computed again after a random pause. The last state of a key
is cached, so a verb without a conflict costs one round trip.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from frazil.claims.claim import Snapshot
from frazil.claims.record import JUMP_US, WITNESS_US, Record
from frazil.errors import ClockError, ConfigError, FrazilError, Misuse, RegistryUnavailable, Stopped
from frazil.inputs.url import Url, host_port, tls_files
from frazil.registries.base import Answer, terms_of
from frazil.registries.doctor import StoreReport
from frazil.registries.etcd.doctor import examine
from frazil.registries.etcd.link import DATE_WITHIN_US, TRANSACTION, Date, Link, Unanswered
from frazil.registries.etcd.state import Noted, State, around, parsed, written
from frazil.registries.shared_links import SharedLinks
from frazil.registries.shelves import AllNeeded, ShelvedRegistry
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


class _Key:
    """A key and its queue, and what this member knows of them.

    state: the last one, None if it may be old. era, store: those of the record when it was read
    last. ticket: this member's in the queue, 0 if it has none.
    """

    def __init__(self, name: str) -> None:
        self.name = b64encode(f"frazil/record/{name}".encode()).decode()
        self.queue = b64encode(f"frazil/queue/{name}".encode()).decode()
        self.state: State | None = None
        self.era, self.store, self.ticket = "", 0, 0

    @property
    def crowded(self) -> bool:
        """Whether a member was waiting with a ticket when the key was read."""
        return self.state is not None and self.state.tail > _served(self.state)


class EtcdRegistry(ShelvedRegistry):
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
        self._keys: dict[str, _Key] = {}
        make = partial(Link, self.url, self._endpoints, self._client, self._user)
        self._links = SharedLinks(make, "etcd", url.text)
        self._date = Date()
        self._checked = 0
        self._index = 0
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

    def key(self, shelf: int = 0) -> _Key:
        """The key of a shelf."""
        name = self.name_of(shelf)
        return self._keys.setdefault(name, _Key(name))

    def perform(
        self, verb: Callable[[Record, int, str], Answer], shelf: int | None = None, at: int = 0
    ) -> Answer:
        """See ShelvedRegistry. Repeats the verb after a conflict, then with a ticket.

        A step on all shelves waits in the queue of the first one.
        """
        deadline_s = boot_s() + _CROWD_S
        key = self.key(shelf or 0)
        key.ticket = 0
        kept = key.state is not None and (shelf is not None or self.count == 1)
        if key.crowded:
            self._queue(key, deadline_s)
        while True:
            try:
                return super().perform(verb, shelf, at)
            except _ConflictError:
                if boot_s() > deadline_s:
                    raise self.crowded() from None
            except (Misuse, Stopped, AllNeeded):
                if not kept:
                    raise  # a cached state may be old: read again
            if not kept or key.crowded:
                self._queue(key, deadline_s)
            kept = False  # an old cached state is not contention

    def _queue(self, key: _Key, deadline_s: float) -> None:
        """Take a ticket, a numbered write of the queue's key, and wait for its turn."""
        if not key.ticket:
            body = {"key": key.queue, "prev_kv": True}
            key.ticket = self._request("kv/put", body, partial(_drawn, key))
            key.state = None
        served, moved_s = -1, 0.0
        while True:
            (key.state,) = self._states([key])
            now_s, before = boot_s(), served
            served = _served(key.state)
            moved_s = now_s if served != before else moved_s
            ahead = key.ticket - served - _TOGETHER
            longest_s = min(ahead, _CROWD) * _PACE_S
            stalled = now_s - moved_s > _STALL_S + longest_s
            if ahead <= 0 or stalled or now_s > deadline_s:
                return
            key.state = None
            time.sleep(longest_s * jitter())

    def look(self) -> Snapshot | None:
        for key in self._keys.values():  # a cached state may be old, and only a write would notice
            key.state = None
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
    def locked(self, names: Sequence[str]) -> Iterator[tuple[list[Record], str]]:
        keys = [self._keys.setdefault(name, _Key(name)) for name in names]
        if len(keys) > 1:
            for key in keys:
                key.state = None
        states = self._states(keys)
        for key in keys:
            key.state = None
        self._last_us, self._forgotten = 0, False
        loaded = [self._load(*each) for each in zip(keys, states, strict=True)]
        records = [record for record, _ in loaded]
        before = [(record.sid, record.revision) for record in records]
        try:
            yield records, states[0].cluster
        except (Misuse, Stopped):
            self._mark_lost(keys, states, [noted for _, noted in loaded])
            raise
        changed = {
            n: (record, noted)
            for n, (record, noted) in enumerate(loaded)
            if (record.sid, record.revision) != before[n]
        }
        if changed:
            self._write(keys, states, changed)
            for n in changed:
                keys[n].era = loaded[n][1].era

    def close(self) -> None:
        self._links.close()

    def _load(self, key: _Key, state: State) -> tuple[Record, Noted]:
        """The record, and the notes to write beside it."""
        record, was = parsed(state.value)
        if was.era in self._over or was.version != state.version:
            record.incarnation = ""
        self._last_us = max(self._last_us, record.last_us)
        forgotten = record.incarnation != state.cluster
        self._forgotten = self._forgotten or forgotten
        if forgotten:
            was = replace(was, index=0, era=secrets.token_hex(8))  # another log
        return record, Noted(
            version=state.version + 1,
            term=state.term,
            index=max(self._index, was.index),
            served=max(_served(state), key.ticket),
            era=was.era or secrets.token_hex(8),
        )

    def _heard(self, key: _Key, state: State) -> None:
        """Compare the state with what its writers and this member know."""
        _, was = parsed(state.value)
        remembered = was.era == key.era
        index = max(was.index, self._index) if remembered else was.index
        older = (
            0 < state.index < index
            or state.term < was.term
            or (remembered and state.store < key.store)
        )
        if state.value and older:
            self._over.add(was.era)
        key.era, key.store = was.era, state.store

    def _mark_lost(
        self, keys: Sequence[_Key], states: Sequence[State], notes: Sequence[Noted]
    ) -> None:
        """Write the loss into the records, if only this member knows of it."""
        changed = {}
        for n, (state, noted) in enumerate(zip(states, notes, strict=True)):
            record, was = parsed(state.value)
            if was.era in self._over and record.incarnation:
                record.incarnation = ""
                changed[n] = record, replace(noted, era=was.era)
        if changed:
            with suppress(FrazilError, _ConflictError):  # then this member remembers it
                self._write(keys, states, changed)

    def _states(self, keys: Sequence[_Key]) -> list[State]:
        """The states of keys; they are read if one is not known."""
        known = [key.state for key in keys if key.state is not None]
        if len(known) == len(keys):
            return known
        return self._heard_all(
            keys, self._request(TRANSACTION, {"success": _look(keys)}, partial(_found, keys))
        )

    def _heard_all(self, keys: Sequence[_Key], states: list[State]) -> list[State]:
        for key, state in zip(keys, states, strict=True):
            self._heard(key, state)
        self._index = states[0].index or self._index
        return states

    def _write(
        self,
        keys: Sequence[_Key],
        states: Sequence[State],
        changed: Mapping[int, tuple[Record, Noted]],
    ) -> None:
        """Write records, by the position of their keys, if no key has changed."""
        mark = secrets.token_hex(8).encode()
        values = {n: written(mark, *each) for n, each in changed.items()}
        body = {
            "compare": [
                condition
                for key, state in zip(keys, states, strict=True)
                for condition in _unchanged(key, state, alone=len(keys) == 1)
            ],
            "success": [
                {"request_put": {"key": keys[n].name, "value": b64encode(value).decode()}}
                for n, value in values.items()
            ],
            "failure": _look(keys),
        }

        def after(answer: dict[str, Any]) -> list[State]:
            if not answer.get("succeeded"):
                return _found(keys, answer)
            now, kept = around(answer), list(states)
            for n, told in zip(values, answer["responses"], strict=True):
                _with("response_put", told)
                version = states[n].version + 1
                kept[n] = replace(
                    states[n], value=values[n], modified=now["store"], version=version, **now
                )
            return kept

        found = self._request(TRANSACTION, body, after)
        if any(found[n].mark != mark for n in changed):  # else it was applied, and arrived twice
            for key, state in zip(keys, self._heard_all(keys, found), strict=True):
                key.state = state
            raise _ConflictError
        for n, (_, noted) in changed.items():
            kept, state = found[n], states[n]
            lower = kept.term < state.term or kept.store <= state.store
            if lower or 0 < kept.index < noted.index or kept.cluster != state.cluster:
                self._over.add(noted.era)  # another store than the one that was read
                self._index = kept.index
                raise _ConflictError
            keys[n].state, keys[n].store = replace(kept, index=0), kept.store
        self._index = (found[next(iter(changed))].index or self._index) + 1  # at least

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


def _look(keys: Sequence[_Key]) -> list[dict[str, Any]]:
    """The questions for keys and their queues."""
    names = [name for key in keys for name in (key.name, key.queue)]
    return [{"request_range": {"key": name}} for name in names]


def _found(keys: Sequence[_Key], answer: dict[str, Any]) -> list[State]:
    return State.read(answer, [name for key in keys for name in (key.name, key.queue)])


def _drawn(key: _Key, answer: dict[str, Any]) -> int:
    before = _with("header", answer).get("prev_kv", {"key": key.queue})
    if before["key"] != key.queue or "responses" in answer:
        raise ValueError("it is about another key")
    return int(before.get("version", 0)) + 1


def _unchanged(key: _Key, state: State, *, alone: bool) -> list[dict[str, Any]]:
    """The conditions for an unchanged key: its revision and its mark.

    Of many keys the mark is enough, and more conditions are not allowed.
    """
    asked: list[dict[str, Any]] = []
    if alone or not state.value:
        asked.append(
            {
                "key": key.name,
                "target": "MOD",
                "mod_revision": state.modified,
                "result": "EQUAL",
            }
        )
    if state.value:
        for result, bound in ("GREATER", state.mark), ("LESS", state.mark + b"\xff"):
            value = b64encode(bound).decode()
            asked.append({"key": key.name, "target": "VALUE", "result": result, "value": value})
    return asked


def _served(state: State) -> int:
    """The last ticket served; for a missing key, the last one taken."""
    return parsed(state.value)[1].served if state.value else state.tail


def _endpoint(text: str, url: str) -> tuple[str, int]:
    """Host and port; the port may be left out, and an IPv6 address stands in brackets."""
    found = host_port(text, _PORT)
    if found is None or not found[0]:
        raise ConfigError(f"{url}: {text!r} is not host:port; use etcd://host1:2379,host2", url=url)
    return found
