"""What ``frazil torture`` shows to people: a line for each fault, and what it all comes to."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from frazil.cli.show import terminal
from frazil.torture import Plan, Result
from frazil.torture.id_log import HUNG
from frazil.torture.peers import Row, legend
from frazil.torture.report import about, again, duplicates, ids

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["mix_report", "peer_table", "summary", "text_report"]

_STYLES = {
    "unique": "green",
    "repeated": "bold red",
    "unavailable": "yellow",
    "refused": "green",
    "silent": "yellow",
    "unseen": "yellow",
    "hung": "bold red",
}
_WORDS = {"unavailable": "not had", "refused": "refused by it"}
_COLUMNS = ("IDs", "duplicates", "disorder", "stalest", "stall")


def mix_report(plan: Plan, results: Sequence[Result]) -> "RenderableType":
    """The setting, how often each fault was done, and the rounds that are not as they should be."""
    from collections import Counter

    from rich.console import Group
    from rich.text import Text

    told = {name: str(value) for name, value in about(plan).items() if value != ""}
    done = Counter(mark.what.split()[0].rstrip(",") for result in results for mark in result.marks)
    table = terminal.table("fault", "times", right=("times",))
    for what, times in sorted(done.items()):
        table.add_row(what, f"{times:,}")
    notes: list[Any] = []
    for result in results:
        if result.outcome != "unique":
            style = _STYLES[result.outcome]
            notes.append(Text(f"seed {result.seed}: {result.outcome}", style))
            notes += [Text(f"  {note}", style) for note in _notes(result)]
            notes.append(Text(f"  {again(plan, result)}"))
    total, twice = ids(results), duplicates(results)
    said = f"{total:,} IDs in {len(results)} rounds: {f'{twice:,}' if twice else 'no'} duplicates"
    hung = sum(result.found.hung for result in results)
    said += f"; {hung} hung" if hung else "; nothing hung"
    end = Text(said, "bold red" if twice or hung else "bold")
    return Group(terminal.facts(told.items()), Text(""), table, Text(""), *notes, end)


def text_report(plan: Plan, results: Sequence[Result]) -> "RenderableType":
    """The setting, the table, and below it the reasons and examples that do not fit in a table."""
    from rich.console import Group
    from rich.text import Text

    told = {name: str(value) for name, value in about(plan).items() if value != ""}
    table = terminal.table("fault", *_COLUMNS, "outcome", right=_COLUMNS)
    notes: list[Any] = []
    for result in results:
        found = result.found
        style = _STYLES[result.outcome]
        shown = found.ids > 0
        table.add_row(
            result.fault.name,
            f"{found.ids:,}",
            f"{found.duplicates:,}" if shown else "-",
            f"{found.disorder:,}" if shown else "-",
            _duration(found.stale_us) if shown else "-",
            _duration(found.stall_us) if shown else "-",
            Text(_WORDS.get(result.outcome, result.outcome), style),
        )
        notes += [Text(f"{result.fault.name}: {note}", style) for note in _notes(result)]
    head = terminal.facts(told.items())
    return Group(head, Text(""), table, Text(""), *notes, summary(results))


def summary(results: Sequence[Result]) -> "RenderableType":
    """What it all comes to, in a line."""
    from rich.text import Text

    total, again = ids(results), duplicates(results)
    tried = sum(result.outcome != "unavailable" for result in results)
    left = len(results) - tried
    said = f"{total:,} IDs under {tried} faults: {f'{again:,}' if again else 'no'} duplicates"
    said += f"; {left} could not be had" if left else ""
    return Text(said, "bold red" if again else "bold")


def peer_table(rows: Sequence[Row]) -> "RenderableType":
    """Systems side by side. Faults are the rows here: there are more of them than a line holds."""
    from rich.console import Group
    from rich.text import Text

    there = [row for row in rows if not row.missing]
    names = [row.name for row in there]
    table = terminal.table("fault", *names, right=names)
    for number, fault in enumerate(rows[0].plan.faults):
        cells = [row.cells[number] for row in there]
        table.add_row(fault, *(Text(cell, _tint(cell)) for cell in cells))
    table.add_row("IDs", *(f"{row.ids:,}" for row in there))
    missing = [Text(f"{row.name}: {row.missing}", "yellow") for row in rows if row.missing]
    return Group(table, Text(""), *missing, *(Text(line, "dim") for line in legend(rows)))


def _tint(cell: str) -> str:
    return "green" if cell == "0" else "bold red" if cell[0].isdigit() else "dim"


def _notes(result: Result) -> list[str]:
    found = result.found
    notes = []
    if result.reason:
        notes.append(result.reason)
    if result.outcome == "silent":
        last = f" ({found.troubles[0]})" if found.troubles else ""
        notes.append(f"nothing came from {', '.join(found.silent) or 'any process'}{last}")
    if found.hung:
        hung = [line for line in found.troubles if f" {HUNG} " in line]
        notes.append(f"{found.hung} hung ({'; '.join(hung[:3])})")
    if found.examples:
        key, first, again = found.examples[0]
        notes.append(f"{key} came from {first}, and again from {again}")
    return notes


def _duration(us: int | None) -> str:
    if us is None:
        return "-"
    return f"{us / 1e6:.2f} s" if us >= 1_000_000 else f"{us / 1e3:.0f} ms"
