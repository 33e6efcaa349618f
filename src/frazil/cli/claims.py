"""``frazil claims``: the holders of a namespace's node numbers.

A record contains its layout, so ticks are shown as moments and slots as node numbers of that
layout, without ``--scheme``. If a scheme is named and the record has another, the error shows both.
The command changes nothing and does not create a registry.

A claim does not end when its holder stops: it ends on the axis, at ``until``. So a slot is *held*
until that moment, *idle* after the claim expired, and *free* after it was given back. Deployments
with different constants share a record; the constants are shown if any is not 0.

``--watch`` repeats the list, at the cost of one read of the store each time. If the registry does
not answer, the error is shown and the watch continues.
"""

import time
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

import click

from frazil.claims.claim import Snapshot
from frazil.claims.fleet import Fleet, fleet_of
from frazil.claims.holding import NodeHolding, node_holdings
from frazil.cli._options import is_default, json_option, registry_argument, typed_command
from frazil.cli.show import terminal
from frazil.cli.stores import store
from frazil.errors import TryLater
from frazil.generator.request import OpenRequest
from frazil.layout.layout import Layout
from frazil.registries.base import Registry
from frazil.system.clock import moment_text, wall_us

if TYPE_CHECKING:
    from rich.console import RenderableType

_STYLES = {"held": "green", "idle": "yellow", "free": "dim"}


@click.command
@partial(registry_argument, scheme="that of the record")
@json_option
@click.option("--watch", is_flag=True, help="Repeat the list until Ctrl-C.")
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(min=0.1),
    default=1.0,
    metavar="SECONDS",
    show_default=True,
    help="The interval of --watch.",
)
@click.option(
    "--declare-past-from",
    "past_from",
    metavar="MOMENT",
    help="Declare that no ID from this moment on is unknown to the registry, for IDs of the past.",
)
@click.option("--yes", is_flag=True, help="Declare it without a question.")
def command(
    *,
    request: OpenRequest,
    as_json: bool,
    watch: bool,
    every_s: float,
    past_from: str | None,
    yes: bool,
) -> None:
    """List the holder of each node number.

    A node number is held while its claim runs, idle after the claim expired, and free after it was
    given back. IDs/s is the rate of the holder when it last renewed its claim. Without URL, the
    registry is FRAZIL_URL or that of this host. The registry stores the layout; with --scheme,
    another layout is an error.

    \b
      frazil claims
      frazil claims redis://localhost --watch
      frazil claims icicle://redis-a,redis-b
      frazil claims --namespace orders --json
      frazil claims static:7
      frazil claims redis://localhost --declare-past-from 2015-01-01
    """
    if past_from is not None and (watch or as_json):
        problem = "--declare-past-from prints no list; leave out --watch and --json"
        raise click.UsageError(problem)
    if past_from is not None:
        _declare(request, past_from, yes=yes)
        return
    if watch and as_json:
        raise click.UsageError("--watch and --json exclude each other; use one of them")
    if request.url.opened_by.maker == "icicle":
        from frazil.cli.stores.icicle import show_shards

        if watch:
            raise click.UsageError("icicle: has shards, which do not change; omit --watch")
        show_shards(request, as_json=as_json)
        return
    registry = store.persistent(request)
    named = not is_default("scheme", "field", "epoch")
    if watch:
        _watch(registry, request, named=named, every_s=every_s)
        return
    found = store.look(registry, same_terms=named)
    if as_json:
        terminal.echo_json(line.as_json() for line in node_holdings(found))
    elif found is None:
        click.echo(terminal.wrapped(_absent(registry, request)))
    else:
        terminal.echo(_listing(found, registry, request))


def _declare(request: OpenRequest, past_from: str, *, yes: bool) -> None:
    """Declare the past, after a question."""
    from frazil.backfilling import moment_us
    from frazil.generator.history import declare

    start_us = moment_us("--declare-past-from", past_from)
    name = f"namespace {request.namespace!r} of {request.url}"
    since = moment_text(start_us)
    if not yes:
        text = (
            f"You declare for {name}: no ID of it, made by whatever program, has a moment from "
            f"{since} to now, except in claims that the registry knows now. With this, IDs of the "
            "past can be made (frazil stamp --time-column, in Python frazil.history). If it is "
            "wrong, IDs repeat. If the registry ever lost claims, it must also be true for IDs of "
            "lost claims and of earlier histories."
        )
        click.confirm(terminal.wrapped(f"{text}\nIs that so?"), abort=True, err=True)
    declare(request, start_us)
    click.echo(terminal.wrapped(f"The past of {name} is declared from {since} on."))


