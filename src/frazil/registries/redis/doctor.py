"""Examine a Redis or Valkey server for ``frazil doctor``.

All commands are read-only and need no more rights than a member has. Settings that this user may
not read are reported as unseen.
"""

from collections.abc import Iterable

from frazil.claims.claim import Terms
from frazil.redis_link.link import Link
from frazil.registries.doctor import (
    COMMON_EVENTS,
    Finding,
    StoreReport,
    clock_steps,
    old_primary,
    outage,
    state_loss,
)
from frazil.system.clock import wall_us

_OLDEST = (6, 2)


def examine(link: Link, key: str, terms: Terms, ahead_us: int | None) -> StoreReport:
    """Examine the server of ``key``. ahead_us: how far its clock is ahead of this host's."""
    info = link.info()
    facts = [
        _version(info),
        _role(info),
        _rights(link, key),
        _disk(link, info, terms),
        _memory(info),
        _replicas(link, info),
    ]
    events = (*COMMON_EVENTS, *_events(link, info, terms), outage(terms))
    return StoreReport(_server(info), tuple(facts), events, ahead_us)


def clock_ahead_us(link: Link) -> int | None:
    """How far the server's clock is ahead of this host's; None if this user may not read it."""
    before_us = wall_us()
    told = link.told("TIME")
    middle_us = (before_us + wall_us()) // 2
    return None if told is None else int(told[0]) * 1_000_000 + int(told[1]) - middle_us


def _server(info: dict[str, str]) -> str:
    valkey = info.get("valkey_version")
    name = f"Valkey {valkey}" if valkey else f"Redis {info.get('redis_version', '?')}"
    return f"{name} ({'cluster' if info.get('cluster_enabled') == '1' else 'standalone'})"


def _version(info: dict[str, str]) -> Finding:
    parts = info.get("redis_version", "0").split(".")[:2]
    if tuple(int(part) for part in parts if part.isdecimal()) < _OLDEST:
        return Finding("version", "bad", _server(info), "frazil needs Redis 6.2 or newer")
    return Finding("version", "good", _server(info))


def _role(info: dict[str, str]) -> Finding:
    if info.get("role") == "slave":
        return Finding("role", "bad", "replica", "a replica cannot write; use the primary")
    return Finding("role", "good", "primary")


def _rights(link: Link, key: str) -> Finding:
    user = link.told("ACL", "WHOAMI")
    if user is None:
        return Finding("rights", "good", "not visible to this user, but the script ran")
    named = user.decode()
    wanted = {
        "eval": ("return 1", "1", key),
        "evalsha": ("0" * 40, "1", key),
        "info": (),
        "time": (),
        "hmget": (key, "f"),
        "hset": (key, "f", "v"),
        "hgetall": (key,),
        **({"wait": ("1", "1")} if link.access.replicas else {}),
    }
    missing = [
        f"+{command}"
        for command, arguments in wanted.items()
        if link.told("ACL", "DRYRUN", named, command, *arguments) not in (None, b"OK")
    ]
    if missing:
        return Finding(
            "rights",
            "bad",
            f"user {named!r} may not {' '.join(missing)}",
            f"ACL SETUSER {named} ~frazil:* {' '.join(f'+{right}' for right in wanted)}",
        )
    return Finding("rights", "good", f"user {named!r} has all rights that members need")


def _disk(link: Link, info: dict[str, str], terms: Terms) -> Finding:
    found, fsync = "appendonly no", ""
    if info.get("aof_enabled") == "1":
        told = link.told("CONFIG", "GET", "appendfsync")
        fsync = told[1].decode() if told and len(told) > 1 else "unseen"
        found = f"appendonly yes, appendfsync {fsync}"
    if info.get("aof_last_write_status", "ok") != "ok":
        found = f"{found}, and the last write failed"
        return Finding("persistence", "bad", found, "check its disk")
    if fsync == "always":
        return Finding("persistence", "good", found, "each claim is on disk before it is answered")
    if terms.timed:
        waits = "a restart may lose claims; members notice it and wait once"
        return Finding("persistence", "note", found, waits)
    settings = "set appendonly yes and appendfsync always, and add ?durable=1"
    meaning = f"waiting does not help a counter after a loss: {settings}"
    return Finding("persistence", "bad", found, meaning)


def _memory(info: dict[str, str]) -> Finding:
    policy = info.get("maxmemory_policy", "unseen")
    limit = info.get("maxmemory_human", "0B")
    found = f"{policy}, limit {'none' if limit == '0B' else limit}"
    used, most = (int(info.get(name, 0)) for name in ("used_memory", "maxmemory"))
    used -= int(info.get("mem_not_counted_for_evict", 0))
    if policy == "noeviction" and 0 < most <= used:
        full = "no claim can be stored; raise maxmemory, or delete data"
        return Finding("maxmemory-policy", "bad", f"{found}, which is reached", full)
    return Finding("maxmemory-policy", "good", found)  # connecting has refused those that evict


def _replicas(link: Link, info: dict[str, str]) -> Finding:
    connected, wanted = int(info.get("connected_slaves", "0")), link.access.replicas
    found = f"{connected} connected, {wanted} must confirm"
    if connected < wanted:
        return Finding("replicas", "bad", found, "no claim can be made; check INFO replication")
    if 2 * wanted < connected:
        return Finding(
            "replicas",
            "bad" if wanted else "note",
            found,
            f"two halves could continue after a failover; use ?replicas={(connected + 1) // 2}",
        )
    return Finding("replicas", "good", found)


def _events(link: Link, info: dict[str, str], terms: Terms) -> Iterable[Finding]:
    if link.access.durable and not terms.timed:
        kept = "the server restarts with all its data"
        yield Finding(kept, "good", "survived", "as ?durable=1 promises")
    else:
        yield state_loss("the server restarts, with or without its data", terms)
    yield state_loss("FLUSHALL, or the key is deleted", terms)
    yield state_loss("failover to a replica that missed writes", terms)
    after = "DEL the key" if terms.timed else "run: frazil init --start N --forward"
    yield Finding(
        "SWAPDB, RESTORE of the key, or another writer",
        "note",
        "may repeat",
        "not protected: only frazil may write the key; a separate ACL user keeps others away; "
        f"after one of these, {after}",
    )
    yield from clock_steps(terms)
    risk, safety = "", "no replica could replace it"
    connected = int(info.get("connected_slaves", "0"))
    if link.access.replicas:
        safety = "claims that too few replicas confirm do not count"
    elif connected:
        half = (connected + 1) // 2
        risk = f"add ?replicas={half}, or use independent servers: redis://a,b,c"
    yield old_primary(risk, safety)
