"""What ``frazil init`` and ``frazil claims`` do with ``icicle://``, servers that issue IDs.

Here no process claims a node number: each server was given one for good, its *shard*. So ``init``
gives shards, one to one server or to a whole pool the lowest that are free, and ``claims`` lists
which server has which. A server that cannot be asked may have any shard; then none is given.

A server that is away may be left out of the URL as well, and then nobody asks it. So each server
remembers the shards of its pool: which were given, and to which host. A server that has lost its
shard gets the same one back, or one that nobody had. Where a shard was given by hand nobody knows
who else has one, and it takes a person to say which is free.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from frazil.cli import Failure
from frazil.cli.show import terminal
from frazil.errors import FrazilError
from frazil.opening import request_of
from frazil.remote.icicle.config import configure_icicle
from frazil.remote.icicle.server import LAST_SHARD, IcicleServer, State
from frazil.schemes.scheme import Scheme
from frazil.system.clock import moment_text

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["ShardState", "initialise", "servers", "shard_states", "show_shards", "twice"]


@dataclass(frozen=True)
class ShardState:
    """A server of the pool and its state, or why that cannot be told."""

    server: IcicleServer
    state: State | None
    error: FrazilError | None = None

    @property
    def place(self) -> str:
        """Where it is, as its pool remembers it: without users, passwords and options."""
        return ",".join(
            place if isinstance(place, str) else f"{place[0]}:{place[1]}"
            for place in self.server.access.places
        )

    @property
    def shard(self) -> int | None:
        """Its shard, if it has one and tells."""
        return self.state.shard if self.state else None


def servers(url: str, namespace: str, scheme: Scheme) -> list[IcicleServer]:
    """The servers of a pool."""
    config = configure_icicle(request_of(url, scheme, namespace=namespace))
    return config.servers(IcicleServer)


def shard_states(pool: Sequence[IcicleServer]) -> list[ShardState]:
    """What each server tells."""
    found = []
    for server in pool:
        try:
            found.append(ShardState(server, server.look()))
        except FrazilError as error:
            found.append(ShardState(server, None, error))
    return found


def twice(found: Sequence[ShardState]) -> list[str]:
    """A sentence for each shard that more than one server has."""
    holders: dict[int, list[str]] = {}
    for seat in found:
        if seat.shard is not None:
            holders.setdefault(seat.shard, []).append(seat.server.name)
    return [
        f"shard {shard} is on {' and '.join(names)}: they would repeat each other's IDs; give all "
        "but one another (DEL its key, then frazil init)"
        for shard, names in holders.items()
        if len(names) > 1
    ]


def initialise(
    url: str, namespace: str, scheme: Scheme, *, shard: int | None, auto: bool, new: bool
) -> None:
    """Give servers their shards, and say which. Nothing is given where something is in doubt."""
    pool = servers(url, namespace, scheme)
    declared = [server.shard for server in pool if server.shard is not None]
    if (shard is not None) + auto + bool(declared) != 1:
        raise click.UsageError(
            "say which shard: --shard N for one server, --shards auto for a pool, or "
            "?shards=0,1,2 in the URL of a pool"
        )
    if shard is not None and len(pool) > 1:
        raise click.UsageError("--shard is for one server; use --shards auto for a pool")
    found = shard_states(pool)
    for seat in found:
        if seat.error is not None:
            raise seat.error
    if doubles := twice(found):
        raise Failure("; ".join(doubles))
    owners = _owners(found)
    if auto and not new:
        _refuse_doubt(found, owners)
    wanted = declared or ([shard] if shard is not None else _free(found, owners))
    given_to = list(zip(found, wanted, strict=True))
    for seat, number in given_to:
        owners.setdefault(number, set()).add(seat.place)
    told = "" if shard is not None else _text(owners)
    waits_us = 0
    # Those that have a shard hear first of those that are about to be given.
    for seat, number in sorted(given_to, key=lambda each: each[0].shard is None):
        given = seat.server.initialise(number, new=new, pool=told)
        waits_us = max(waits_us, given.wait_us)
        had = " (as before)" if seat.shard == number else ""
        click.echo(f"{seat.server.name} has shard {number} of namespace {namespace!r}{had}")
    if waits_us > 0:
        click.echo(
            f"The first IDs come in {waits_us / 1e6:.1f} s, in case a shard was used before."
        )
    else:
        click.echo("The first ID will not have to wait.")


def _owners(found: Sequence[ShardState]) -> dict[int, set[str]]:
    """The shards that the servers have or remember, and the places that were given each."""
    owners: dict[int, set[str]] = {}
    for seat in found:
        for shard, places in _remembered(seat).items():
            owners.setdefault(int(shard), set()).update(places)
    return owners


def _remembered(seat: ShardState) -> dict[str, list[str]]:
    """What a server remembers of its pool."""
    text = seat.state.pool if seat.state else ""
    try:
        told: dict[str, list[str]] = json.loads(text or "{}")
    except ValueError as error:
        raise Failure(
            f"{seat.server.name}: somebody else wrote what it knows of its pool"
        ) from error
    return told


def _text(owners: dict[int, set[str]]) -> str:
    """The shards of a pool as its servers remember them."""
    return json.dumps({shard: sorted(places) for shard, places in sorted(owners.items())})


def _refuse_doubt(found: Sequence[ShardState], owners: dict[int, set[str]]) -> None:
    """Refuse to choose shards where one was given by hand, so that others may have been too."""
    without = [seat.server.name for seat in found if seat.shard is None]
    by_hand = [s.server.name for s in found if s.shard is not None and s.shard not in owners]
    if without and by_hand:
        raise Failure(
            f"{by_hand[0]} was given its shard by hand, and a server that is not named here may "
            f"have any other; give {without[0]} its shard by hand too (--shard N), or say with "
            "--new that these are all servers"
        )


def _free(found: Sequence[ShardState], owners: dict[int, set[str]]) -> list[int]:
    """The shard of each server: the one it has, else the one it had, else one that nobody had."""
    held = {seat.shard for seat in found}
    free = (n for n in range(LAST_SHARD + 1) if n not in held and n not in owners)
    had = {places.copy().pop(): n for n, places in owners.items() if len(places) == 1}
    wanted = []
    for seat in found:
        number = seat.shard
        if number is None:
            number = had.get(seat.place)
        if number is None or (seat.shard is None and number in held):
            number = next(free, None)
        if number is None:
            raise Failure(f"all {LAST_SHARD + 1} shards were given; give one by hand (--shard N)")
        wanted.append(number)
    return wanted


def show_shards(url: str, namespace: str, scheme: Scheme, *, as_json: bool) -> None:
    """List the servers and their shards; fails if one is on two."""
    found = shard_states(servers(url, namespace, scheme))
    if as_json:
        terminal.echo_json(_as_json(seat, scheme) for seat in found)
    else:
        terminal.echo(_table(found, scheme))
    if doubles := twice(found):
        raise Failure("; ".join(doubles))


def _as_json(seat: ShardState, scheme: Scheme) -> dict[str, Any]:
    state = seat.state
    return {
        "server": seat.server.name,
        "shard": seat.shard,
        "until": moment_text(scheme.layout.us_at(state.tick)) if state else None,
        "until_value": state.tick if state else None,
        "offset_us": state.offset_us if state else None,
        "wait_us": state.wait_us if state else None,
        "error": str(seat.error) if seat.error else None,
    }


def _table(found: Sequence[ShardState], scheme: Scheme) -> "RenderableType":
    from rich.text import Text

    shown = terminal.table("server", "shard", "state", "until (UTC)", right=("shard",))
    for seat in found:
        state, until = Text("away", "red"), "-"
        if seat.state is not None:
            until = moment_text(scheme.layout.us_at(seat.state.tick))
            until = until.replace("T", " ").removesuffix("Z")
            waits = seat.state.wait_us >= 1_000_000
            state = Text(f"waits {seat.state.wait_us / 1e6:.1f} s", "yellow")
            state = state if waits else Text("issues", "green")
        if seat.state is not None and seat.shard is None:
            state, until = Text("no shard", "red"), "-"
        shard = "-" if seat.shard is None else str(seat.shard)
        shown.add_row(seat.server.name, shard, state, until)
    return shown
