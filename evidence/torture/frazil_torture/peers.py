"""Compare systems: the results of each system under each fault.

The comparison can be repeated on another machine and with newer versions. It tests one system after
the other, with the code of any other run. A system that is not installed is listed with the command
that installs it. A cell is the number of repeated IDs. It is a mark if a fault was not available or
no IDs were issued.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from frazil.errors import FrazilError
from frazil_torture.evidence import Search
from frazil_torture.report import about, duplicates, ids
from frazil_torture.run import OWN, Plan, Result, run
from frazil_torture.systems import SYSTEMS

__all__ = ["Row", "legend", "markdown", "measure"]


@dataclass(frozen=True, slots=True)
class Row:
    """A system and its results; ``missing`` is the reason if there are none."""

    name: str
    plan: Plan
    results: Sequence[Result] = ()
    missing: str = ""

    @property
    def cells(self) -> list[str]:
        """A text for each fault."""
        return [_cell(result) for result in self.results]

    @property
    def ids(self) -> int:
        """How many IDs were issued."""
        return ids(self.results)

    @property
    def duplicates(self) -> int:
        """How many of them were issued before."""
        return duplicates(self.results)


def measure(
    plan: Plan,
    searching: Callable[[Path], Search],
    tell: Callable[[str], None] = lambda _name: None,
) -> Iterator[Row]:
    """Yield the rows, frazil first. ``plan`` applies to each, except for its system.

    ``tell`` is called with the name of each system that begins.
    """
    for name, each in _plans(plan):
        tell(name)
        if each.system.missing:
            yield Row(name, each, missing=f"not installed: pip install {each.system.package}")
            continue
        try:
            yield Row(name, each, run(each, searching))
        except FrazilError as error:
            yield Row(name, each, missing=str(error))


def _plans(plan: Plan) -> Iterable[tuple[str, Plan]]:
    """Frazil with each kind of store, and every other system."""
    for own in OWN:
        if own not in ("replica", "replicas", "postgresql"):  # for one fault
            yield f"frazil, {own}:", replace(plan, system=SYSTEMS["frazil"], own=own)
    for name, system in SYSTEMS.items():
        if name not in ("frazil", "frazil_id"):
            yield name, replace(plan, system=system, own="")


def markdown(rows: Sequence[Row]) -> str:
    """The table with a column for each system, its settings and a legend.

    A line holds the systems and not the faults, which are more and have longer names.
    """
    faults = rows[0].plan.faults
    columns = [[row.name, str(about(row.plan)["version"]), *_column(row)] for row in rows]
    heads = ["fault", "version", "IDs", *faults]
    head, *lines = (f"| {' | '.join(line)} |" for line in zip(heads, *columns, strict=True))
    rule = f"|---|{'--:|' * len(rows)}"
    told = [f"- {line}" for line in legend(rows)]
    return "\n".join([_setting(about(rows[0].plan)), "", head, rule, *lines, "", *told, ""])


def _column(row: Row) -> list[str]:
    """How many IDs were issued, and a text for each fault; or why there are none."""
    if row.missing:
        return [row.missing, *[""] * len(row.plan.faults)]
    return [f"{row.ids:,}", *row.cells]


def _setting(facts: dict[str, Any]) -> str:
    return (
        f"{facts['date']}, {facts['machine']}, {facts['python']}, frazil {facts['frazil']}; "
        f"{facts['seconds']:g} s of issuing for each system, {facts['processes']} processes, "
        f"seed {facts['seed']}."
    )


def _cell(result: Result) -> str:
    found = result.found
    if result.outcome == "repeated":
        text = f"{found.duplicates:,}"
    elif result.outcome in ("unique", "hung"):
        text = "0"
    else:
        text = {"unavailable": "—", "refused": "no", "silent": "?", "unseen": "?"}[result.outcome]
    return text + ("†" if found.hung else "")


def legend(rows: Sequence[Row]) -> Iterator[str]:
    """The meaning of the marks in the table."""
    meanings = {
        "—": "not available",
        "no": "refused by the generator, which then gives no ID",
        "?": "the fault was not observed, or a process gave no ID at all",
        "†": "a process hung: it issued nothing, or did not end in time",
    }
    cells = "".join(cell for row in rows for cell in row.cells)
    yield "A number: IDs that were issued before."
    for mark, words in meanings.items():
        if mark in cells:
            yield f"{mark}: {words}."
