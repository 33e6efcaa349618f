"""``redis:``, ``rediss:``, ``valkey:``, ``valkeys:``, ``unix:``: claims in Redis or Valkey.

The verbs are one script, ``claims.lua``, which the server runs as one step: a renewal costs one
round trip, and the server about 50 us. The script repeats the verbs of ``record``, because a client
cannot lock a key; the same random schedules test both (tests/property/test_claims_lua.py). When the
script refuses, it returns what it read, and the verb of ``record`` runs on that to raise the error.

Failures of a server, and the measures against them:

- *A restart without the last writes, or a failover to a replica that missed some.* ``run_id`` and
  ``master_replid``, read within the script, are the incarnation.
- *FLUSHALL, a deleted key.* The record is one hash, so it is lost as a whole.
- *An old primary that continues beside its successor.* Only ``?replicas=k`` helps, with k at least
  half of the replicas: see ``link``. Or use several independent servers: see ``partitioned``.
- *A writable replica* (replica-read-only no) has its primary's record and would grant the same
  claims. It is refused, just as a read-only one refuses.
- *Clock steps.* See ``record``.
- *Counters* (layouts without time): waiting does not help after a loss, and after a restart the
  last second of writes may be missing. So after a restart an operator must set the next value,
  unless ``?durable=1`` says that the server keeps every write (appendonly, appendfsync always) and
  is always the same one.

Any client that may write the key can cause repeats; an ACL user keeps others away.
"""

import hashlib
from dataclasses import replace
from functools import cache, lru_cache
from secrets import token_hex
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from frazil.claims import past
from frazil.claims.claim import (
    Claim,
    Holding,
    LastSeen,
    Lost,
    Snapshot,
    Terms,
    VerbRequest,
    Wait,
    past_in,
)
from frazil.claims.record import Record, exhausted
from frazil.claims.slots import SlotTable
from frazil.errors import ConfigError, InternalError
from frazil.inputs.url import Url
from frazil.redis_link.access import Access, Script, access_of, shown
from frazil.redis_link.link import Link
from frazil.registries.base import PastRegistry, Registry, terms_of
from frazil.registries.doctor import StoreReport
from frazil.registries.partitioned import PartitionedRegistry, share_terms
from frazil.schemes.scheme import Scheme
from frazil.system.imports import text_beside

TIMEOUT_US = 2_000_000
_Amount: TypeAlias = int | tuple[int, int] | None
_links: WeakValueDictionary[int, Link] = WeakValueDictionary()  # each keeps its access alive
_EXACT = 1 << 53  # the largest exact Lua number
_LATEST_US = 7_258_118_400_000_000  # the year 2200


@cache
def claims_script() -> Script:
    """The script that implements the verbs."""
    parts = ("renew.lua", "record.lua", "claims.lua")
    source = "".join(text_beside(__name__, part) for part in parts)
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


def _link_to(access: Access) -> Link:
    """The link to a server, which all registries with this access share while one uses it.

    A URL is read once (see ``_read``), so one URL has one access.
    """
    return _links.setdefault(id(access), Link(access, claims_script()))


def connect_redis(url: Url, namespace: str, scheme: Scheme) -> Registry:
    """The registry at ``redis://[user:password@]host[:port][,host...][/db]``.

    Options: ``?horizon=`` (default 5 s), ``?timeout=`` (2 s), ``?replicas=k``, ``?durable=1``,
    ``?cluster=1`` (the hosts are nodes of one cluster), ``?db=`` (for unix:), and for TLS ``?ca=``,
    ``?cert=`` and ``?key=``, paths of files. Raises ConfigError.
    """
    access, horizon_us, whole = _read(url)
    terms = _within_reach(terms_of(scheme, horizon_us))
    if access.replicas:
        # A member without confirmations would hide losses from the others.
        terms = _marked(terms, "confirmed by replicas")
    if access.durable and not terms.timed:
        terms = _marked(terms, "durable")
    if whole:
        return RedisRegistry(access, namespace, terms)
    hosts = access.places
    each = [
        RedisRegistry(
            replace(access, name=shown(url, host), places=(host,)),
            namespace,
            share_terms(terms, share, len(hosts)),
        )
        for share, host in enumerate(hosts)
    ]
    return PartitionedRegistry(access.name, terms, each)


