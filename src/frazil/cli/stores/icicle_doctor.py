"""``frazil doctor icicle://…``: the servers of a pool, and the events that the pool survives.

The facts of a server are those of any Redis that frazil uses. The events differ: callers hold no
claims, so the other servers replace a server that stops, and a server that lost its shard issues
nothing until the shard is assigned again.
"""

from collections.abc import Iterable, Sequence

from frazil.cli.show.doctor_report import Report, round_trip, show_reports
from frazil.cli.stores.icicle import ShardState, duplicate_shards, shard_states
from frazil.generator.request import Request
from frazil.inputs.duration import duration_text
from frazil.inputs.kinds import KINDS
from frazil.registries.base import terms_of
from frazil.registries.doctor import Finding, clock_offset
from frazil.registries.redis.doctor import examine
from frazil.remote.icicle.config import configure_icicle
from frazil.remote.icicle.server import IcicleServer, key_of
from frazil.schemes.scheme import Scheme
from frazil.system.clock import wall_us


def examine_pool(request: Request, *, as_json: bool) -> None:
    """Show the findings of each server. Raises Failure if one of them is bad."""
    found = shard_states(configure_icicle(request))
    duplicates = [Finding("shards", "bad", each) for each in duplicate_shards(found)]
    reports = [_report(each, request.scheme, duplicates, alone=len(found) == 1) for each in found]
    show_reports(reports, as_json=as_json, with_server=True)


def _report(
    found: ShardState, scheme: Scheme, duplicates: Sequence[Finding], *, alone: bool
) -> Report:
    server = found.server
    if found.error is not None or found.state is None:
        no_answer = Finding("connection", "bad", "no answer", str(found.error))
        return Report(server.name, server.name, [no_answer, *duplicates], [])
    before_us = wall_us()
    state = server.look()
    ahead_us = state.now_us - state.offset_us - (before_us + wall_us()) // 2
    terms = terms_of(scheme, KINDS["icicle"].horizon_us)
    report = examine(server.link, key_of(server.namespace), terms, ahead_us)
    facts = [round_trip(server.look), clock_offset(ahead_us), *report.facts]
    facts += [_shard(found), *duplicates]
    risky = any(
        event.verdict == "bad" and event.about.startswith("an old primary")
        for event in report.events
    )
    events = list(_events(server, alone=alone, risky=risky))
    return Report(server.name, f"{server.name}: {report.server}", facts, events)


def _shard(found: ShardState) -> Finding:
    state = found.state
    if state is None or state.shard is None:
        next_step = f"frazil init {found.server.name} --shard N"
        return Finding("shard", "bad", "none, so it issues nothing", next_step)
    if state.wait_us >= 1_000_000:
        wait = f"issues after {state.wait_us / 1e6:.1f} s"
        return Finding("shard", "note", str(state.shard), wait)
    return Finding("shard", "good", str(state.shard))


def _events(server: IcicleServer, *, alone: bool, risky: bool) -> Iterable[Finding]:
    wait = duration_text(KINDS["icicle"].horizon_us)
    rest = "" if alone else "; the other servers continue"
    late = f"the server detects it and issues nothing for {wait}{rest}"
    yield Finding("a caller crashes, pauses or forks", "good", "survived", "callers hold nothing")
    yield Finding("it restarts with its data, or fails over", "note", "late", late)
    if server.shard is None:
        yield Finding(
            "it loses its data",
            "note",
            "stops",
            f"until it has a shard: frazil init, or ?shards= in the URL of every caller{rest}",
        )
    else:
        yield Finding("it loses its data", "note", "late", late)
    yield Finding("its clock steps", "good", "survived", "forward and back")
    yield Finding(
        "an old primary continues beside its successor",
        "bad" if risky else "good",
        "may repeat" if risky else "survived",
        "add ?replicas=, or use independent servers without replicas" if risky else "",
    )
    if alone:
        yield Finding("it does not answer", "note", "stops", "name several servers: icicle://a,b,c")
    else:
        yield Finding("it does not answer", "good", "survived", "callers use the other servers")
