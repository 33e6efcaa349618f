"""The text output of ``frazil torture``: a line for each fault, and a summary."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from frazil.cli.show import terminal
from frazil_torture import Plan, Result
from frazil_torture.id_log import HUNG
from frazil_torture.peers import Row, legend
from frazil_torture.report import about, again, duplicates, ids

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["mix_report", "peer_table", "text_report"]

_STYLES = {
    "unique": "green",
    "repeated": "bold red",
    "inverted": "bold red",
    "unavailable": "yellow",
    "refused": "green",
    "silent": "yellow",
    "unseen": "yellow",
    "hung": "bold red",
}
_WORDS = {"unavailable": "not available", "refused": "refused by it"}
_COLUMNS = ("IDs", "duplicates", "disorder", "stalest", "stall")


def mix_report(plan: Plan, results: Sequence[Result]) -> "RenderableType":
    """The setting, how often each fault occurred, and the rounds that are not unique."""
    from collections import Counter

    from rich.console import Group
    from rich.text import Text

    setting = _setting(plan)
    done = Counter(mark.what.split()[0].rstrip(",") for result in results for mark in result.marks)
    table = terminal.Rows("fault", "times", right=("times",))
    for what, times in sorted(done.items()):
        table.add_row(what, f"{times:,}")
    notes: list[Any] = []
    for result in results:
        if result.outcome != "unique":
            style = _STYLES[result.outcome]
            notes.append(Text(f"seed {result.seed}: {result.outcome}", style))
            notes += [Text(f"  {note}", style) for note in _notes(result)]
            notes.append(Text(f"  {again(plan, result)}"))
    hung = sum(result.found.hung for result in results)
    rest = f"; {hung} process{'es' * (hung != 1)} hung" if hung else "; no process hung"
    end = _total(results, f"in {terminal.counted(len(results), 'round')}", rest, failed=hung > 0)
    return Group(setting, "", table, "", *notes, end)


def text_report(plan: Plan, results: Sequence[Result]) -> "RenderableType":
    """The setting, the table of faults, and notes with reasons and examples."""
    from rich.console import Group
    from rich.text import Text

    table = terminal.Rows("fault", *_COLUMNS, "outcome", right=_COLUMNS)
    notes: list[Any] = []
    for result in results:
        found = result.found
        style = _STYLES[result.outcome]
        has_ids = found.ids > 0
        table.add_row(
            result.fault.name,
            f"{found.ids:,}",
            f"{found.duplicates:,}" if has_ids else "-",
            f"{found.disorder:,}" if has_ids else "-",
            _duration(found.stale_us) if has_ids else "-",
            _duration(found.stall_us) if has_ids else "-",
            Text(_WORDS.get(result.outcome, result.outcome), style),
        )
        notes += [Text(f"{result.fault.name}: {note}", style) for note in _notes(result)]
    tested = sum(result.outcome != "unavailable" for result in results)
    unavailable = len(results) - tested
    rest = f"; {unavailable} not available" if unavailable else ""
    end = _total(results, f"under {terminal.counted(tested, 'fault')}", rest)
    return Group(_setting(plan), "", table, "", *notes, end)


def _setting(plan: Plan) -> "RenderableType":
    return terminal.Facts((name, str(value)) for name, value in about(plan).items() if value != "")


def _total(
    results: Sequence[Result], where: str, rest: str, *, failed: bool = False
) -> "RenderableType":
    """The totals, in a line."""
    from rich.text import Text

    repeated = duplicates(results)
    again = terminal.counted(repeated, "duplicate") if repeated else "no duplicates"
    text = f"{terminal.counted(ids(results), 'ID')} {where}: {again}{rest}"
    return Text(text, "bold red" if repeated or failed else "bold")


def peer_table(rows: Sequence[Row]) -> "RenderableType":
    """Systems side by side, with a row for each fault."""
    from rich.console import Group
    from rich.text import Text

    tested = [row for row in rows if not row.missing]
    names = [row.name for row in tested]
    table = terminal.Rows("fault", *names, right=names)
    for number, fault in enumerate(rows[0].plan.faults):
        cells = [row.cells[number] for row in tested]
        table.add_row(fault, *(Text(cell, _colour(cell)) for cell in cells))
    table.add_row("IDs", *(f"{row.ids:,}" for row in tested))
    missing = [Text(f"{row.name}: {row.missing}", "yellow") for row in rows if row.missing]
    return Group(table, "", *missing, *(Text(line, "dim") for line in legend(rows)))


def _colour(cell: str) -> str:
    return "green" if cell == "0" else "bold red" if cell[0].isdigit() else "dim"


def _notes(result: Result) -> list[str]:
    found = result.found
    notes = []
    if result.reason:
        notes.append(result.reason)
    if result.outcome == "silent":
        last = f" ({found.troubles[0]})" if found.troubles else ""
        notes.append(f"no IDs from {', '.join(found.silent) or 'any process'}{last}")
    if found.answered:
        notes.append(
            f"{terminal.counted(found.answered, 'message')} answered, {found.inverted:,} by an ID "
            f"that is not greater; IDs up to {_duration(found.ahead_us)} ahead of the true time"
        )
    if found.hung:
        hung = [line for line in found.troubles if f" {HUNG} " in line]
        notes.append(f"{found.hung} hung ({'; '.join(hung[:3])})")
    if found.examples:
        key, first, again = found.examples[0]
        notes.append(f"{key} is from {first}, and again from {again}")
    return notes


def _duration(us: int | None) -> str:
    if us is None:
        return "-"
    return f"{us / 1e6:.2f} s" if us >= 1_000_000 else f"{us / 1e3:.0f} ms"
