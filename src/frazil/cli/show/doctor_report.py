"""The findings of ``frazil doctor``, as text and as JSON.

Each store has two tables, its facts and the events it survives, with a mark on each line;
``--json`` prints a list of the same lines. The exit code is 1 if a finding is bad.
"""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from frazil.cli import Failure
from frazil.cli.show import terminal
from frazil.registries.doctor import Finding, worst

_SAMPLES = 11
_MARKS = {"good": ("✓", "green"), "note": ("!", "yellow"), "bad": ("✗", "red")}


class Report(NamedTuple):
    """The facts of a server, and the events it survives."""

    server: str
    title: str
    facts: Sequence[Finding]
    events: Sequence[Finding]


def show_reports(reports: Sequence[Report], *, as_json: bool, with_server: bool) -> None:
    """Show the findings. Raises Failure if one is bad: an ID could repeat, or none can be issued.

    with_server: whether each finding of the JSON has a key ``server``.
    """
    if as_json:
        terminal.echo_json(
            {**({"server": server} if with_server else {}), "kind": kind, **finding._asdict()}
            for server, _, facts, events in reports
            for kind, findings in (("fact", facts), ("event", events))
            for finding in findings
        )
    else:
        from rich.console import Group
        from rich.text import Text

        for _, title, facts, events in reports:
            heading, survives = (Text(each, "bold") for each in (title, "Events and their outcome"))
            terminal.echo(Group(heading, "", _table(facts), "", survives, "", _table(events)))
    if worst([each for report in reports for each in (*report.facts, *report.events)]) == "bad":
        raise Failure("an ID could repeat, or none can be issued; see the lines marked ✗")


def round_trip(look: Callable[[], object]) -> Finding:
    """The median time of ``look``, a read of one round trip."""
    reads_ms = []
    for _ in range(_SAMPLES):
        begun_s = time.perf_counter()
        look()
        reads_ms.append((time.perf_counter() - begun_s) * 1e3)
    median_ms = statistics.median(reads_ms)
    return Finding("round trip", "good", f"{median_ms:.2f} ms (median of {_SAMPLES} reads)")


def _table(findings: Iterable[Finding]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(max_width=34)
    table.add_column(overflow="fold")
    for finding in findings:
        mark, colour = _MARKS[finding.verdict]
        text = Text(finding.found)
        if finding.meaning:
            text.append(f"\n{finding.meaning}", "dim")
        table.add_row(Text(mark, colour), finding.about, text)
    return table
