"""``frazil init``, ``claims`` and ``doctor`` for ``icicle://``, servers that issue IDs.

Processes do not claim node numbers here: each server has a permanent one, its *shard*. ``init``
assigns shards, one to a single server, or the lowest free ones to a pool; ``claims`` lists them. A
server that does not answer may have any shard, so then ``init`` assigns none.

A server may also be missing from the URL. So each server stores the shards of its pool and their
hosts. A server that lost its shard gets the same one back, or one that was never assigned. After a
shard was assigned by hand, the stored list may be incomplete, and a person must choose.

To the doctor, the facts of a server are those of any Redis that frazil uses. The events differ:
callers hold no claims, so the other servers replace a server that stops, and a server that lost its
shard issues nothing until the shard is assigned again.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from frazil.cli import Failure
from frazil.cli._options import typed_command
from frazil.cli.show import terminal
from frazil.cli.show.doctor_report import Report, round_trip, show_reports
from frazil.errors import FrazilError
from frazil.generator.request import OpenRequest
from frazil.inputs.duration import duration_text
from frazil.inputs.kinds import KINDS
from frazil.registries.base import terms_of
from frazil.registries.doctor import Finding, clock_offset
from frazil.registries.redis.doctor import examine
from frazil.remote.icicle.calls import IcicleConfig, configure_icicle
from frazil.remote.icicle.server import LAST_SHARD, IcicleServer, State, key_of
from frazil.schemes.scheme import Scheme
from frazil.system.clock import moment_text, wall_us

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class _ShardState:
    """A server of the pool and its state, or the error of reading it."""

    server: IcicleServer
    state: State | None
    error: FrazilError | None = None

    @property
    def address(self) -> str:
        """The host and port, without users, passwords and options."""
        return ",".join(
            place if isinstance(place, str) else f"{place[0]}:{place[1]}"
            for place in self.server.access.places
        )

    @property
    def shard(self) -> int | None:
        """The shard; None if the server has none or does not answer."""
        return self.state.shard if self.state else None


def _shard_states(config: IcicleConfig) -> list[_ShardState]:
    """The state of each server of a pool."""
    found = []
    for server in config.servers(IcicleServer):
        try:
            found.append(_ShardState(server, server.look()))
        except FrazilError as error:
            found.append(_ShardState(server, None, error))
    return found


def _duplicate_shards(found: Sequence[_ShardState]) -> list[str]:
    """A message for each shard that more than one server has."""
    holders: dict[int, list[str]] = {}
    for each in found:
        if each.shard is not None:
            holders.setdefault(each.shard, []).append(each.server.name)
    return [
        f"shard {shard} is on {' and '.join(names)}, so their IDs repeat; give all but one of them "
        "another shard (DEL its key, then frazil init)"
        for shard, names in holders.items()
        if len(names) > 1
    ]


def initialise(request: OpenRequest, *, shard: int | None, auto: bool, new: bool) -> None:
    """Assign a shard to each server, and print them. Raises an error if a shard is in doubt."""
    config = configure_icicle(request)
    declared = list(config.shards)
    if (shard is not None) + auto + bool(declared) != 1:
        raise click.UsageError(
            "icicle: needs shards; add --shard N for one server, --shards auto for a pool, or "
            "?shards=0,1,2 to the URL of a pool"
        )
    if shard is not None and len(config.accesses) > 1:
        raise click.UsageError("--shard is for one server; use --shards auto for a pool")
    found = _shard_states(config)
    for each in found:
        if each.error is not None:
            raise each.error
    if duplicates := _duplicate_shards(found):
        raise Failure("; ".join(duplicates))
    owners = _owners(found)
    if auto and not new:
        _refuse_doubt(found, owners)
    wanted = declared or ([shard] if shard is not None else _free(found, owners))
    assigned = list(zip(found, wanted, strict=True))
    for each, number in assigned:
        owners.setdefault(number, set()).add(each.address)
    by_shard = {number: sorted(addresses) for number, addresses in sorted(owners.items())}
    pool_text = "" if shard is not None else json.dumps(by_shard)
    wait_us = 0
    # Servers with a shard store the new assignments first.
    for each, number in sorted(assigned, key=lambda pair: pair[0].shard is None):
        state = each.server.initialise(number, new=new, pool=pool_text)
        wait_us = max(wait_us, state.wait_us)
        unchanged = " (unchanged)" if each.shard == number else ""
        namespace = f"namespace {request.namespace!r}{unchanged}"
        click.echo(terminal.wrapped(f"{each.server.name} has shard {number} of {namespace}"))
    told = "The first ID does not wait."
    if wait_us > 0:
        told = f"The first ID waits {wait_us / 1e6:.1f} s, because a shard may have been used."
    click.echo(terminal.wrapped(told))


def _owners(found: Sequence[_ShardState]) -> dict[int, set[str]]:
    """The shards that the servers have stored, and the addresses each was assigned to."""
    owners: dict[int, set[str]] = {}
    for each in found:
        text = each.state.pool if each.state else ""
        try:
            pool: dict[str, list[str]] = json.loads(text or "{}")
            for shard, addresses in pool.items():
                owners.setdefault(int(shard), set()).update(addresses)
        except (AttributeError, TypeError, ValueError) as error:
            raise Failure(
                f"{each.server.name}: the stored shards of its pool are not frazil's; DEL the "
                "key, then frazil init --shard N"
            ) from error
    return owners


def _refuse_doubt(found: Sequence[_ShardState], owners: dict[int, set[str]]) -> None:
    """Raise Failure if a shard was assigned by hand: others may have been too."""
    without = [each.server.name for each in found if each.shard is None]
    by_hand = [each.server.name for each in found if each.shard not in {None, *owners}]
    if without and by_hand:
        raise Failure(
            f"{by_hand[0]} got its shard by hand, so a server that is not named here may have any "
            f"other; assign the shard of {without[0]} by hand too (--shard N), or confirm with "
            "--new that these are all servers"
        )


def _free(found: Sequence[_ShardState], owners: dict[int, set[str]]) -> list[int]:
    """The shard of each server: its present one, else its former one, else an unassigned one."""
    held = {each.shard for each in found}
    free = (n for n in range(LAST_SHARD + 1) if n not in held and n not in owners)
    former = {addresses.copy().pop(): n for n, addresses in owners.items() if len(addresses) == 1}
    wanted = []
    for each in found:
        number = each.shard
        if number is None:
            number = former.get(each.address)
            if number is None or number in held:
                number = next(free, None)
        if number is None:
            raise Failure(f"all {LAST_SHARD + 1} shards are assigned; choose one with --shard N")
        wanted.append(number)
    return wanted


def show_shards(request: OpenRequest, *, as_json: bool) -> None:
    """List the servers and their shards.

    Raises Failure if two have the same shard, and the error of a server if none answers.
    """
    found = _shard_states(configure_icicle(request))
    if as_json:
        terminal.echo_json(_as_json(each, request.scheme) for each in found)
    else:
        terminal.echo(_table(found, request.scheme))
        _show_next_step(found, request)
    errors = [each.error for each in found if each.error is not None]
    if len(errors) == len(found):
        raise errors[0]
    if duplicates := _duplicate_shards(found):
        raise Failure("; ".join(duplicates))


def _show_next_step(found: Sequence[_ShardState], request: OpenRequest) -> None:
    """How to give a shard to servers that have none."""
    if not any(each.state and each.shard is None for each in found):
        return
    which, option = "A server without a shard issues no IDs. Give it", "--shards auto"
    if len(found) == 1:  # others are unknown, and may have any shard
        which, option = "It issues no IDs. Give it one that no other server has", "--shard 0"
    command = typed_command("init", request)
    click.echo(terminal.wrapped(f"\n{which}, like:\n  {command} {option}"))


def _as_json(found: _ShardState, scheme: Scheme) -> dict[str, Any]:
    state = found.state
    return {
        "server": found.server.name,
        "shard": found.shard,
        "until": moment_text(scheme.layout.us_at(state.tick)) if state else None,
        "until_value": state.tick if state else None,
        "offset_us": state.offset_us if state else None,
        "wait_us": state.wait_us if state else None,
        "error": str(found.error) if found.error else None,
    }


def _table(found: Sequence[_ShardState], scheme: Scheme) -> "RenderableType":
    from rich.text import Text

    table = terminal.Rows("server", "shard", "state", "until (UTC)", right=("shard",))
    for each in found:
        if each.state is None or each.shard is None:
            problem = "no shard" if each.state else "no answer"
            table.add_row(each.server.name, "-", Text(problem, "red"), "-")
            continue
        until = moment_text(scheme.layout.us_at(each.state.tick))
        state = Text("issues", "green")
        if each.state.wait_us >= 1_000_000:
            state = Text(f"waits {each.state.wait_us / 1e6:.1f} s", "yellow")
        until = until.replace("T", " ").removesuffix("Z")
        table.add_row(each.server.name, str(each.shard), state, until)
    return table


def examine_pool(request: OpenRequest, *, as_json: bool) -> None:
    """Show the findings of each server. Raises Failure if one of them is bad."""
    found = _shard_states(configure_icicle(request))
    duplicates = [Finding("shards", "bad", each) for each in _duplicate_shards(found)]
    reports = [_report(each, request.scheme, duplicates, alone=len(found) == 1) for each in found]
    show_reports(reports, as_json=as_json, with_server=True)


def _report(
    found: _ShardState, scheme: Scheme, duplicates: Sequence[Finding], *, alone: bool
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


def _shard(found: _ShardState) -> Finding:
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
