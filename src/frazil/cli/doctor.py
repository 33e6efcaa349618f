"""``frazil doctor``: what a store is like before anything depends on it.

A store can be reached and still be the wrong one: without a disk, without the right to write, with
another layout under the same name, or with a failover that forgets. None of that shows until it
hurts. The doctor connects as a member would, reads what the store tells of itself (``examine`` of
the registry), and says for each event what would come of it. It looks and changes nothing, unless
``--try`` asks for the whole way: take a claim, make it longer, give it back.
"""

import statistics
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import click

from frazil.claim import Claim, Look, Seen, Wait
from frazil.cli import Failure, store, terminal
from frazil.cli.options import json_option, layout_options, registry_argument
from frazil.errors import ConfigError
from frazil.keeper import ask_of
from frazil.opening import is_icicle
from frazil.registries.base import Registry
from frazil.registries.checkup import Checkup, Finding, ahead, worst
from frazil.schemes import Scheme

__all__ = ["Report", "command", "round_trip", "tell"]

_SAMPLES = 11
_MARKS = {"good": ("✓", "green"), "note": ("!", "yellow"), "bad": ("✗", "red")}


@click.command
@registry_argument
@layout_options
@json_option
@click.option("--try", "trying", is_flag=True, help="Also take a claim and give it back.")
def command(*, url: str, namespace: str, scheme: Scheme, as_json: bool, trying: bool) -> None:
    """Examine a registry's store, and say what it survives.

    Connects, measures, reads the store's settings, and tells in plain words what would come of a
    restart, a failover or a wrong clock. Nothing is changed, unless --try is given. Exit code 1 if
    something is bad: an ID could repeat, or none can be had.

    \b
      frazil doctor redis://localhost
      frazil doctor postgresql://ids@db/app --namespace orders --scheme sonyflake
      frazil doctor etcd://a,b,c --try --json
      frazil doctor icicle://redis-a,redis-b
    """
    if is_icicle(url):
        from frazil.cli.icicle_doctor import examine_pool

        if trying:
            raise click.UsageError("--try takes a claim, and icicle: has none; use frazil mint -u")
        examine_pool(url, namespace, scheme, as_json=as_json)
        return
    registry = store.kept(url, namespace, scheme)
    found = store.look(registry)
    checkup = registry.examine()
    facts = [round_trip(registry), *_clock(checkup), *checkup.facts]
    facts.append(_namespace(found, registry, namespace))
    if trying:
        facts.append(_tried(registry))
    report = Report(registry.url, f"{registry.url}: {checkup.server}", facts, checkup.events)
    tell([report], as_json=as_json, named=False)


class Report(NamedTuple):
    """What was found at a server: what it is like, and what it survives."""

    server: str
    title: str
    facts: Sequence[Finding]
    events: Sequence[Finding]


def tell(reports: Sequence[Report], *, as_json: bool, named: bool) -> None:
    """Show what was found. Raises Failure if an ID could repeat, or none can be had.

    named: whether each finding of the JSON says whose it is.
    """
    if as_json:
        terminal.echo_json(
            {**({"server": server} if named else {}), "kind": kind, **finding._asdict()}
            for server, _, facts, events in reports
            for kind, findings in (("fact", facts), ("event", events))
            for finding in findings
        )
    else:
        for _, title, facts, events in reports:
            _show(title, facts, events)
    if worst([each for report in reports for each in (*report.facts, *report.events)]) == "bad":
        raise Failure("something here needs you; see the lines marked ✗")


class Looked(Protocol):
    """What can be looked at."""

    def look(self) -> Any:
        """Read what is there."""


def round_trip(registry: Looked) -> Finding:
    """How long a look takes."""
    taken_ms = []
    for _ in range(_SAMPLES):
        begun = time.perf_counter()
        registry.look()
        taken_ms.append((time.perf_counter() - begun) * 1e3)
    middle = statistics.median(taken_ms)
    return Finding("round trip", "good", f"{middle:.2f} ms (median of {_SAMPLES} reads)")


def _clock(checkup: Checkup) -> Iterable[Finding]:
    if checkup.ahead_us is not None:
        yield ahead(checkup.ahead_us)


def _namespace(found: Look | None, registry: Registry, namespace: str) -> Finding:
    terms = registry.terms
    if found is None:
        if terms.timed:
            wait = "the first use waits one horizon, unless you run frazil init"
            return Finding("namespace", "note", f"{namespace!r} is new", wait)
        begin = "a counter begins with frazil init --start N"
        return Finding("namespace", "bad", f"{namespace!r} is not there", begin)
    if found.fingerprint != terms.fingerprint:
        ours = "name its scheme to ask about it" if found.layout != terms.layout else "same layout"
        return Finding(
            "namespace", "note", f"{namespace!r} has other terms than asked for: {found.layout}",
            f"{ours}; other members than its own are refused",
        )  # fmt: skip
    held = sum(holding.held for holding in found.holdings)
    return Finding(
        "namespace", "good", f"{namespace!r}: {held} of {len(terms.slots)} node numbers taken"
    )


def _tried(registry: Registry) -> Finding:
    """A claim from its beginning to its end."""
    begun = time.perf_counter()
    reply = registry.grant(ask_of(Seen()), 1)
    if isinstance(reply, Wait):
        return Finding(
            "a claim", "note", "not yet", f"it has to wait {reply.wait_us / 1e6:.1f} s; try again"
        )
    longer = registry.renew(ask_of(reply.seen, reply), reply.until + 1)
    if not isinstance(longer, Claim):
        raise ConfigError("a claim that was just given could not be made longer; try again")
    registry.release(ask_of(longer.seen, longer), longer.start)
    took_ms = (time.perf_counter() - begun) * 1e3
    return Finding("a claim", "good", f"taken, made longer and given back in {took_ms:.1f} ms")


def _show(title: str, facts: Iterable[Finding], events: Iterable[Finding]) -> None:
    """What is known of a store, and what it survives, as two tables."""
    from rich.console import Group
    from rich.text import Text

    head = Text(title, "bold")
    survives = Text("\nWhat IDs survive here", "bold")
    terminal.echo(Group(head, Text(""), _table(facts), survives, Text(""), _table(events)))


def _table(findings: Iterable[Finding]) -> Any:
    from rich.table import Table
    from rich.text import Text

    made = Table.grid(padding=(0, 1, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column(max_width=34)
    made.add_column()
    for finding in findings:
        mark, colour = _MARKS[finding.verdict]
        told = Text(finding.found)
        if finding.meaning:
            told.append(f"\n{finding.meaning}", "dim")
        made.add_row(Text(mark, colour), finding.about, told)
    return made
