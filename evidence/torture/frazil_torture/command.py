"""``frazil torture``: test whether an ID system stays unique under faults.

This forks real processes, kills and stops them, sets their clocks, empties their store, and counts
duplicates. It tests frazil itself, frazil on a given store, kernel and Python, and any other
generator, named as ``module:callable``.

This module has the options; ``run`` has the rest.
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

import frazil
from frazil.cli.show import terminal
from frazil.cli.show.progress import progress
from frazil.errors import ConfigError
from frazil_torture import FAULTS, MIXED, OWN, SYSTEMS, Plan, known, named, run
from frazil_torture.repeats import Repeats
from frazil_torture.report import as_json as facts_of
from frazil_torture.report import failed
from frazil_torture.run import rounds
from frazil_torture.system import attribute

__all__ = ["command"]

_SECONDS = 45.0
_FULL_BURST = 4096


def _faults_like(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The lists of faults that complete the last name of one."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in FAULTS if name.startswith(last)]


def _systems_like(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The names of systems that complete a word."""
    return [name for name in SYSTEMS if name.startswith(incomplete)]


@click.command
@click.argument("url", default="", metavar="[URL]")
@click.option("--system", default="frazil", show_default=True, metavar="NAME|MODULE:CALLABLE",
              shell_complete=_systems_like,
              help="The system to test; an unknown name lists all names.")  # fmt: skip
@click.option("-s", "--scheme", default="icicle", show_default=True, metavar="NAME|LAYOUT",
              help="The scheme of frazil's IDs.")  # fmt: skip
@click.option("--own", type=click.Choice(OWN),
              help="Create a store for the run, and harm it too.  [default: sqlite without URL]",
              )  # fmt: skip
@click.option("--faults", default="", metavar="A,B,C", shell_complete=_faults_like,
              help="Only these faults; an unknown name lists all names.")  # fmt: skip
@click.option("--processes", type=click.IntRange(1, 100), default=3, show_default=True,
              metavar="N", help="How many children, threads or processes.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(min=0.1), default=_SECONDS, show_default=True,
              metavar="S", help="How long to issue, for all faults together.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), metavar="N",
              help="The seed of the random moments; by default a new one, shown.")  # fmt: skip
@click.option("--mix", is_flag=True,
              help="All faults of a host at once, in rounds of 10 s with a seed each.")  # fmt: skip
@click.option("--peers", is_flag=True,
              help="Test all known systems, each for --seconds, and print a table.")  # fmt: skip
@click.option("--markdown", is_flag=True, help="With --peers: print the table as Markdown.")
@click.option("--full-speed", is_flag=True, help="Issue without pauses; this fills the disk.")
@click.option("--html", type=click.Path(dir_okay=False, writable=True), metavar="FILE",
              help="Also write a page with a timeline.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with IDs as strings.")
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
    """Test an ID system with forks, kills and wrong clocks, and count duplicates.

    Real processes on this machine issue IDs under one fault after the other. Without URL, frazil
    uses a store that is created for the run and harmed too; a store that you name is used in a
    separate namespace and never harmed. Exit code 1 means that an ID was issued twice, or that a
    process hung. A fault that is not available here is reported as such.

    \b
      frazil torture
      frazil torture --own redis --html torture.html
      frazil torture postgresql://ids@db/app --faults fork,kill,stop
      frazil torture --system snowflake-id
      frazil torture --mix --seconds 1200
      frazil torture --peers --seconds 10
      frazil torture --system orders.ids:next_id --faults fork,threads

    With --system and --own, the system finds the URL of the store in FRAZIL_URL.
    """
    _check(url, system, own, scheme)
    if mix and (peers or html):
        raise click.UsageError("--mix excludes --peers and --html; omit one of them")
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
        _test_all(plan, as_json=as_json, as_markdown=markdown)
    else:
        _test_one(plan, html, as_json=as_json)


def _test_one(plan: Plan, html: str | None, *, as_json: bool) -> None:
    """Test one system; the exit code is 1 if it failed."""
    if plan.system.missing:
        name, package = plan.system.name, plan.system.package
        raise ConfigError(f"{name} is not installed; run: pip install {package}")
    if html is not None:
        Path(html).open("a").close()  # an error is shown before the run, not after it
    steps = len(rounds(plan)) if plan.mix else len(plan.faults)
    with _exit_on_signals(), progress("torturing", steps) as update:
        results = run(plan, Repeats, update)
    if html is not None:
        from frazil_torture.page import page

        Path(html).write_text(page(plan, results), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(facts_of(plan, results), indent=1))
    else:
        from frazil_torture.text_report import mix_report, text_report

        terminal.echo((mix_report if plan.mix else text_report)(plan, results))
    click.get_current_context().exit(1 if failed(results) else 0)


def _faults(text: str, *, mix: bool, file: bool) -> tuple[str, ...]:
    """The named faults, or all; a mix restores only a file that the run created."""
    if text:
        return named(text, mix=mix)
    if mix:
        return tuple(each for each in MIXED if file or each != "restore")
    return tuple(FAULTS)


def _check(url: str, system: str, own: str | None, scheme: str) -> None:
    """Raise an error for options that exclude each other, or a missing callable or store."""
    if url and system != "frazil":
        raise click.UsageError(f"URL is the registry of frazil, not of {system}; omit it")
    if url and own:
        raise click.UsageError("--own creates a store for the run; omit --own or URL")
    if system not in SYSTEMS and ":" in system:
        sys.path.insert(0, "")  # as in the processes that call it
        attribute(system)
    if url.startswith("memory:"):
        raise click.UsageError("memory: is for one process, and torture starts several")
    frazil.open(url or "sqlite:", scheme).close()  # their errors are reported once, and early


def _check_peers(*wrong: bool) -> None:
    if any(wrong):
        raise click.UsageError(
            "--peers tests all systems; omit URL, --system, --own and --html, and use --markdown "
            "only with --peers"
        )


@contextmanager
def _exit_on_signals() -> Iterator[None]:
    """Exit on SIGTERM and SIGHUP in the usual way, which ends all started processes."""
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [signal.Signals[name] for name in names]
    handlers = [signal.signal(each, lambda number, _: sys.exit(128 + number)) for each in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)


def _test_all(plan: Plan, *, as_json: bool, as_markdown: bool) -> None:
    """Test all systems; the exit code is 1 if frazil repeated an ID."""
    from frazil_torture.peers import markdown, measure
    from frazil_torture.text_report import peer_table

    with _exit_on_signals():
        rows = list(measure(plan, Repeats, lambda name: click.echo(f"torturing {name}", err=True)))
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
