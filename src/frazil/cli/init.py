"""``frazil init``: say that a namespace is new.

A registry that knows nothing of a namespace cannot tell a first use from a loss, so the first claim
waits one horizon, past everything that a lost record can have given away. Only a person knows that
there was nothing before. Counters (layouts without time) cannot be guarded by waiting at all: for
them this is the one way to begin, and ``--start`` is where. Servers that issue IDs themselves
(``icicle:``) are each given a shard.
"""

import click

from frazil.claim import Seen
from frazil.cli import store
from frazil.cli.options import layout_options, registry_argument
from frazil.errors import ConfigError
from frazil.keeper import ask_of
from frazil.opening import is_icicle
from frazil.schemes import Scheme

__all__ = ["command"]


@click.command
@registry_argument
@layout_options
@click.option(
    "--start",
    type=click.IntRange(min=0),
    metavar="N",
    help="The first value of a counter; above all that are in use.  [default: 1; 0 for runs]",
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
@click.option("--new", is_flag=True, help="icicle: these shards were never used; do not wait.")
def command(
    *,
    url: str,
    namespace: str,
    scheme: Scheme,
    start: int | None,
    forward: bool,
    shard: int | None,
    shards: str | None,
    new: bool,
) -> None:
    """Say that a namespace is new: nothing was given away before.

    For a layout with time this saves one wait, of about a second, at the first use. A layout
    without time (chibrary, tickets) needs it once, with the first number that may be given.
    A namespace that exists is left as it is, and that is an error; but a counter may be moved on,
    past values that were lost or shall be skipped.

    \b
      frazil init
      frazil init --namespace invoices --scheme tickets --start 20001
      frazil init --namespace invoices --scheme tickets --start 30000 --forward
      frazil init icicle://redis-a --shard 1
      frazil init icicle://redis-a,redis-b,redis-c --shards auto
    """
    if is_icicle(url):
        from frazil.cli.icicle import initialise

        if start is not None:
            raise click.UsageError("--start is for counters, and icicle: goes by time")
        initialise(url, namespace, scheme, shard=shard, auto=shards is not None, new=new)
        return
    if shard is not None or shards or new:
        raise click.UsageError("--shard, --shards and --new are for icicle: URLs")
    registry = store.kept(url, namespace, scheme)
    terms = registry.terms
    if start is not None and terms.timed:
        raise click.UsageError(
            f"--start is for counters; scheme {scheme.name} goes by time and starts now"
        )
    if forward and start is None:
        raise click.UsageError("--forward goes to --start N; say where")
    if not forward and not terms.timed and registry.look() is not None:
        raise ConfigError(
            f"namespace {namespace!r} of {url} exists; to let its counter go on from a greater "
            "value add --forward",
            url=url,
        )
    if start is None:
        start = 1 if scheme.layout.axis == "sequence" else 0
    registry.initialise(ask_of(Seen()), start)
    how = "goes on" if forward else "is new"
    click.echo(
        f"Namespace {namespace!r} of {url} {how}, with scheme {scheme.name}:\n{terms.layout}"
    )
    if terms.timed:
        click.echo("The first ID will not have to wait.")
    else:
        axis = "run" if scheme.layout.axis == "run" else "number"
        click.echo(f"The first {axis} to be given is {start}.")
