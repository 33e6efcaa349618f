"""``frazil init``: set a namespace up, ahead of its first use.

A registry that knows nothing of a namespace cannot tell a first use from a loss. A script that sets
the namespace up at each start cannot either: after a loss it would call new what is in use. So a
namespace with time is made as after a loss, and one horizon is waited out here: everything that a
lost record can have given away lies before its end. Only a person knows that there was nothing
before, and says so with ``--new``.

Counters (layouts without time) cannot be guarded by waiting at all: for them this is the one way to
begin, and a person says where, by ``--start`` or ``--new``. Servers that issue IDs themselves
(``icicle:``) are each given a shard.
"""

import time

import click

from frazil.claims.claim import LastSeen, Terms
from frazil.cli._options import layout_options, registry_argument
from frazil.cli.stores import store
from frazil.errors import ConfigError
from frazil.generator.keeper import ask_of
from frazil.inputs.duration import duration_text
from frazil.inputs.url import parse_url
from frazil.registries.base import Registry
from frazil.schemes.scheme import Scheme

__all__ = ["command"]


@click.command
@registry_argument
@layout_options
@click.option(
    "--start",
    type=click.IntRange(min=0),
    metavar="N",
    help="The first value of a counter; above all that are in use.",
)
@click.option(
    "--forward", is_flag=True, help="Let a counter that exists go on from --start, which is ahead."
)
@click.option(
    "--shard",
    type=click.IntRange(0, 1023),
    metavar="N",
    help="icicle: the node number of one server; no other may have it.",
)
@click.option(
    "--shards",
    type=click.Choice(["auto"]),
    help="icicle: give each server of a pool a shard that is free.",
)
@click.option(
    "--shared",
    metavar="GROUP",
    help="Make the folder of a group, where all users of this host then keep claims by default.",
)
@click.option(
    "--new",
    is_flag=True,
    help="Nothing was ever given here, so do not wait. A counter begins at 1, a run at 0. For a "
    "person to say, and not for a script: after a loss it would be wrong.",
)
def command(
    *,
    url: str,
    namespace: str,
    scheme: Scheme,
    start: int | None,
    forward: bool,
    shard: int | None,
    shards: str | None,
    shared: str | None,
    new: bool,
) -> None:
    """Set a namespace up, so that its first use need not wait.

    For a layout with time this waits once, for a second on this host and for 5 s on a server, in
    case the namespace was used before and forgotten; --new skips that. A layout without time
    (chibrary, tickets) needs it once, with the first number that may be given.
    A namespace that exists is left as it is, and that is an error; but a counter may be moved on,
    past values that were lost or shall be skipped.

    \b
      frazil init
      frazil init redis://localhost --new
      frazil init --namespace invoices --scheme tickets --start 20001
      frazil init --namespace invoices --scheme tickets --start 30000 --forward
      frazil init icicle://redis-a --shard 1
      frazil init icicle://redis-a,redis-b,redis-c --shards auto
    """
    if shared is not None:
        store.share(shared)
        return
    if parse_url(url).maker == "icicle":
        from frazil.cli.stores.icicle import initialise

        if start is not None:
            raise click.UsageError("--start is for counters, and icicle: goes by time")
        initialise(url, namespace, scheme, shard=shard, auto=shards is not None, new=new)
        return
    if shard is not None or shards:
        raise click.UsageError("--shard and --shards are for icicle: URLs")
    registry = store.kept(url, namespace, scheme)
    if registry.terms.timed:
        _refuse_counting(scheme, start, forward=forward)
        registry.initialise(ask_of(LastSeen()), 0 if new else None)
        _tell(registry, namespace, url, "is new" if new else "is set up", scheme)
        if not new:
            _wait_out(registry.terms)
        click.echo("The first ID will not have to wait.")
        return
    start = _first_value(scheme, start, forward=forward, new=new)
    if not forward and registry.look() is not None:
        raise ConfigError(
            f"namespace {namespace!r} of {url} exists; to let its counter go on from a greater "
            "value add --forward",
            url=url,
        )
    registry.initialise(ask_of(LastSeen()), start)
    _tell(registry, namespace, url, "goes on" if forward else "is new", scheme)
    axis = "run" if scheme.layout.axis == "run" else "number"
    click.echo(f"The first {axis} to be given is {start}.")


def _tell(registry: Registry, namespace: str, url: str, how: str, scheme: Scheme) -> None:
    layout = registry.terms.layout
    click.echo(f"Namespace {namespace!r} of {url} {how}, with scheme {scheme.name}:\n{layout}")


def _refuse_counting(scheme: Scheme, start: int | None, *, forward: bool) -> None:
    """Refuse what is about counters."""
    if start is not None or forward:
        raise click.UsageError(
            f"--start and --forward are for counters; scheme {scheme.name} goes by time"
        )


def _first_value(scheme: Scheme, start: int | None, *, forward: bool, new: bool) -> int:
    """Where a counter begins, or goes on."""
    if new and (forward or start is not None):
        raise click.UsageError("--new begins a counter at its first value; give it or --start")
    if forward and start is None:
        raise click.UsageError("--forward goes to --start N; say where")
    if start is None and not new:
        raise click.UsageError(
            "the first value of a counter has to be named: --start N, above all that are in use, "
            "or --new if none was ever given"
        )
    if start is not None:
        return start
    return 1 if scheme.layout.axis == "sequence" else 0


def _wait_out(terms: Terms) -> None:
    """Wait until everything that a lost record can have given away is over."""
    wait_us = terms.horizon_ticks * terms.tick_us
    click.echo(
        f"Waiting {duration_text(wait_us)}, in case it was used before and forgotten (--new skips "
        "this)."
    )
    time.sleep(wait_us / 1e6)
