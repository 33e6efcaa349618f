"""``frazil torture``: what no ID system survives but by design, done to yours.

Documentation says "unique". This forks the processes, kills them, stops them, sets their clocks and
empties their store, for real, and counts. It is for three kinds of doubt: about frazil; about
frazil on *this* store, kernel and Python; about any other generator, which is named as
``module:callable`` and treated alike.

What is done is in ``frazil.torture``; here is what a person says and sees.
"""

import json
import secrets
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from frazil.cli._options import json_option
from frazil.cli.files.duplicates import Duplicates
from frazil.cli.show import terminal
from frazil.cli.show.progress import progress
from frazil.errors import ConfigError
from frazil.inputs.url import parse_url
from frazil.registries import connect
from frazil.schemes.scheme import scheme as scheme_of
from frazil.torture import FAULTS, MIXED, OWN, SYSTEMS, Plan, known, named, run
from frazil.torture.report import as_json as facts_of
from frazil.torture.report import failed
from frazil.torture.run import rounds
from frazil.torture.system import attribute

__all__ = ["command"]

_MEMORY = 256 << 20
_SECONDS = 45.0
_FULL_BURST = 4096


@click.command
@click.argument("url", default="", metavar="[URL]")
@click.option("--system", default="frazil", show_default=True, metavar="NAME|MODULE:CALLABLE",
              help="What gives the IDs; a name that is none lists the names.")  # fmt: skip
@click.option("-s", "--scheme", default="icicle", show_default=True, metavar="NAME|LAYOUT",
              help="The scheme of frazil's IDs.")  # fmt: skip
@click.option("--own", type=click.Choice(OWN),
              help="Make a store for the run, and harm it too.  [default: sqlite without URL]",
              )  # fmt: skip
@click.option("--faults", default="", metavar="A,B,C",
              help="Only these faults; a name that is none lists the names.")  # fmt: skip
@click.option("--processes", type=click.IntRange(1, 100), default=3, show_default=True,
              metavar="N", help="Children, threads or processes at once.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(min=0.1), default=_SECONDS, show_default=True,
              metavar="S", help="How long to issue, all faults together.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), metavar="N",
              help="Of the random moments; shown, and another one each time.")  # fmt: skip
@click.option("--mix", is_flag=True,
              help="All faults of a host at once, in rounds of 10 s by a seed each.")  # fmt: skip
@click.option("--peers", is_flag=True,
              help="A table of all known systems, each for so many seconds.")  # fmt: skip
@click.option("--markdown", is_flag=True, help="With --peers: print it as Markdown.")
@click.option("--full-speed", is_flag=True, help="Issue without pauses, and fill the disk.")
@click.option("--html", type=click.Path(dir_okay=False, writable=True), metavar="FILE",
              help="Also write a page with a timeline.")  # fmt: skip
@json_option
def command(
    *,
    url: str,
    system: str,
    scheme: str,
    own: str | None,
    faults: str,
    processes: int,
    seconds: float,
    seed: int | None,
    mix: bool,
    peers: bool,
    markdown: bool,
    full_speed: bool,
    html: str | None,
    as_json: bool,
) -> None:
    """Fork, kill, stop and mislead an ID system, and count what repeats.

    Real processes on this machine, under one fault after the other. Without URL frazil's claims
    are in a store made for the run, which is harmed too; a store that you name is used, in a
    namespace of its own, and never harmed. Exit code 1 means that an ID came twice, or that a
    process hung. A fault that cannot be had here is said to be so.

    \b
      frazil torture
      frazil torture --own redis --html torture.html
      frazil torture postgresql://ids@db/app --faults fork,kill,stop
      frazil torture --system snowflake-id
      frazil torture --mix --seconds 1200
      frazil torture --peers --seconds 10
      frazil torture --system orders.ids:next_id --faults fork,threads

    With --system and --own, the environment's FRAZIL_URL has the URL of the store.
    """
    _check(url, system, own, scheme)
    if mix and (peers or html):
        raise click.UsageError("--mix is without --peers and --html")
    _check_peers(peers and bool(url or own or html or system != "frazil"), markdown and not peers)
    own = own or ("sqlite" if system == "frazil" and not url else "")
    plan = Plan(
        known(system),
        url=url,
        own=own,
        scheme=scheme,
        namespace=f"torture-{secrets.token_hex(4)}" if url else "torture",
        faults=_faults(faults, mix=mix, file=own == "sqlite"),
        mix=mix,
        processes=processes,
        seconds=seconds,
        seed=secrets.randbelow(1 << 32) if seed is None else seed,
    )
    if full_speed:
        plan = replace(plan, burst=_FULL_BURST, nap_s=0)
    if peers:
        _peers(plan, as_json=as_json, as_markdown=markdown)
    else:
        _one(plan, html, as_json=as_json)


