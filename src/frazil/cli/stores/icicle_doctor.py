"""``frazil doctor icicle://…``: each server of a pool, and what the pool survives.

The facts of a server are those of any Redis that frazil depends on. What follows from them differs:
callers hold no claims, so a server that stops is replaced by the others at once, and one that
forgets its shard stays out until it is told which it had.
"""

from collections.abc import Iterable, Sequence

from frazil.cli.show.doctor_report import Report, round_trip, tell
from frazil.cli.stores.icicle import ShardState, servers, shard_states, twice
from frazil.inputs.duration import duration_text
from frazil.registries.base import terms_of
from frazil.registries.doctor import Finding, clock_offset
from frazil.registries.redis.doctor import examine
from frazil.remote.icicle.server import IcicleServer, key_of
from frazil.schemes.scheme import Scheme
from frazil.system.clock import wall_us

__all__ = ["examine_pool"]

HORIZON_US = 5_000_000


def examine_pool(url: str, namespace: str, scheme: Scheme, *, as_json: bool) -> None:
    """Show what each server is like. Fails if an ID could repeat, or none can be had."""
    pool = servers(url, namespace, scheme)
    found = shard_states(pool)
    doubles = [Finding("shards", "bad", each) for each in twice(found)]
    reports = [_examined(seat, scheme, doubles, alone=len(pool) == 1) for seat in found]
    tell(reports, as_json=as_json, named=True)


def _examined(
    seat: ShardState, scheme: Scheme, doubles: Sequence[Finding], *, alone: bool
) -> Report:
    server = seat.server
    if seat.error is not None or seat.state is None:
        silent = Finding("connection", "bad", "no answer", str(seat.error))
        return Report(server.name, server.name, [silent, *doubles], [])
    before_us = wall_us()
    state = server.look()
    ahead_us = state.now_us - state.offset_us - (before_us + wall_us()) // 2
    terms = terms_of(scheme, HORIZON_US)
    report = examine(server.link, key_of(server.namespace), terms, ahead_us)
    facts = [round_trip(server), clock_offset(ahead_us), *report.facts, _shard(seat), *doubles]
    risky = any(
        event.verdict == "bad" and event.about.startswith("an old primary")
        for event in report.events
    )
    events = list(_events(server, alone=alone, risky=risky))
    return Report(server.name, f"{server.name}: {report.server}", facts, events)


def _shard(seat: ShardState) -> Finding:
    state = seat.state
    if state is None or state.shard is None:
        give = f"frazil init {seat.server.name} --shard N"
        return Finding("shard", "bad", "none, so it issues nothing", give)
    found = f"{state.shard}"
    if state.wait_us >= 1_000_000:
        return Finding("shard", "note", found, f"issues from {state.wait_us / 1e6:.1f} s on")
    return Finding("shard", "good", found)


def _events(server: IcicleServer, *, alone: bool, risky: bool) -> Iterable[Finding]:
    wait = duration_text(HORIZON_US)
    rest = "" if alone else "; the others go on meanwhile"
    late = f"it is noticed, and this server issues nothing for {wait}{rest}"
    yield Finding("a caller crashes, pauses or forks", "good", "survived", "callers hold nothing")
    yield Finding("it restarts with its data, or fails over", "note", "late", late)
    if server.shard is None:
        yield Finding(
            "it loses its data",
            "note",
            "stops",
            f"until it has its shard again: frazil init, or ?shards= in every caller's URL{rest}",
        )
    else:
        yield Finding("it loses its data", "note", "late", late)
    yield Finding("its clock steps", "good", "survived", "forward and back")
    yield Finding(
        "an old primary goes on beside its successor",
        "bad" if risky else "good",
        "may repeat" if risky else "survived",
        "add ?replicas=, or use independent servers without replicas" if risky else "",
    )
    if alone:
        yield Finding("it does not answer", "note", "stops", "name several servers: icicle://a,b,c")
    else:
        yield Finding("it does not answer", "good", "survived", "the others are asked")