@lru_cache(maxsize=64)  # a forked child that makes one ID finds it read
def _read(url: Url) -> tuple[Access, int, bool]:
    """Parse a URL: how to reach its hosts, the horizon in µs, whether they are one store."""
    options = url.options()
    access = access_of(url, options, TIMEOUT_US)
    whole = bool(access.cluster) or len(access.places) == 1
    horizon_us = options.horizon_us()
    access = replace(
        access,
        durable=options.number("durable") > 0,
        cluster=access.cluster or (None if whole else False),
    )
    options.finish()
    return access, horizon_us, whole


class RedisRegistry(PastRegistry):
    """A registry in one Redis or Valkey server or cluster; see ``Registry`` for the verbs.

    ``url`` is without the password. ``link`` leads to the server, and its connections are closed
    when they are collected.
    """

    def __init__(self, access: Access, namespace: str, terms: Terms) -> None:
        self.url = access.name
        self.namespace = namespace
        self.terms = terms._replace(namespace=namespace)
        self.read_ns: int | None = None
        self.link = _link_to(access)
        self._key = f"frazil:{{{namespace}}}"
        self._data = "durable" if access.durable and not terms.timed else ""
        self._constants = _constants(self.terms)

    def grant(self, ask: VerbRequest, want: int) -> Claim | Wait:
        return self._given(self._call("grant", ask, want), ask.token)

    def mint(self, ask: VerbRequest, ticks: int) -> Claim | Wait:
        return self._given(self._call("mint", ask, ticks), "")

    def renew(self, ask: VerbRequest, until: int) -> Claim | Lost:
        answer, held = self._call("renew", ask, until), ask.held
        if answer[0] == "lost":
            return Lost(self._seen(answer[1]))
        longer = self._given(answer, held.token if held else "")
        if (
            held is None
            or not isinstance(longer, Claim)
            or longer.slot != held.slot
            or longer.until < held.until
        ):
            raise self.link.wrong_reply()
        return longer if longer.start == held.start else longer._replace(start=held.start)

    def release(self, ask: VerbRequest, used: int) -> LastSeen | Lost:
        kind, parts = self._call("release", ask, used)
        return Lost(self._seen(parts)) if kind == "lost" else self._seen(parts)

    def initialise(self, ask: VerbRequest, start: int | None) -> LastSeen:
        return self._seen(self._call("initialise", ask, start)[1])

    def claim_past(self, ask: VerbRequest, region: tuple[int, int]) -> Claim | Wait | Lost:
        """See PastRegistry."""
        answer = self._call("claim_past", ask, region)
        return Lost(self._seen(answer[1])) if answer[0] == "lost" else self._given(answer, "")

    def declare_past(self, ask: VerbRequest, start: int) -> LastSeen | Wait:
        """See PastRegistry."""
        answer = self._call("declare_past", ask, start)
        if answer[0] == "seen":
            return self._seen(answer[1])
        reply = self._given(answer, "")
        assert isinstance(reply, Wait)
        return reply

    def look(self) -> Snapshot | None:
        _, (sid, *about) = self._call("look", VerbRequest(LastSeen(), 0, token_hex(8)), 0)
        fingerprint, layout, now_us, *slots = about
        if not sid:
            return None
        parts = iter(slots)
        found = []
        for slot, start, until, token, holder, since_us in zip(*[parts] * 6, strict=True):
            first, _, beyond = slot.partition("+")
            number = int(first) + int(beyond)
            found.append(
                Holding(number, int(start), int(until), bool(token), holder, int(since_us))
            )
        found.sort(key=lambda holding: holding.slot)
        layout, known = past_in(layout)
        return Snapshot(layout, fingerprint, int(now_us), tuple(found), past_from=known)

    def examine(self) -> StoreReport:
        from frazil.registries.redis.doctor import clock_ahead_us, examine

        self._call("look", VerbRequest(LastSeen(), 0, token_hex(8)), 0)  # raises what a member gets
        return examine(self.link, self._key, self.terms, clock_ahead_us(self.link))

    def _call(self, verb: str, ask: VerbRequest, amount: _Amount) -> tuple[str, list[str]]:
        """Run a verb in the store; returns the kind of reply and its parts."""
        again = self._arguments("incarnation", ask, 0) if self.link.access.replicas else ()
        arguments = self._arguments(verb, ask, amount)
        kind, _, incarnation, *parts = self.link.call(self._key, arguments, again)
        if kind == "refused":
            self._refuse(verb, ask, amount, incarnation, parts)
        if kind == "replicas":
            raise self.link.refused(
                f"{parts[0]} replicas are connected, and ?replicas= requires fewer than half of "
                "them to confirm, so two halves could both continue; raise ?replicas="
            )
        if kind == "format":
            raise self.link.refused(
                f"namespace {self.namespace!r} was written by a newer frazil (format {parts[0]}); "
                "use that version"
            )
        return kind, parts

    def _arguments(self, verb: str, ask: VerbRequest, amount: _Amount) -> list[str]:
        """The arguments of the script; see its first lines."""
        seen, held = ask.seen, ask.held
        claim: tuple[Any, ...] = ("", "", "", "")
        if held is not None and held.token:
            claim = (held.slot - self.terms.slots.start, held.start, held.until, held.token)
        given = amount if isinstance(amount, tuple) else ("" if amount is None else amount,)
        changing = (
            *(seen.sid, seen.revision, seen.now_us, ask.witness_us, ask.holder),
            " ".join(map(str, given)),
            *claim,
            *(self.link.access.replicas, self._data),
            *(ask.clock_us, seen.reach, ask.known_us),
        )
        return [verb, ask.token, *self._constants, *map(str, changing)]

    def _seen(self, parts: list[str]) -> LastSeen:
        """The record, as the reply tells it: a counter has a start in place of a clock."""
        told = int(parts[2])
        return LastSeen(parts[0], int(parts[1]), *((told, 0) if self.terms.timed else (0, told)))

    def _given(self, answer: tuple[str, list[str]], token: str) -> Claim | Wait:
        """A claim or a wait, if it matches the request."""
        kind, parts = answer
        seen = self._seen(parts)
        if kind == "wait":
            return Wait.ticks(int(parts[3]), self.terms, seen, guarded=parts[4:] == ["guarded"])
        slot = self.terms.slots.start + int(parts[3])
        start, until = int(parts[5]), int(parts[6])
        if kind != "claim" or parts[4] != token or slot not in self.terms.slots or start > until:
            raise self.link.wrong_reply()
        return Claim(slot, start, until, token, seen.now_us, seen)

    def _refuse(
        self, verb: str, ask: VerbRequest, amount: _Amount, incarnation: str, parts: list[str]
    ) -> None:
        """Raise the error of ``record``'s verb for the record that the script read."""
        reading_us, sid, revision, theirs, fingerprint, layout, *numbers = parts
        head: tuple[Any, ...] = (sid, theirs, fingerprint, layout, int(revision))
        record = Record(SlotTable(), *head, *map(int, numbers))
        run = getattr(Record, verb, None) or getattr(past, verb)
        run(record, self.terms, ask, int(reading_us), incarnation, amount)
        if record.guard >= self.terms.end:  # of a slot in use to its end; the record says to wait
            raise exhausted(self.terms)
        if verb == "initialise":
            raise self.link.refused(
                f"a counter in Redis cannot continue at {amount}, more than 2^53 above its start; "
                "use another namespace"
            )
        raise InternalError(
            f"{self.url} refused {verb!r} without a reason; please report this", answer=parts
        )


def _constants(terms: Terms) -> list[str]:
    """The arguments of the script that are the same in each call."""
    rest_us = terms.epoch_us % terms.tick_us if terms.timed else 0
    epoch_ticks = terms.tick_at(rest_us) if terms.timed else 0
    constants = (
        *(terms.fingerprint, terms.layout, terms.slots.start, len(terms.slots), terms.end),
        *(terms.horizon_ticks, terms.tick_us, terms.epoch_us, epoch_ticks, rest_us),
    )
    return [str(constant) for constant in constants]


def _within_reach(terms: Terms) -> Terms:
    """The terms, if every tick until the year 2200 is an exact Lua number."""
    if terms.timed and terms.tick_at(_LATEST_US) + terms.horizon_ticks > _EXACT:
        raise ConfigError(
            f"ticks of {terms.layout!r} will exceed 2^53 by the year 2200, a Redis "
            "script's limit; use a later epoch, a longer tick, or another registry",
            limit=_EXACT,
        )
    return terms


def _marked(terms: Terms, mark: str) -> Terms:
    """Terms that only members with the same mark share."""
    return terms._replace(identity=f"{terms.identity} {mark}", layout=f"{terms.layout} | {mark}")