def _watch(registry: Registry, request: OpenRequest, *, named: bool, every_s: float) -> None:
    from rich.live import Live
    from rich.text import Text

    console = terminal.console()
    listing: RenderableType
    live = Live(console=console, auto_refresh=False) if console.is_terminal else None
    with live or nullcontext():
        while True:
            try:
                found = store.look(registry, same_terms=named)
                listing = _listing(found, registry, request)
            except TryLater as error:
                listing = Text(f"{moment_text(wall_us())}  {error}", "red")
            if live is not None:
                live.update(listing, refresh=True)
            else:
                terminal.echo(listing)
            time.sleep(every_s)


def _listing(found: Snapshot | None, registry: Registry, request: OpenRequest) -> "RenderableType":
    """The list, or a text if nothing was claimed."""
    from rich.console import Group
    from rich.text import Text

    if found is None:
        return Text(_absent(registry, request))
    away = [Text(f"no answer: {server}", "red") for server in found.away]
    lines = node_holdings(found)
    if not lines:
        name = f"Namespace {request.namespace!r} of {request.url}"
        empty = f"{name} is set up and has no claims yet.{_past(found)} Its layout:"
        return Group(*away, Text(f"{empty}\n{found.layout}"))
    counts = {state: sum(line.state == state for line in lines) for state in _STYLES}
    summary = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    rate = _rate(fleet_of(lines, lines[0].layout))
    shown = f"\n{summary}.{rate}{_past(found)} The layout:\n{found.layout}"
    return Group(*away, _table(lines), Text(shown))


def _past(found: Snapshot) -> str:
    """From when on a person declared the past."""
    if found.past_from is None:
        return ""
    layout = Layout.parse(found.layout.partition(" | ")[0])
    return f" The past is declared from {moment_text(layout.us_at(found.past_from))} on."


def _rate(fleet: Fleet) -> str:
    """The rate of all members together, if any wrote one, and the limit of the layout, if any.

    A percentage would need an explanation: the limit is of all node numbers, not of this fleet's.
    """
    if fleet.members == fleet.unknown:
        return ""
    most = "" if fleet.capacity_hz is None else f" of {fleet.capacity_hz:,.0f} possible"
    return f" Together {fleet.rate_hz:,} IDs/s{most}."


def _absent(registry: Registry, request: OpenRequest) -> str:
    path = getattr(registry, "path", None)
    where = f"{request.url} has no namespace {request.namespace!r}"
    if path is not None and not path.exists():
        where = f"{path} does not exist"
    mint = typed_command("mint", request)
    return f"{where}: there are no claims yet.\nThe first `{mint}` creates it."


def _table(lines: list[NodeHolding]) -> "RenderableType":
    from rich.text import Text

    has_constants = any(any(line.constants.values()) for line in lines)
    columns = ["node", *["constants"] * has_constants, "state", "host", "process", "since (UTC)"]
    table = terminal.Rows(*columns, "until", "IDs/s", right=("node", "process", "IDs/s"))
    for line in lines:
        constants = " ".join(f"{name}={value}" for name, value in line.constants.items() if value)
        since_us, rate_hz = line.holding.since_us, line.holder.rate_hz
        has_rate = line.state == "held" and rate_hz is not None
        table.add_row(
            str(line.node),
            *[constants] * has_constants,
            Text(line.state, _STYLES[line.state]),
            line.holder.host or "-",
            line.holder.process or "-",
            _cell(moment_text(since_us // 1_000_000 * 1_000_000)) if since_us else "-",
            _cell(line.on_axis(line.holding.until)),
            f"{rate_hz:,}" if has_rate else "-",
        )
    return table


def _cell(text: str) -> str:
    """An ISO moment without its zone, which is in the heading."""
    return text.replace("T", " ").removesuffix("Z")
