"""``frazil init``: set up a namespace before its first use.

A registry without a record cannot distinguish a first use from a lost record. Neither can a script
that runs at each start. So a namespace with time is set up as after a loss, and the command waits
one horizon: every claim of a lost record ends before that. Only a person knows that the namespace
was never used, and passes ``--new``.

For counters (layouts without time) waiting does not help. They must be set up with this command,
and a person chooses the first value, with ``--start`` or ``--new``. Servers that issue IDs
themselves (``icicle:``) each get a shard.
"""

import time

import click

from frazil.claims.claim import LastSeen
from frazil.cli._options import registry_argument
from frazil.cli.stores import store
from frazil.errors import ConfigError
from frazil.generator.request import Request
from frazil.generator.verb_requests import ask_of
from frazil.inputs.duration import duration_text
from frazil.registries.base import Registry
from frazil.schemes.scheme import Scheme

__all__ = ["command"]


@click.command
@registry_argument
@click.option(
    "--start",
    type=click.IntRange(min=0),
    metavar="N",
    help="The first value of a counter; greater than all values in use.",
)
@click.option("--forward", is_flag=True, help="Move an existing counter ahead to --start.")
@click.option(
    "--shard",
    type=click.IntRange(0, 1023),
    metavar="N",
    help="icicle: the node number of one server; it must be unique.",
)
@click.option(
    "--shards",
    type=click.Choice(["auto"]),
    help="icicle: give each server of a pool a free shard.",
)
@click.option(
    "--shared",
    metavar="GROUP",
    help="Create a folder for a group; all users of this host then keep claims there by default.",
)
@click.option(
    "--sql",
    "in_database",
    is_flag=True,
    help="PostgreSQL: also install frazil_id(), which makes IDs of this namespace in the database.",
)
@click.option(
    "--new",
    is_flag=True,
    help="The namespace was never used, so do not wait. A counter begins at 1, a run at 0. Do not "
    "use it in a script: after a lost record, IDs would repeat.",
)
def command(
    *,
    request: Request,
    start: int | None,
    forward: bool,
    shard: int | None,
    shards: str | None,
    shared: str | None,
    in_database: bool,
    new: bool,
) -> None:
    """Set up a namespace, so that its first use does not wait.

    For a layout with time, this waits once, 1 s on this host and 5 s on a server, because an
    earlier record may be lost; --new skips the wait. A layout without time (chibrary, tickets)
    must be set up once, with the first number to issue. A namespace that exists is an error and
    does not change, but --forward moves a counter past lost or skipped values, and --sql adds
    frazil_id() to it. Without URL, the registry is FRAZIL_URL or that of this host.

    \b
      frazil init
      frazil init redis://localhost --new
      frazil init --namespace invoices --scheme tickets --start 20001
      frazil init --namespace invoices --scheme tickets --start 30000 --forward
      frazil init postgresql://ids@db/app --namespace orders --sql
      frazil init icicle://redis-a --shard 1
      frazil init icicle://redis-a,redis-b,redis-c --shards auto
    """
    if shared is not None:
        store.share(shared)
        return
    if request.url.maker == "icicle":
        from frazil.cli.stores.icicle import initialise

        if start is not None:
            raise click.UsageError("--start is for counters; icicle: uses time")
        initialise(request, shard=shard, auto=shards is not None, new=new)
        return
    if shard is not None or shards:
        raise click.UsageError("--shard and --shards are for icicle: URLs")
    registry, scheme = store.persistent(request), request.scheme
    if in_database:
        _add_ids(registry, request, new=new)
        return
    if registry.terms.timed:
        if start is not None or forward:
            raise click.UsageError(
                f"--start and --forward are for counters; scheme {scheme.name} uses time"
            )
        _set_up_timed(registry, request, new=new)
        return
    _set_up_counter(
        registry, request, _first_value(scheme, start, forward=forward, new=new), forward=forward
    )


def _set_up_counter(registry: Registry, request: Request, start: int, *, forward: bool) -> None:
    """Create a counter, or move it ahead."""
    if not forward and registry.look() is not None:
        raise ConfigError(
            f"namespace {request.namespace!r} of {request.url} exists; to move its counter to a "
            "greater value, add --forward",
            url=str(request.url),
        )
    registry.initialise(ask_of(LastSeen()), start)
    _show(request, "moves ahead" if forward else "is new")
    scheme = request.scheme
    axis = "run" if scheme.layout.axis == "run" else "number"
    click.echo(f"The next {axis} is {start}.")


def _add_ids(registry: Registry, request: Request, *, new: bool) -> None:
    """Install ``frazil_id`` and set it up; the namespace too, if it does not exist."""
    if request.url.kind not in ("postgresql", "postgres"):
        raise click.UsageError("--sql is for postgresql: URLs")
    from frazil.registries.postgres.registry import PostgresRegistry

    assert isinstance(registry, PostgresRegistry)
    if registry.look() is None:
        _set_up_timed(registry, request, new=new)
    node = registry.add_ids(ask_of(LastSeen()), request.scheme)
    name = request.namespace.replace("'", "''")
    click.echo(f"frazil_id('{name}') makes IDs with node {node}. Use it as a column's default:")
    click.echo(f"  id bigint PRIMARY KEY DEFAULT frazil_id('{name}')")
    click.echo("Other roles need: GRANT EXECUTE ON FUNCTION frazil_id(text) TO ROLE")


def _show(request: Request, state: str) -> None:
    name, scheme = f"Namespace {request.namespace!r} of {request.url}", request.scheme
    click.echo(f"{name} {state}, with scheme {scheme.name}:\n{scheme.layout}")


def _first_value(scheme: Scheme, start: int | None, *, forward: bool, new: bool) -> int:
    """The next value of a counter."""
    if new and (forward or start is not None):
        raise click.UsageError("--new starts a counter at its first value; use it or --start")
    if forward and start is None:
        raise click.UsageError("--forward needs the next value; add --start N")
    if start is None and not new:
        raise click.UsageError(
            "a counter needs its first value; add --start N, greater than all values in use, or "
            "--new if it was never used"
        )
    if start is not None:
        return start
    return 1 if scheme.layout.axis == "sequence" else 0


def _set_up_timed(registry: Registry, request: Request, *, new: bool) -> None:
    """Create the record; unless it is new, wait until every claim of a lost record has ended."""
    registry.initialise(ask_of(LastSeen()), 0 if new else None)
    _show(request, "is new" if new else "is set up")
    if not new:
        wait_us = registry.terms.horizon_ticks * registry.terms.tick_us
        click.echo(
            f"Waiting {duration_text(wait_us)}, because an earlier record may be lost (--new skips "
            "this)."
        )
        time.sleep(wait_us / 1e6)
    click.echo("The first ID does not wait.")