def _one(plan: Plan, html: str | None, *, as_json: bool) -> None:
    """A run against one system; the exit code is about its duplicates."""
    if plan.system.missing:
        raise ConfigError(f"{plan.system.name} is not installed; pip install {plan.system.package}")
    steps = len(rounds(plan)) if plan.mix else len(plan.faults)
    with _tidy(), progress("torturing", steps) as tell:
        results = run(plan, _search, lambda _name, done: tell(done))
    if html is not None:
        from frazil.torture.page import page

        Path(html).write_text(page(plan, results), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(facts_of(plan, results), indent=1))
    else:
        from frazil.cli.show.torture_report import mix_report, text_report

        terminal.echo((mix_report if plan.mix else text_report)(plan, results))
    click.get_current_context().exit(1 if failed(results) else 0)


def _faults(text: str, *, mix: bool, file: bool) -> tuple[str, ...]:
    """The faults that are named, or all; only the run's own file can be put back in a mix."""
    if text:
        return named(text, mix=mix)
    if mix:
        return tuple(each for each in MIXED if file or each != "restore")
    return tuple(FAULTS)


def _check(url: str, system: str, own: str | None, scheme: str) -> None:
    """Refuse what does not go together, and a callable or a store that is not there."""
    if url and system != "frazil":
        raise click.UsageError(f"URL is where frazil's claims are kept, and not for {system}")
    if url and own:
        raise click.UsageError("--own makes a store for the run; leave it or URL out")
    if system not in SYSTEMS and ":" in system:
        sys.path.insert(0, "")  # as for the processes that will call it
        attribute(system)
    if url.startswith("memory:"):
        raise click.UsageError("memory: is for one process, and this starts many")
    chosen = scheme_of(scheme)
    if url and parse_url(url).maker == "registry":
        connect(url, "torture", chosen).look()  # what is wrong with it is told once, and now


def _check_peers(*wrong: bool) -> None:
    """Refuse what does not go with the table of all systems, or without it."""
    if any(wrong):
        raise click.UsageError(
            "--peers is about all systems: without URL, --system, --own and --html; --markdown is "
            "for --peers"
        )


@contextmanager
def _tidy() -> Iterator[None]:
    """Leave nothing running when this is told to end."""
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ends = [signal.Signals[name] for name in names]
    before = [signal.signal(one, lambda number, _: sys.exit(128 + number)) for one in ends]
    try:
        yield
    finally:
        for one, handler in zip(ends, before, strict=True):
            signal.signal(one, handler)


def _peers(plan: Plan, *, as_json: bool, as_markdown: bool) -> None:
    """The table of all systems; the exit code is about frazil's rows."""
    from frazil.cli.show.torture_report import peer_table
    from frazil.torture.peers import markdown, measure

    with _tidy():
        rows = list(measure(plan, _search, lambda name: click.echo(f"torturing {name}", err=True)))
    if as_json:
        terminal.echo_json(
            {**facts_of(row.plan, row.results), "name": row.name, "missing": row.missing}
            for row in rows
        )
    elif as_markdown:
        click.echo(markdown(rows), nl=False)
    else:
        terminal.echo(peer_table(rows))
    ours = sum(row.duplicates for row in rows if row.plan.system.name == "frazil")
    click.get_current_context().exit(1 if ours else 0)


def _search(folder: Path) -> Duplicates:
    return Duplicates(_MEMORY, folder)
