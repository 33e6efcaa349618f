"""``frazil init``: set up a namespace before its first use.

A registry without a record cannot distinguish a first use from a lost record. Neither can a script
that runs at each start. So a namespace with time is set up as after a loss, and the command waits
one horizon: every claim of a lost record ends before that. Only a person knows that the namespace
was never used, and passes ``--new``.

For counters (layouts without time) waiting does not help. They must be set up with this command,
and a person chooses the first value, with ``--start`` or ``--new``. Servers that issue IDs
themselves (``icicle:``) each get a shard.
"""

from typing import TYPE_CHECKING, cast

import click

from frazil.claims.claim import LastSeen
from frazil.cli._options import registry_argument
from frazil.cli._signals import on_stop
from frazil.cli.show.terminal import wrapped
from frazil.cli.stores import store
from frazil.generator.request import OpenRequest, refuse_full
from frazil.generator.verb_requests import ask_of
from frazil.initialising import HowToBegin, initialise
from frazil.inputs.duration import wait_text
from frazil.registries.base import Registry

if TYPE_CHECKING:
    from frazil.registries.postgres.registry import PostgresRegistry


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
    "--move",
    is_flag=True,
    help="PostgreSQL: move the table of the claims into the schema frazil, without a wait. Every "
    "process must run a version that looks there.",
)
@click.option(
    "--new",
    is_flag=True,
    help="The namespace was never used, so do not wait. A counter begins at 1, a run at 0. Do not "
    "use it in a script: after a lost record, IDs would repeat.",
)
@click.option(
    "--if-missing",
    is_flag=True,
    help="For programs that run at every start, like an init container: an existing namespace is "
    "not an error; after a loss, this waits one horizon.",
)
def command(
    *,
    request: OpenRequest,
    start: int | None,
    forward: bool,
    shard: int | None,
    shards: str | None,
    shared: str | None,
    in_database: bool,
    move: bool,
    new: bool,
    if_missing: bool,
) -> None:
    """Set up a namespace, so that its first use does not wait.

    For a layout with time, this waits once, 1 s on this host and 5 s on a server, because an
    earlier record may be lost; --new skips the wait. A layout without time (chibrary, tickets)
    must be set up once, with the first number to issue. A namespace that exists is an error and
    does not change, but --forward moves a counter past lost or skipped values, and --sql adds
    frazil_id() to it. With --if-missing it is not an error, and this waits only after a loss.
    Without URL, the registry is FRAZIL_URL or that of this host. In Python: frazil.init.

    For icicle:, this assigns a shard to each server and does not wait. Without --new, the first ID
    of each server then waits 5 s.

    \b
      frazil init
      frazil init redis://localhost --new
      frazil init redis://localhost --if-missing
      frazil init --namespace desk --scheme tickets --start 20001
      frazil init --namespace desk --scheme tickets --start 30000 --forward
      frazil init postgresql://ids@db/app --namespace orders --sql
      frazil init icicle://redis-a --shard 1
      frazil init icicle://redis-a,redis-b,redis-c --shards auto
    """
    if shared is not None:
        store.share(shared)
        return
    if request.url.opened_by.maker == "icicle":
        from frazil.cli.stores.icicle import initialise as initialise_pool

        if start is not None or if_missing:
            raise click.UsageError(
                "--start and --if-missing are for registries; icicle: has shards"
            )
        refuse_full(request.scheme)
        initialise_pool(request, shard=shard, auto=shards is not None, new=new)
        return
    if shard is not None or shards:
        raise click.UsageError("--shard and --shards are for icicle: URLs")
    registry = store.persistent(request)
    if move:
        _move(registry, request)
        return
    how = HowToBegin(start, forward, new, if_missing)
    problem = how.problem(request.scheme, lambda name: f"--{name.replace('_', '-')}")
    if problem is not None:
        raise click.UsageError(problem)
    (_add_ids if in_database else _set_up)(registry, request, how)


def _set_up(_registry: Registry, request: OpenRequest, how: HowToBegin) -> None:
    """Set up the namespace of a registry, and print what was done."""
    scheme = request.scheme
    which = f"{request.namespace!r} of {request.url}"
    name = f"Namespace {which}"
    about = f"with scheme {scheme.name}:\n{scheme.layout}"
    waits = False

    def waiting(wait_us: int) -> None:
        nonlocal waits
        wait, why = wait_text(wait_us), "because an earlier record may be lost"
        if how.if_missing:
            click.echo(wrapped(f"Waiting up to {wait}, {why}."))
            return
        waits = True
        click.echo(wrapped(f"{name} is set up, {about}"))
        click.echo(wrapped(f"Waiting {wait}, {why} (--new skips this)."))

    def left() -> str:
        if waits:
            return f"namespace {which} is set up; its first ID waits for the rest of that time"
        return f"namespace {which} may exist now; frazil claims shows it"

    with on_stop(left):
        made = initialise(request, how, waiting)
    if how.if_missing:
        click.echo(wrapped(f"{name} {'is set up' if made else 'exists'}, {about}"))
    elif how.forward:
        click.echo(wrapped(f"{name} moves ahead, {about}"))
    elif how.new or how.start is not None:
        click.echo(wrapped(f"{name} is new, {about}"))
    if scheme.layout.axis == "time":
        click.echo("The first ID does not wait.")
    elif not how.if_missing:
        axis = "run" if scheme.layout.axis == "run" else "number"
        click.echo(f"The next {axis} is {how.first_value(scheme)}.")


def _in_postgres(registry: Registry, request: OpenRequest, option: str) -> "PostgresRegistry":
    """The registry, for an option that only PostgreSQL has."""
    if request.url.opened_by.family != "postgresql":
        raise click.UsageError(f"{option} is for postgresql: URLs")
    return cast("PostgresRegistry", registry)


def _move(registry: Registry, request: OpenRequest) -> None:
    """Move the table of all namespaces of a database."""
    moved = _in_postgres(registry, request, "--move").move_table()
    verb = "is now" if moved else "was already"
    click.echo(wrapped(f"The table of the claims in {request.url} {verb} in the schema frazil."))


def _add_ids(registry: Registry, request: OpenRequest, how: HowToBegin) -> None:
    """Install ``frazil_id`` and set it up; the namespace too, if it does not exist."""
    registry = _in_postgres(registry, request, "--sql")
    if registry.look() is None:
        _set_up(registry, request, how)
    else:  # nothing can be reserved during the wait after a loss
        initialise(request, HowToBegin(if_missing=True))
    node = registry.add_ids(ask_of(LastSeen()), request.scheme)
    name = request.namespace.replace("'", "''")
    text = (
        f"frazil_id('{name}') makes IDs with node {node}. Use it as a column's default:\n"
        f"  id bigint PRIMARY KEY DEFAULT frazil_id('{name}')\n"
        "Other roles need: GRANT EXECUTE ON FUNCTION frazil_id(text) TO ROLE"
    )
    click.echo(wrapped(text))
