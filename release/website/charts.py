"""Charts of BENCHMARKS.md: each table of medians gets its bars above it.

A bar is a median, a line over it is the range from the least to the greatest. The scale is
logarithmic where the medians of a table span more than a factor of twenty, and says so.
"""

import math
import re
from html import escape
from typing import NamedTuple

__all__ = ["Row", "chart", "rows_of", "with_charts"]

_TABLE = re.compile(
    r"^\| Subject \| (?P<unit>[^|]+?) \| Min-max \| CPU \|\n\|[-:|]+\|\n(?P<rows>(?:\|.*\|\n)+)",
    re.MULTILINE,
)
_LABEL, _BARS, _VALUE, _HEIGHT, _TOP = 300, 420, 110, 26, 8
_WIDE = 20.0


class Row(NamedTuple):
    """A line of a table."""

    subject: str
    median: float
    least: float
    most: float

    @property
    def ours(self) -> bool:
        """Whether it is a figure of frazil."""
        return self.subject.startswith("frazil")


def with_charts(markdown: str) -> str:
    """The page with a chart above each of its tables of medians."""
    return _TABLE.sub(
        lambda table: f"{chart(rows_of(table['rows']), table['unit'])}\n{table[0]}", markdown
    )


def rows_of(lines: str) -> list[Row]:
    """The rows of a table, from its lines."""
    found = []
    for line in lines.splitlines():
        subject, median, span, _ = (cell.strip() for cell in line.strip("|").split("|"))
        least, _, most = span.partition(" to ")
        found.append(Row(subject, *(float(n.split()[0]) for n in (median, least, most))))
    return found


def chart(rows: list[Row], unit: str) -> str:
    """The rows as bars, in one SVG element."""
    high = max(row.most for row in rows)
    low = min(row.least for row in rows)
    logarithmic = high / low > _WIDE
    floor = 10 ** math.floor(math.log10(low)) if logarithmic else 0.0

    def x(value: float) -> float:
        share = math.log(value / floor) / math.log(high / floor) if logarithmic else value / high
        return round(_LABEL + _BARS * share, 1)

    scale = "logarithmic scale" if logarithmic else "linear scale"
    body = []
    for i, row in enumerate(rows):
        y = _TOP + i * _HEIGHT
        kind = "ours" if row.ours else "bar"
        bar = f'x="{_LABEL}" y="{y + 3}" width="{x(row.median) - _LABEL:.1f}" height="16"'
        span = f'x1="{x(row.least)}" x2="{x(row.most)}" y1="{y + 21}" y2="{y + 21}"'
        body += [
            f'<text x="{_LABEL - 8}" y="{y + 15}" text-anchor="end">{escape(row.subject)}</text>',
            f'<rect class="{kind}" {bar} rx="2"/><line class="span" {span}/>',
            f'<text x="{x(row.most) + 6}" y="{y + 15}">{_figure(row.median)}</text>',
        ]
    height = _TOP * 2 + len(rows) * _HEIGHT + 14
    body.append(f'<text class="quiet" x="{_LABEL}" y="{height - 6}">{unit}, {scale}</text>')
    told = "; ".join(f"{row.subject}: {_figure(row.median)}" for row in rows)
    return (
        f'<div class="chart"><svg viewBox="0 0 {_LABEL + _BARS + _VALUE} {height}" role="img" '
        f'aria-label="{unit}, {scale}. {escape(told)}">{"".join(body)}</svg></div>\n'
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
