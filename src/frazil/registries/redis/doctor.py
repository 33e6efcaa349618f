"""Examine a Redis or Valkey server for ``frazil doctor``.

All commands are read-only and need no more rights than a member has. Settings that this user may
not read are reported as unseen.
"""

from frazil.claims.claim import Terms
from frazil.redis_link.link import Link
from frazil.registries.doctor import COMMON_EVENTS, Finding, StoreReport, outage, state_loss

__all__ = ["examine"]

_OLDEST = (6, 2)
_RIGHTS = ("eval", "evalsha", "info", "time", "hmget", "hset")


def examine(link: Link, key: str, terms: Terms, ahead_us: int) -> StoreReport:
    """Examine the server of ``key``. ahead_us: how far its clock is ahead of this host's."""
    info = link.info()
    facts = [
        _version(info),
        _rights(link, key),
        _disk(link, info, terms),
        _memory(info),
        _replicas(link, info),
    ]
    events = (*COMMON_EVENTS, *_events(link, info, terms), outage(terms))
    return StoreReport(_server(info), tuple(facts), events, ahead_us)


def _server(info: dict[str, str]) -> str:
    valkey = info.get("valkey_version")
    name = f"Valkey {valkey}" if valkey else f"Redis {info.get('redis_version', '?')}"
    return f"{name} ({'cluster' if info.get('cluster_enabled') == '1' else 'standalone'})"


def _version(info: dict[str, str]) -> Finding:
    text = info.get("redis_version", "0")
    parts = tuple(int(part) for part in text.split(".")[:2] if part.isdecimal())
    if parts < _OLDEST:
        return Finding("version", "bad", _server(info), "frazil needs Redis 6.2 or newer")
    return Finding("version", "good", _server(info))


def _rights(link: Link, key: str) -> Finding:
    user = link.told("ACL", "WHOAMI")
    if user is None:
        return Finding("rights", "good", "not visible to this user, but the script ran")
    named = user.decode()
    missing = []
    wanted = (*_RIGHTS, "hgetall", *["wait"] * (link.access.replicas > 0))
    for command in wanted:
        arguments = {"eval": ["return 1", "1", key], "evalsha": ["0" * 40, "1", key]}.get(
            command, {"hmget": [key, "f"], "hset": [key, "f", "v"], "hgetall": [key]}.get(command)
        ) or {"wait": ["1", "1"]}.get(command, [])
        answer = link.told("ACL", "DRYRUN", named, command, *arguments)
        if answer not in (None, b"OK"):
            missing.append(f"+{command}")
    if missing:
        return Finding(
            "rights",
            "bad",
            f"user {named!r} may not {' '.join(missing)}",
            f"ACL SETUSER {named} ~frazil:* {' '.join(f'+{right}' for right in wanted)}",
        )
    return Finding("rights", "good", f"user {named!r} has all rights that members need")


def _fsync(link: Link) -> str:
    told = link.told("CONFIG", "GET", "appendfsync")
    return told[1].decode() if told and len(told) > 1 else "unseen"


def _disk(link: Link, info: dict[str, str], terms: Terms) -> Finding:
    logs = info.get("aof_enabled") == "1"
    fsync = _fsync(link) if logs else ""
    found = f"appendonly yes, appendfsync {fsync}" if logs else "appendonly no"
    if info.get("aof_last_write_status", "ok") != "ok":
        return Finding(
            "persistence", "bad", f"{found}, and the last write failed", "check its disk"
        )
    if logs and fsync == "always":
        return Finding("persistence", "good", found, "each claim is on disk before it is answered")
    if terms.timed:
        return Finding(
            "persistence",
            "note",
            found,
            "a restart may lose claims; members notice it and wait once",
        )
    return Finding(
        "persistence",
        "bad",
        found,
        "a counter cannot wait out a loss: set appendonly yes and appendfsync always, and add "
        "?durable=1",
    )


def _memory(info: dict[str, str]) -> Finding:
    policy = info.get("maxmemory_policy", "unseen")
    limit = info.get("maxmemory_human", "0B")
    found = f"{policy}, limit {'none' if limit == '0B' else limit}"
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


def _events(link: Link, info: dict[str, str], terms: Terms) -> list[Finding]:
    durable = link.access.durable and not terms.timed
    events = [
        Finding(
            "the server restarts with all its data", "good", "survived", "as ?durable=1 promises"
        )
        if durable
        else state_loss("the server restarts, with or without its data", terms),
        state_loss("FLUSHALL, or the key is deleted", terms),
        state_loss("failover to a replica that missed writes", terms),
        Finding(
            "SWAPDB, RESTORE of the key, or another writer",
            "note",
            "may repeat",
            "not protected: only frazil may write the key; a separate ACL user keeps others away; "
            "after one of these, "
            + ("DEL the key" if terms.timed else "run: frazil init --start N --forward"),
        ),
    ]
    if terms.timed:
        events.append(Finding("the server's clock steps", "good", "survived", "forward and back"))
    connected = int(info.get("connected_slaves", "0"))
    risky = connected > 0 and not link.access.replicas
    events.append(
        Finding(
            "an old primary continues beside its successor",
            "bad" if risky else "good",
            "may repeat" if risky else "survived",
            f"add ?replicas={(connected + 1) // 2}, or use independent servers: redis://a,b,c"
            if risky
            else "claims that too few replicas confirm do not count"
            if link.access.replicas
            else "no replica could replace it",
        )
    )
    return events
