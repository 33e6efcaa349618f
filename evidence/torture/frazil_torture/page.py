"""A run as one self-contained HTML page: the faults, their results, and a timeline of each.

In a timeline each node number has a row (each generator, if IDs have no node). A pale bar is a
claim, from its first tick to its last. A strong bar is a time in which IDs of the node were given,
in the colour of the generator; overlapping colours in a row would be two owners. Red marks the
actions, and the line below is the rate of IDs. The timelines are SVG with tooltips; the page has no
script.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

import frazil
from frazil_torture.page_style import STYLE
from frazil_torture.report import about, duplicates, ids
from frazil_torture.run import Plan, Result

__all__ = ["page"]

_WIDTH, _LEFT, _ROW, _HEAD, _RATES = 960, 84, 16, 22, 44
_ROWS = 40
_COLOURS = 8
_BIN_NS = 50_000_000
_COLUMNS = ("Fault", "IDs", "Duplicates", "Out of order", "Stalest", "Longest stall", "Outcome")


def page(plan: Plan, results: Sequence[Result]) -> str:
    """The page."""
    title = _title(plan, results)
    kind = "bad" if duplicates(results) else "good" if ids(results) else "none"
    facts = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>"
        for name, value in about(plan).items()
        if value != ""
    )
    rows = "".join(_row(result) for result in results)
    head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    most = max((count for result in results for count in _totals(result).values()), default=1)
    drawings = "".join(
        _Drawing(plan, result, most).html() for result in results if result.found.ids
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
        f'<h1 class="{kind}">{escape(title)}</h1>'
        f"<p>{ids(results):,} IDs, each compared with all others.</p>"
        f"<dl>{facts}</dl><table><tr>{head}</tr>{rows}</table>"
        "<h2>The faults, and the IDs issued under them</h2>"
        "<p>A row is a node number. Pale: a claim on it. Strong: its IDs, in the colour of the "
        f"process that issued them. Red: the faults. Below: IDs a second.</p>{drawings}</html>\n"
    )


def _title(plan: Plan, results: Sequence[Result]) -> str:
    """The result of the available faults, and the number of the others."""
    unavailable = sum(result.outcome == "unavailable" for result in results)
    again, tried = duplicates(results), len(results) - unavailable
    none = "no duplicates" if ids(results) else "no IDs"
    verdict = f"{again:,} duplicate{'s' * (again != 1)}" if again else none
    title = f"{plan.system.name} under {tried} fault{'s' * (tried != 1)}: {verdict}"
    return f"{title}; {unavailable} not available" if unavailable else title


def _row(result: Result) -> str:
    found = result.found
    cells = [
        f'<a href="#{result.fault.name}">{escape(result.fault.what)}</a>',
        f"{found.ids:,}",
        f"{found.duplicates:,}",
        f"{found.disorder:,}",
        _seconds(found.stale_us),
        _seconds(found.stall_us),
        escape(f"{result.outcome}: {result.reason}" if result.reason else result.outcome),
    ]
    return f'<tr class="{result.outcome}">{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _seconds(us: int | None) -> str:
    return "-" if us is None else f"{us / 1e6:.3f} s"


def _totals(result: Result) -> Counter[int]:
    """The number of IDs in each bin of time."""
    return sum((one.rates for one in result.found.generated), Counter())


class _Drawing:
    """The timeline of one fault. ``most``: the greatest number of IDs in a bin of any."""

    def __init__(self, plan: Plan, result: Result, most: int) -> None:
        self._plan = plan
        self._result = result
        self._most = most
        generated = result.found.generated
        names = {self._name(node, one.name) for one in generated for node, *_ in one.spans}
        ordered = sorted(names, key=lambda name: (len(name), name))[:_ROWS]
        self._rows = {name: row for row, name in enumerate(ordered)}

    def html(self) -> str:
        """The drawing with its heading."""
        result = self._result
        below = _HEAD + _ROW * len(self._rows)
        height = below + _RATES + 6
        parts = [*self._claims(), *self._spans(), *self._rates(below), *self._marks(height)]
        labels = (
            f'<text x="0" y="{_HEAD + _ROW * row + 12}">{escape(name)}</text>'
            for name, row in self._rows.items()
        )
        return (
            f'<h3 id="{result.fault.name}">{escape(result.fault.what)}'
            f" <small>{escape(result.outcome)}, {result.found.ids:,} IDs, "
            f"{result.found.duplicates:,} duplicate{'s' * (result.found.duplicates != 1)}"
            "</small></h3>"
            f'<svg viewBox="0 0 {_WIDTH} {height}">{"".join(parts)}{"".join(labels)}'
            f'<text x="0" y="{below + _RATES}">IDs/s</text></svg>'
        )

    @staticmethod
    def _name(node: int | None, generator: str) -> str:
        return generator if node is None else f"node {node}"

    def _x(self, moment_ns: int) -> float:
        result = self._result
        share = (moment_ns - result.began_ns) / (result.ended_ns - result.began_ns)
        return round(_LEFT + (_WIDTH - _LEFT) * min(max(share, 0.0), 1.0), 1)

    def _bar(self, kind: str, row: str, began_ns: int, ended_ns: int, words: str) -> Iterable[str]:
        if row not in self._rows or ended_ns <= began_ns:
            return
        x, y = self._x(began_ns), _HEAD + _ROW * self._rows[row] + 2
        width = max(1.0, round(self._x(ended_ns) - x, 1))
        yield (
            f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{_ROW - 4}">'
            f"<title>{escape(words)}</title></rect>"
        )

    def _claims(self) -> Iterable[str]:
        if self._plan.system.name != "frazil":
            return
        layout = frazil.scheme(self._plan.scheme).layout
        if layout.tick_us is None:
            return
        for one in self._result.found.generated:
            ends = {(claim.slot, claim.start): claim for claim in one.claims}
            for claim in ends.values():
                began_ns, ended_ns = (
                    layout.us_at(tick) * 1000 - self._result.true_ns
                    for tick in (claim.start, claim.until)
                )
                node = claim.slot % layout.nodes
                words = f"{one.name}: ticks {claim.start} to {claim.until} of slot {claim.slot}"
                yield from self._bar("claim", f"node {node}", began_ns, ended_ns, words)

    def _spans(self) -> Iterable[str]:
        for number, one in enumerate(self._result.found.generated):
            for node, began_ns, ended_ns, count in one.spans:
                words = f"{one.name}: {count:,} IDs in {(ended_ns - began_ns) / 1e9:.3f} s"
                kind = f"ids c{number % _COLOURS}"
                yield from self._bar(kind, self._name(node, one.name), began_ns, ended_ns, words)

    def _rates(self, top: int) -> Iterable[str]:
        bins = _totals(self._result)
        if not bins:
            return
        points = [f"{self._x(min(bins) * _BIN_NS)},{top + _RATES}"]
        for at in range(min(bins), max(bins) + 1):
            y = top + _RATES - (_RATES - 4) * bins[at] / self._most
            points.append(f"{self._x(at * _BIN_NS)},{y:.1f}")
            points.append(f"{self._x((at + 1) * _BIN_NS)},{y:.1f}")
        points.append(f"{self._x((max(bins) + 1) * _BIN_NS)},{top + _RATES}")
        fastest = max(bins.values()) * 1_000_000_000 // _BIN_NS
        words = f"at most {fastest:,} IDs a second"
        yield f'<polygon class="rate" points="{" ".join(points)}"><title>{words}</title></polygon>'

    def _marks(self, height: int) -> Iterable[str]:
        for mark in self._result.marks:
            x = self._x(mark.began_ns)
            width = max(1.5, round(self._x(mark.ended_ns) - x, 1))
            words = f"{mark.what} {mark.whom}"
            yield (
                f'<rect class="mark" x="{x}" y="12" width="{width}" height="{height - 18}">'
                f'<title>{escape(words)}</title></rect><text class="fault" x="{x}" y="10">'
                f"{escape(mark.what)}</text>"
            )
