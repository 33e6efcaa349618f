"""What ``frazil doctor`` found, as people and programs read it.

For each store what it is like, and what IDs survive there: two tables with a mark on each line, or
with ``--json`` a list of the same lines. Both end with exit code 1 if one of them is bad.
"""

import statistics
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from frazil.cli import Failure
from frazil.cli.show import terminal
from frazil.registries.doctor import Finding, worst

__all__ = ["Report", "round_trip", "tell"]

_SAMPLES = 11
_MARKS = {"good": ("✓", "green"), "note": ("!", "yellow"), "bad": ("✗", "red")}


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
