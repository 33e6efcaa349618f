"""``etcd://``: claims in an etcd cluster.

A shelf of a namespace is one key. A verb is computed from the state that was read, and written by a
transaction that succeeds only if no key that it writes has changed. Otherwise the answer
contains the new state, and the verb is computed again after a random pause. The last state of a key
is cached, so a verb without a conflict costs one round trip. Of a key that others have written
meanwhile it is read first, the next time, which costs less than a transaction that fails. The
transaction also reads the first shelf, whose head a step on another one compares: before it, as
cached, and after it, as it is.

**Not changed** means more than an equal ``mod_revision``: after a restore the same number may occur
again with another value. So each value begins with a random mark, and the transaction also requires
that the value still begins with it.

**A request without an answer may have been applied, or may still be.** It is sent again unchanged,
to the next endpoint. At most one of the two finds the key unchanged; if the second fails, the mark
in the key shows whether the first one succeeded.

**A restore** from a snapshot keeps every id, and even the term if the cluster was young. But raft's
log starts again, so its index (or the term) is lower than the one noted beside the record, and
every member checks it over a new connection. What is noted grows with the store's revision, of
which each takes an entry of the log. A key that was written by another program, or deleted and
restored, does not have the noted version; unless it was written as often before as afterwards, so
such a program is outside the promise. Members remember the highest revision and index of the store
(in this object) and of the record (``LastSeen``; that also works with ``--bump-revision``). One
case remains: a young or very busy cluster whose new log gets as long as the old one was when the
key was written last, before the first member connects. A restore with a new
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from frazil.claims.claim import Snapshot
from frazil.claims.record import JUMP_US, WITNESS_US, Record
from frazil.claims.shelves import head
from frazil.errors import ClockError, ConfigError, FrazilError, Misuse, RegistryUnavailable, Stopped
from frazil.inputs.url import Url, host_port, tls_context, tls_files
from frazil.registries.base import Answer, terms_of
from frazil.registries.doctor import StoreReport
from frazil.registries.etcd.doctor import examine
from frazil.registries.etcd.link import DATE_WITHIN_US, TRANSACTION, Date, Link, Unanswered
from frazil.registries.etcd.state import Key, Noted, State, around, found, look, parsed, written
from frazil.registries.shared_links import SharedLinks
from frazil.registries.shelves import AllNeeded, Changes, ShelvedRegistry
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


@dataclass(slots=True, eq=False)
class _Read:
    """A key in a step: its state, the record, and what is noted beside it when it is written."""

    key: Key
    state: State
    record: Record
    noted: Noted

    @property
    def lost(self) -> bool:
        return self.record.incarnation != self.state.cluster


class _Keys(dict[str, Key]):
    """Keys by the name of their shelf."""

    def __missing__(self, name: str) -> Key:
        return self.setdefault(name, Key(name))


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
        context = None if tls is None else tls_context(url, tls)
        if url.path.strip("/"):
            raise ConfigError("etcd: has no databases; use etcd://host without a path")
        self._user = url.user if any(url.user) else None
        # Members of a fleet spread over the cluster.
        self._endpoints = shuffled(_endpoint(host, self.url) for host in url.hosts)
        self._keys = _Keys()
        make = partial(Link, self.url, self._endpoints, context, self._user)
        self._links = SharedLinks(make, "etcd", url.text)
        self._date = Date()
        self._checked = 0
        self._index, self._since = 0, 0
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

    def key(self, shelf: int = 0) -> Key:
        """The key of a shelf."""
        return self._keys[self.name_of(shelf)]

    def perform(
        self, verb: Callable[[Record, int, str], Answer], shelf: int | None = None, at: int = 0
    ) -> Answer:
        """See ShelvedRegistry. Repeats the verb after a conflict, then with a ticket.

        A step on all shelves waits in the queue of the first one.
        """
        deadline_s = boot_s() + _CROWD_S
        key = self.key(shelf or 0)
        key.ticket = 0
        if not key.alone:
            key.state = None  # to read it costs less than a transaction that fails
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

    def _queue(self, key: Key, deadline_s: float) -> None:
        """Take a ticket, a numbered write of the queue's key, and wait for its turn."""
        if not key.ticket:
            body = {"key": key.queue, "prev_kv": True}
            key.ticket = self._request("kv/put", body, key.drawn)
            key.state = None
        served, moved_s = -1, 0.0
        while True:
            (key.state,) = self._states([key])
            now_s, before = boot_s(), served
            served = key.state.served
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
    def locked(
        self, names: Sequence[str], beside: Sequence[str]
    ) -> Iterator[tuple[list[Record], str]]:
        keys = [self._keys[name] for name in (*names, *beside)]
        if len(names) > 1:
            for key in keys:
                key.state = None
        reads = [self._load(*each) for each in zip(keys, self._states(keys), strict=True)]
        ours = dict(zip(names, reads, strict=False))
        self._last_us = max(each.record.last_us for each in ours.values())
        self._forgotten = any(each.lost for each in ours.values())
        for each in ours.values():
            each.key.state = None
        records = [each.record for each in reads]
        changes = Changes(names, records)
        try:
            yield records, reads[0].state.cluster
        except (Misuse, Stopped):
            self._mark_lost(list(ours.values()))
            raise
        if changed := [ours[name] for name, *_ in changes]:
            # A head that changes is written to all shelves, so the others need not be as they were.
            others = [each for each in (reads[0], *reads[len(names) :]) if each not in changed]
            self._write(changed, others)

    def close(self) -> None:
        self._links.close()

    def _record(self, state: State) -> tuple[Record, Noted]:
        """The record, without its incarnation if it was lost, and what its writers noted."""
        record, was = parsed(state.value)
        if was.era in self._over or was.version != state.version:
            record.incarnation = ""
        return record, was

    def _load(self, key: Key, state: State) -> _Read:
        record, was = self._record(state)
        if record.incarnation != state.cluster:
            was = replace(was, index=0, era=secrets.token_hex(8))  # another log
        noted = Noted(
            version=state.version + 1,
            term=state.term,
            index=max(self._index, was.index),
            served=max(state.served, key.ticket),
            era=was.era or secrets.token_hex(8),
        )
        return _Read(key, state, record, noted)

    def _mark_lost(self, ours: Sequence[_Read]) -> None:
        """Write the loss into the records, if only this member knows of it."""
        changed = []
        for each in ours:
            record, was = parsed(each.state.value)
            if was.era in self._over and record.incarnation:
                record.incarnation = ""
                changed.append(replace(each, record=record, noted=replace(each.noted, era=was.era)))
        if changed:
            with suppress(FrazilError, _ConflictError):  # then this member remembers it
                self._write(changed)

    def _states(self, keys: Sequence[Key]) -> list[State]:
        """The states of keys; they are read if one is not known."""
        known = [key.state for key in keys if key.state is not None]
        if len(known) == len(keys):
            return known
        states = self._request(TRANSACTION, {"success": look(keys)}, partial(found, keys))
        self._heard(keys, states)
        return states

    def _heard(self, keys: Sequence[Key], states: Sequence[State]) -> None:
        """Compare the states with what their writers and this member know."""
        for key, state in zip(keys, states, strict=True):
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
            if key.store:
                key.alone = state.modified <= key.store
            key.era, key.store = was.era, state.store
        if states:
            self._grow(states[0])

    def _grow(self, state: State) -> None:
        """Note how long raft's log is at least: each revision of the store takes an entry."""
        if state.index:
            # It was asked for after the answer, so revisions count from the next answer on.
            self._index, self._since = state.index, 0
            return
        if self._since:
            self._index += max(0, state.store - self._since)
        self._since = state.store

    def _write(self, changed: Sequence[_Read], others: Sequence[_Read] = ()) -> None:
        """Write the changed records, if they are in etcd as they were read.

        If the head of another one is not, that is a conflict, too; but they are written then, and
        what was granted in them is as after a lost answer.
        """
        mark = secrets.token_hex(8).encode()
        states = self._send(mark, changed, others)
        if any(states[each.key].mark != mark for each in changed):
            for key, state in states.items():
                key.state = state
            self._heard(list(states), list(states.values()))
            raise _ConflictError
        # Else this request was applied, perhaps twice.
        for each in changed:
            key, kept, was = each.key, states[each.key], each.state
            lower = kept.term < was.term or kept.store <= was.store
            if lower or 0 < kept.index < each.noted.index or kept.cluster != was.cluster:
                self._over.add(each.noted.era)  # another store than the one that was read
                self._index, self._since = kept.index, 0
                raise _ConflictError
            key.state, key.era, key.store = replace(kept, index=0), each.noted.era, kept.store
        for each in others:
            each.key.state = states[each.key]
        self._heard([each.key for each in others], [states[each.key] for each in others])
        self._grow(states[changed[0].key])
        for each in others:
            if head(self._record(states[each.key])[0]) != head(each.record):
                raise _ConflictError

    def _send(
        self, mark: bytes, changed: Sequence[_Read], others: Sequence[_Read]
    ) -> dict[Key, State]:
        """Send such a transaction; returns the states after it."""
        many = len(changed) > 1
        values = [written(mark, each.record, each.noted, one_of_many=many) for each in changed]
        keys = [each.key for each in (*changed, *others)]
        missing = [each for each in others if not each.state.value]
        body = {
            "compare": [
                condition
                for each in (*changed, *missing)
                for condition in each.key.unchanged(each.state, alone=not many)
            ],
            "success": [
                {"request_put": {"key": each.key.name, "value": b64encode(value).decode()}}
                for each, value in zip(changed, values, strict=True)
            ]
            + [{"request_range": {"key": each.key.name}} for each in others],
            "failure": look(keys),
        }

        def after(answer: dict[str, Any]) -> dict[Key, State]:
            if not answer.get("succeeded"):
                return dict(zip(keys, found(keys, answer), strict=True))
            now, kept = around(answer), {}
            puts, ranges = answer["responses"][: len(changed)], answer["responses"][len(changed) :]
            for each, value, told in zip(changed, values, puts, strict=True):
                _with("response_put", told)
                version = each.state.version + 1
                kept[each.key] = replace(
                    each.state, value=value, modified=now["store"], version=version, **now
                )
            for each, told in zip(others, ranges, strict=True):
                kept[each.key] = each.state.again(answer, told, each.key.name)
            return kept

        return self._request(TRANSACTION, body, after)

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


def _endpoint(text: str, url: str) -> tuple[str, int]:
    """Host and port; the port may be left out, and an IPv6 address stands in brackets."""
    found = host_port(text, _PORT)
    if found is None or not found[0]:
        raise ConfigError(f"{url}: {text!r} is not host:port; use etcd://host1:2379,host2", url=url)
    return found
