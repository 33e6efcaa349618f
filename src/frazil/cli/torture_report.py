"""What ``frazil torture`` shows to people: a line for each fault, and what it all comes to."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from frazil.cli import terminal
from frazil.testing.torture import Plan, Result
from frazil.testing.torture.peers import Row, legend
from frazil.testing.torture.report import about, duplicates, ids

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["peer_table", "summary", "text_report"]

_STYLES = {
    "unique": "green",
    "repeated": "bold red",
    "unavailable": "yellow",
    "refused": "green",
    "silent": "yellow",
    "unseen": "yellow",
}
_WORDS = {"unavailable": "not had", "refused": "refused by it"}
_COLUMNS = ("IDs", "duplicates", "disorder", "stalest", "stall")


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
        notes.append(f"{found.hung} hung, and had to be killed")
    if found.examples:
        key, first, again = found.examples[0]
        notes.append(f"{key} came from {first}, and again from {again}")
    return notes


def _duration(us: int | None) -> str:
    if us is None:
        return "-"
    return f"{us / 1e6:.2f} s" if us >= 1_000_000 else f"{us / 1e3:.0f} ms"
