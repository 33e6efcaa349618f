"""``frazil claims``: who holds what in a namespace.

A record knows the layout it was made for, so nobody has to say it again: ticks are shown as moments
and slots as node numbers of *that* layout. A scheme that is named all the same is a question, "is
it this one?", and another one is an error that shows both. Looking changes nothing: a registry that
does not exist is not made by asking what is in it.

A claim does not end when its holder stops: it ends on the axis, at ``until``. So a slot is *held*
until that moment, *idle* if its holder let it run out, and *free* once it was given back. Two
deployments with different constants share a record; theirs are shown where any is not 0.

With ``--watch`` the same list is looked at again and again, which costs the store one read each
time. A registry that does not answer meanwhile is said to be away, and watched on.
"""

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from frazil.claims.claim import Snapshot
from frazil.claims.holding import NodeHolding, node_holdings
from frazil.cli._options import is_default, json_option, layout_options, registry_argument
from frazil.cli.show import terminal
from frazil.cli.stores import store
from frazil.errors import TryLater
from frazil.inputs.url import parse_url
from frazil.registries.base import Registry
from frazil.schemes.scheme import Scheme
from frazil.system.clock import moment_text, wall_us

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["command"]

_STYLES = {"held": "green", "idle": "yellow", "free": "dim"}


@click.command
@registry_argument
@layout_options
@json_option
@click.option("--watch", is_flag=True, help="Look again and again, until Ctrl-C.")
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(min=0.1),
    default=1.0,
    metavar="SECONDS",
    show_default=True,
    help="How often to look with --watch.",
)
def command(
    *, url: str, namespace: str, scheme: Scheme, as_json: bool, watch: bool, every_s: float
) -> None:
    """List who holds which node number.

    A slot is held while its claim runs, idle if its holder let it run out, and free once it was
    given back. The rate is what its holder issued, in IDs a second, when it last made its claim
    longer. Without URL it is the registry of this host (or what FRAZIL_URL says). The record
    knows its layout; name a scheme to be told if it is another one.

    \b
      frazil claims
      frazil claims redis://localhost --watch
      frazil claims icicle://redis-a,redis-b
      frazil claims --namespace orders --json
      frazil claims static:7
    """
    if watch and as_json:
        raise click.UsageError("--watch is for people and --json for programs; choose one")
    if parse_url(url).maker == "icicle":
        from frazil.cli.stores.icicle import show_shards

        if watch:
            raise click.UsageError("--watch is for claims, and icicle: has none; shards stay")
        show_shards(url, namespace, scheme, as_json=as_json)
        return
    registry = store.kept(url, namespace, scheme)
    named = not all(map(is_default, ("scheme", "field", "epoch")))
    if watch:
        _watch(registry, url, namespace, named=named, every_s=every_s)
        return
    found = store.look(registry, same_terms=named)
    if as_json:
        terminal.echo_json(line.as_json() for line in node_holdings(found))
    elif found is None:
        click.echo(_absent(registry, url, namespace))  # a path in one piece
    else:
        terminal.echo(_shown(found, registry, url, namespace))


def _watch(registry: Registry, url: str, namespace: str, *, named: bool, every_s: float) -> None:
    from rich.live import Live
    from rich.text import Text

    console = terminal.console()
    shown: RenderableType
    live = Live(console=console, auto_refresh=False) if console.is_terminal else None
    with live or nullcontext():
        while True:
            try:
                found = store.look(registry, same_terms=named)
                shown = _shown(found, registry, url, namespace)
            except TryLater as error:
                shown = Text(f"{moment_text(wall_us())}  {error}", "red")
            if live is not None:
                live.update(shown, refresh=True)
            else:
                terminal.echo(shown)
            time.sleep(every_s)


def _shown(
    found: Snapshot | None, registry: Registry, url: str, namespace: str
) -> "RenderableType":
    """The list, or why there is none."""
    from rich.console import Group
    from rich.text import Text

    if found is None:
        return Text(_absent(registry, url, namespace))
    away = [Text(f"away: {each}", "red") for each in found.away]
    lines = node_holdings(found)
    if not lines:
        told = f"Namespace {namespace!r} of {url} is set up: nothing was given away yet. It is for"
        return Group(*away, Text(f"{told}\n{found.layout}"))
    count = {state: sum(line.state == state for line in lines) for state in _STYLES}
    each = ", ".join(f"{number} {state}" for state, number in count.items() if number)
    return Group(*away, _table(lines), Text(f"\n{each}, of\n{found.layout}"))


def _absent(registry: Registry, url: str, namespace: str) -> str:
    path = getattr(registry, "path", None)
    missing = path is not None and not path.exists()
    where = f"{path} does not exist" if missing else f"{url} has no namespace {namespace!r}"
    return f"{where}: nothing was given away yet.\nThe first `frazil mint` makes it."


def _table(lines: list[NodeHolding]) -> "RenderableType":
    from rich.text import Text

    several = any(any(line.constants.values()) for line in lines)
    columns = ["node", *["constants"] * several, "state", "host", "process", "since (UTC)"]
    shown = terminal.table(*columns, "until", "IDs/s", right=("node", "process", "IDs/s"))
    for line in lines:
        constants = " ".join(f"{name}={value}" for name, value in line.constants.items() if value)
        since_us, rate_hz = line.holding.since_us, line.holder.rate_hz
        held = line.state == "held" and rate_hz is not None
        shown.add_row(
            str(line.node),
            *[constants] * several,
            Text(line.state, _STYLES[line.state]),
            line.holder.host or "-",
            line.holder.process or "-",
            _plain(moment_text(since_us // 1_000_000 * 1_000_000)) if since_us else "-",
            _plain(line.on_axis(line.holding.until)),
            f"{rate_hz:,}" if held else "-",
        )
    return shown


def _plain(text: str) -> str:
    """An ISO moment as a table has it, the zone being in the head."""
    return text.replace("T", " ").removesuffix("Z")
