"""Drawings of a layout, or of an ID in it.

A drawing that people keep by hand becomes wrong: one well-known project shows 8 bits of generator
in its README and has 11 in its code. So frazil draws the layout itself, as rows of cells: ``draw``
makes plain text, ``svg`` a picture for documents, and ``spans`` the parts for a coloured terminal.

A cell is a piece, or as much of one as fits a row. Above it is the ID's bit at its left edge.
Inside are the name, the bits of the field's value (with ``~`` if reversed), and the ID's bits. A
row breaks between pieces, and inside a piece only if it is wider than a row.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from frazil.layout.field import Piece, Role
from frazil.layout.layout import Layout
from frazil.system.clock import moment_text

_PADDING = 3  # columns of a cell beside its content: two blanks and one border
_SVG_COLUMNS = 100
_COLUMN, _LINE, _MARGIN = 8.6, 20.0, 12.0  # SVG units; a monospaced 14 px letter is 8.4 wide
COLOURS = {
    "ground": ("#ffffff", "#0f141b"),
    "plain": ("#14181f", "#f2f5f9"),
    "quiet": ("#3d4552", "#c9d1dc"),
    "time": ("#cfe3ff", "#1d3f6b"),
    "run": ("#e6dafb", "#46316f"),
    "node": ("#d0efd4", "#1b4b2d"),
    "sequence": ("#ffe3b5", "#5f3c0c"),
    "fixed": ("#e3e6eb", "#363d48"),
}
"""The colours (light, dark) of the background, of two kinds of text, and of each role."""


@dataclass(frozen=True, slots=True)
class _Cell:
    role: Role
    top: int
    bits: int
    lines: tuple[str, ...]

    @property
    def columns(self) -> int:
        return max(self.bits, len(str(self.top)), *map(len, self.lines))


def draw(layout: Layout, value: int | None = None, *, width: int = 100) -> str:
    """The layout in boxes, most significant bit first, in rows of at most ``width`` columns.

    With an ID as ``value``, its bits and its decoded fields too. Only a single name that is wider
    than ``width`` makes a row longer. Raises LayoutError if the ID does not fit the layout.
    """
    readings = _readings(layout, value)
    lines = list(_boxes(_rows(layout.pieces, _digits(layout, value), width)))
    if readings:
        column = max(len(name) for name, _ in readings)
        lines += ["", *(f"{name:<{column}}  {text}" for name, text in readings)]
    return "\n".join(lines)


def spans(layout: Layout, value: int) -> list[tuple[str, Role, str]]:
    """(field name, role, binary digits) of each piece of an ID, most significant first.

    Raises LayoutError if the ID does not fit the layout.
    """
    layout.unpack(value)
    bits = f"{value:0{layout.bits}b}"
    found = []
    for piece in layout.pieces:
        found.append((piece.name, piece.role, bits[: piece.bits]))
        bits = bits[piece.bits :]
    return found


def draw_spans(spans: Iterable[tuple[str, Role, str]], *, width: int = 100) -> str:
    """The same boxes for parts that no layout has: (name, role, binary digits), highest first."""
    parts = list(spans)
    pieces = [Piece(name, role, len(digits) - 1) for name, role, digits in parts]
    digits = "".join(digits for *_, digits in parts)
    return "\n".join(_boxes(_rows(pieces, digits, width)))


def _readings(layout: Layout, value: int | None) -> list[tuple[str, str]]:
    """(name, text) of each field value of an ID; nothing without an ID."""
    if value is None:
        return []
    values = layout.unpack(value)
    readings = []
    for field in layout.fields:
        text = str(values[field.name])
        if field.role == "time":
            us = values.moment_us
            text += " = " + ("a tick of an epoch not chosen yet" if us is None else moment_text(us))
        if field.name in values.foreign:
            text += f" (not {field.fixed}, as in this layout)"
        readings.append((field.name, text))
    if "node" in values and "node" not in dict(readings):
        readings.append(("node", f"{values['node']} (from all its fields)"))
    return readings


def _rows(pieces: Sequence[Piece], digits: str, width: int) -> list[list[_Cell]]:
    """The cells of pieces, in rows of at most ``width`` columns with their borders.

    digits: those of an ID, or "".
    """
    rows: list[list[_Cell]] = []
    room = 0
    for cell in _cells(pieces, digits, max(1, width - 1 - _PADDING)):
        if cell.columns + _PADDING > room:
            rows.append([])
            room = width - 1
        rows[-1].append(cell)
        room -= cell.columns + _PADDING
    return rows


def _cells(pieces: Sequence[Piece], digits: str, most: int) -> Iterator[_Cell]:
    """The cells of pieces, of at most ``most`` bits."""
    widths: Counter[str] = Counter()
    for piece in pieces:
        widths[piece.name] += piece.bits
    top = widths.total() - 1
    for piece in pieces:
        for high in range(piece.high, piece.low - 1, -most):
            low = max(piece.low, high - most + 1)
            bits = high - low + 1
            extent = str(bits) if bits == widths[piece.name] else f"{high}..{low}"
            shown, digits = digits[:bits], digits[bits:]
            lines = (piece.name, extent + "~" * piece.reversed, *([shown] if shown else []))
            yield _Cell(piece.role, top, bits, lines)
            top -= bits


def _digits(layout: Layout, value: int | None) -> str:
    return "" if value is None else f"{value:0{layout.bits}b}"


def _boxes(rows: Iterable[list[_Cell]]) -> Iterator[str]:
    """The lines of text of rows: for each the bit numbers, then the cells in their borders."""
    for row in rows:
        yield "".join(f"  {cell.top:<{cell.columns}} " for cell in row).rstrip()
        bars = ["─" * (cell.columns + 2) for cell in row]
        yield f"┌{'┬'.join(bars)}┐"
        for texts in zip(*(cell.lines for cell in row), strict=True):
            inside = (f" {text:<{cell.columns}} " for text, cell in zip(texts, row, strict=True))
            yield f"│{'│'.join(inside)}│"
        yield f"└{'┴'.join(bars)}┘"


def svg(layout: Layout, value: int | None = None) -> str:
    """The drawing as one SVG element, for a document or a page.

    It has a title and a description for screen readers, and colours for light and dark displays.
    Raises LayoutError if the ID does not fit the layout.
    """
    readings = _readings(layout, value)
    rows = _rows(layout.pieces, _digits(layout, value), _SVG_COLUMNS)
    body: list[str] = []
    y = _MARGIN
    for row in rows:
        body += _svg_row(row, y)
        y += _LINE * (len(row[0].lines) + 2)
    column = max((len(name) for name, _ in readings), default=0) + 2
    for name, text in readings:
        y += _LINE
        body.append(_svg_text(_MARGIN, y, "quiet", name))
        body.append(_svg_text(_MARGIN + column * _COLUMN, y, "plain", text))
    lengths = [sum(cell.columns + _PADDING for cell in row) for row in rows]
    lengths += [column + len(text) for _, text in readings]
    size = f"{_MARGIN * 2 + max(lengths) * _COLUMN:g} {y + _MARGIN + 2:g}"
    key = f"frazil-{layout.fingerprint}" + ("" if value is None else f"-{value:x}")
    title = f"{'Layout' if value is None else f'ID {value}'} of {layout.bits} bits"
    told = ["Most significant bit first: " + str(layout), *(" ".join(pair) for pair in readings)]
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" class="frazil-drawing" role="img"',
        f'viewBox="0 0 {size}" aria-labelledby="{key}-title {key}-desc">',
        f'<title id="{key}-title">{title}</title>',
        f'<desc id="{key}-desc">{"; ".join(told)}</desc>',
        f"<style>{_style()}</style>",
        '<rect class="ground" width="100%" height="100%" rx="6"/>',
        *body,
        "</svg>\n",
    ]
    return "\n".join(lines)


def _svg_row(row: list[_Cell], y: float) -> Iterator[str]:
    """One row of boxes from ``y`` down. Names need no escapes: letters, digits and _."""
    x = _MARGIN
    for cell in row:
        length = (cell.columns + _PADDING) * _COLUMN
        yield _svg_text(x + 6, y + _LINE * 0.75, "quiet", str(cell.top))
        yield (
            f'<rect class="{cell.role}" x="{x:g}" y="{y + _LINE:g}" width="{length - 2:g}" '
            f'height="{_LINE * len(cell.lines) + 8:g}" rx="3"/>'
        )
        for i, line in enumerate(cell.lines):
            kind = "plain" if i != 1 else "quiet"
            yield _svg_text(x + 6, y + _LINE * (i + 1.75) + 4, kind, line)
        x += length


def _svg_text(x: float, y: float, kind: str, text: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{text}</text>'


def _style() -> str:
    """The style sheet: light colours, and dark ones for readers that prefer them."""
    light, dark = (
        "".join(f".frazil-drawing .{name}{{fill:{pair[shade]}}}" for name, pair in COLOURS.items())
        for shade in (0, 1)
    )
    font = ".frazil-drawing text{font:14px ui-monospace,Menlo,Consolas,monospace;white-space:pre}"
    return f"{font}{light}@media (prefers-color-scheme:dark){{{dark}}}"
