"""``frazil mint``: new IDs on standard output.

One ID should cost a start of Python and one step of the registry, with no claim to release and no
thread. A million IDs must not fill the memory or take a million steps. So few IDs are minted in one
step, and many come from a generator, in chunks of a quarter of a second of the layout's IDs; each
chunk is printed before the next is made.
"""

import sys
from collections.abc import Iterator

import click

from frazil.cli import _signals
from frazil.cli._options import json_option, request_options, typed_command
from frazil.errors import TryLater
from frazil.generator.request import OpenRequest
from frazil.inputs.duration import wait_text
from frazil.minting import mint_request
from frazil.registries.base import RecordRegistry

_CHUNK = 65_536
_PROGRESS_MIN_S = 2.0  # the shortest expected time with a progress bar


@click.command
@click.option(
    "-n",
    "--count",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="How many IDs.",
)
@request_options
@click.option(
    "--lead",
    default="0s",
    show_default=True,
    metavar="DURATION",
    help="How far timestamps may run ahead of the clock, to avoid waiting.",
)
@click.option(
    "--timeout",
    default="10s",
    show_default=True,
    metavar="DURATION",
    help="How long to wait for the registry.",
)
@click.option(
    "--after",
    multiple=True,
    metavar="ID",
    help="Only IDs greater than this one, which was seen elsewhere. Repeat for several.",
)
@json_option
def command(*, count: int, request: OpenRequest, after: tuple[str, ...], as_json: bool) -> None:
    """Print unique IDs, one per line, in the scheme's encoding.

    No setup is needed: claims are in a file in your state directory, which all your processes on
    this host share. A namespace has one scheme; use another namespace for another scheme.

    \b
      frazil mint
      frazil mint -n 1000000 --lead 1s > ids.txt
      frazil mint --namespace orders --scheme tsid --prefix order_
      frazil mint --namespace users --scheme uniqueid-spread --field cluster=3
      frazil mint -u icicle://redis-a,redis-b -n 1000
      frazil mint --after 1426121518768717824
    """
    scheme = request.scheme
    separator = _json_head(request) if as_json else ""
    written = 0

    def printed() -> str:
        from frazil.cli.show.terminal import counted

        end = "the JSON is incomplete" if as_json else "the last line is complete"
        return f"{counted(written, 'ID')} printed; {end}" if written else "no ID printed"

    with _signals.on_stop(printed):
        for chunk in _chunks(count, request, after):
            texts = map(scheme.format, chunk)
            if as_json:
                # No encoding, prefix or check character needs an escape in JSON.
                lines = separator + ",\n ".join(f'"{text}"' for text in texts)
                separator = ",\n "
            else:
                lines = "\n".join(texts) + "\n"
            with _signals.whole():
                click.echo(lines, nl=False)
                written += len(chunk)
        if as_json:
            click.echo("]}")


def _json_head(request: OpenRequest) -> str:
    from json import dumps  # slow to load

    head = dumps({"scheme": request.scheme.name, "namespace": request.namespace})
    return f'{head[:-1]}, "ids": [\n '


def _chunks(count: int, request: OpenRequest, after: tuple[str, ...]) -> Iterator[list[int]]:
    """``count`` IDs in non-empty lists."""
    rate_hz = request.scheme.layout.ids_per_second or float(_CHUNK) * 4
    chunk = max(1, min(_CHUNK, int(rate_hz / 4)))
    if sys.stderr.isatty() and request.url.opened_by.maker == "registry":
        _announce_wait(request)
    if count <= chunk and not after:
        yield mint_request(count, request)
        return
    from frazil.cli.show.progress import progress  # not for one ID
    from frazil.generator.local import open_request

    # On a terminal, the IDs themselves show the progress.
    has_bar = count / rate_hz > _PROGRESS_MIN_S and not sys.stdout.isatty()
    bar = progress("minting", count, shown=has_bar)
    with open_request(request) as generator, bar as update:
        for made in range(0, count, chunk):
            update(made)
            # A generator's later IDs are greater, too; those of several servers need not be.
            yield generator.take(min(chunk, count - made), after=after or None)


def _announce_wait(request: OpenRequest) -> None:
    """Print why the first ID of a namespace takes longer."""
    registry = request.connect()
    if not (isinstance(registry, RecordRegistry) and registry.terms.timed):
        return
    try:
        found = registry.look()
    except TryLater:  # minting retries until --timeout
        return
    if found is None:
        wait = wait_text(registry.terms.wait_ticks * registry.terms.tick_us)
        init = typed_command("init", request)
        click.echo(
            f"first use of namespace {request.namespace!r} in {request.url}: waiting {wait}, "
            f"because an earlier record may be lost (`{init} --new` skips this)",
            err=True,
        )
