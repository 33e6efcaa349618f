"""``frazil plan``: what a layout carries, and until when, before anybody stores an ID of it.

The width of each field decides things that hurt years later: the day on which the time is full, how
many nodes there may ever be, whether a database column or a browser changes the number on its way.
All of that follows from the layout, so it is computed here for any name or layout text, and beside
others. A layout whose epoch is left to the deployment is planned in years from there.

Figures are those of the layout. What one process reaches is measured by ``frazil bench``.
"""

from collections.abc import Sequence

import click

from frazil.cli._options import json_option
from frazil.cli.show import terminal
from frazil.inputs.duration import duration_text
from frazil.layout.drawing import draw
from frazil.layout.layout import Layout
from frazil.reading.capacity import Plan, lasting, plan_of, years
from frazil.schemes.scheme import PRESETS
from frazil.system.clock import moment_text, wall_us

__all__ = ["command"]

_LEGEND = """
until: the year in which the time is full. IDs/s: of one node. JS, int64:
whether JavaScript, and a signed BIGINT column, hold every ID. order: whether
IDs sort by the time they were made. text: encoding and length.
`frazil plan NAME` says more."""
_LINE = ("scheme", "bits", "until", "nodes", "IDs/s", "JS", "int64", "order", "text")
_COLUMNS = 80
_SHORT_US = 172_800_000_000  # what lasts two days or less ends at an hour, and not on a day
_SIDE_BY_SIDE = 3  # as many fit beside each other; more become one line each


@click.command
@click.argument("layouts", nargs=-1, metavar="[NAME|LAYOUT]...")
@click.option("--epoch", metavar="MOMENT", help="Count time from here instead, like 2025-01-01.")
@click.option(
    "--bits", type=click.IntRange(1, 128), metavar="N", help="Refuse layouts of another width."
)
@click.option("--markdown", is_flag=True, help="Print a Markdown table, a line for each.")
@json_option
def command(
    *, layouts: tuple[str, ...], epoch: str | None, bits: int | None, markdown: bool, as_json: bool
) -> None:
    """How long a layout lasts, and how much it carries.

    Takes names of schemes and layout texts, most significant bit first; several are shown side
    by side, and none means every scheme there is.

    \b
      frazil plan
      frazil plan icicle snowflake tsid
      frazil plan "time:42 node:8 sequence:14 @1ms since 2025-01-01" --bits 64
      frazil plan js53 --epoch 2026-01-01 --json
    """
    specs = _put_together(layouts) or list(PRESETS)
    plans = [plan_of(spec, epoch, bits) for spec in specs]
    if as_json:
        terminal.echo_json(plan.as_json() for plan in plans)
    elif markdown:
        _show_markdown(plans)
    elif len(plans) == 1:
        _show_one(plans[0])
    elif len(plans) <= _SIDE_BY_SIDE:
        _show_beside(plans)
    else:
        _show_lines(plans)


def _put_together(given: Sequence[str]) -> list[str]:
    """What was given, as layouts; the words of one that was typed without quotes are joined."""
    bare = len(given) > 1 and not any(" " in word or word in PRESETS for word in given)
    return [" ".join(given)] if bare and any(":" in word for word in given) else list(given)


# --- in words


def _show_one(plan: Plan) -> None:
    console = terminal.console()
    width = max(_COLUMNS, console.width) if console.is_terminal else _COLUMNS
    named = plan.name if plan.name == str(plan.layout) else f"{plan.name}: {plan.layout}"
    click.echo(f"{named}\n")
    click.echo(draw(plan.layout, width=min(width, 100)) + "\n")
    terminal.echo(terminal.facts(_details(plan)))


def _show_beside(plans: Sequence[Plan]) -> None:
    titles, notes = _titles(plans)
    shown = terminal.table("", *titles)
    for rows in zip(*map(_details, plans), strict=True):
        shown.add_row(rows[0][0], *(text for _, text in rows))
    terminal.echo(shown)
    _note(notes)


def _show_lines(plans: Sequence[Plan]) -> None:
    titles, notes = _titles(plans)
    shown = terminal.table(*_LINE, right=_LINE[1:5])
    for title, plan in zip(titles, plans, strict=True):
        shown.add_row(title, *_line(plan))
    terminal.echo(shown)
    _note(notes)
    click.echo(_LEGEND)


def _show_markdown(plans: Sequence[Plan]) -> None:
    titles, _ = _titles(plans)
    named = [
        title if title == plan.name else str(plan.layout)
        for title, plan in zip(titles, plans, strict=True)
    ]
    click.echo(f"| {' | '.join(_LINE)} |\n|---{'|--:' * 4}{'|---' * 4}|")
    for name, plan in zip(named, plans, strict=True):
        click.echo(f"| `{name}` | {' | '.join(_line(plan))} |")


def _line(plan: Plan) -> tuple[str, ...]:
    """A plan in one line, after its name; see ``_LINE``."""
    rate = plan.layout.ids_per_second
    return (
        str(plan.layout.bits),
        _until(plan),
        _number(plan.layout.nodes),
        "-" if rate is None else _number(rate),
        _yes(plan.highest < 1 << 53),
        _yes(plan.highest < 1 << 63),
        "-" if plan.unsorted else "time",
        f"{plan.encoding} {plan.widths[plan.encoding]}",
    )


def _titles(plans: Sequence[Plan]) -> tuple[list[str], list[str]]:
    """A short title for each plan, and the notes that say what the titles stand for."""
    titles: list[str] = []
    notes: list[str] = []
    for plan in plans:
        if plan.name == str(plan.layout):
            titles.append(f"layout {len(notes) + 1}")
            notes.append(f"{titles[-1]}: {plan.layout}")
        else:
            titles.append(plan.name)
    return titles, notes


def _note(notes: Sequence[str]) -> None:
    if notes:
        click.echo("\n" + "\n".join(notes))


def _until(plan: Plan) -> str:
    if plan.end_us is not None:
        text = moment_text(plan.end_us)
        return _number(int(text[5:])) if text.startswith("year ") else text[:4]
    return "-" if plan.lasts_us is None else f"+{years(plan.lasts_us):.0f} y"


def _details(plan: Plan) -> list[tuple[str, str]]:
    """(what, answer) for everything that follows from the layout; the same rows for every plan."""
    layout = plan.layout
    others = ", ".join(f"{name} {n}" for name, n in plan.widths.items() if name != plan.encoding)
    return [
        ("width", f"{layout.bits} bits"),
        ("lasts", _lifetime(plan)),
        ("nodes", _nodes(layout)),
        ("each node", _pace(layout)),
        ("all nodes", "-" if plan.in_all is None else f"{_number(plan.in_all)} IDs/s"),
        ("JavaScript", "exact" if plan.highest < 1 << 53 else "not exact: pass IDs as text"),
        ("BIGINT", "fits" if plan.highest < 1 << 63 else "does not fit: goes beyond 2**63 - 1"),
        ("sorted by time", f"no: {plan.unsorted}" if plan.unsorted else _order(layout)),
        ("text", f"{plan.encoding}, {plan.widths[plan.encoding]} characters ({others})"),
        ("fingerprint", layout.fingerprint),
    ]


def _lifetime(plan: Plan) -> str:
    if plan.lasts_us is None:
        what = "runs" if plan.layout.axis == "run" else "numbers"
        return f"until {_number(plan.layout.axis_end)} {what} are used up"
    lasts = _span(plan.lasts_us)
    if plan.end_us is None:
        return f"{lasts} from an epoch of your choice"
    left_us = plan.end_us - wall_us()
    end = moment_text(plan.end_us)
    if plan.lasts_us >= _SHORT_US:
        end = end.partition("T")[0]
    if left_us <= 0:
        return f"ran out on {end}, {_span(-left_us)} ago, after {lasts}"
    left, unit = _span(left_us).rsplit(" ", 1)
    left = left if lasts.endswith(unit) else f"{left} {unit}"
    return f"until {end}, {left} of {lasts} are left"


def _span(us: int) -> str:
    lasts = years(us)
    return lasting(us) if lasts < 1000 else f"{_number(lasts)} years"


def _nodes(layout: Layout) -> str:
    if layout.axis == "time":
        return f"{layout.nodes:,}"
    what = "runs" if layout.axis == "run" else "blocks"
    return f"{layout.nodes:,}" if layout.nodes > 1 else f"any number, each with {what} of its own"


def _pace(layout: Layout) -> str:
    if layout.axis == "run":
        return f"{layout.sequences:,} IDs in each run"
    if layout.ids_per_second is None or layout.tick_us is None:
        return "as fast as it counts"
    tick = duration_text(layout.tick_us)
    return f"{_number(layout.ids_per_second)} IDs/s ({layout.sequences:,} in {tick})"


def _order(layout: Layout) -> str:
    tick = duration_text(layout.tick_us or 0)
    return f"yes; between nodes to {tick}, besides their clocks' skew and a lead"


def _number(value: float) -> str:
    """A figure to read, not to calculate with: exact below 10,000, three digits above."""
    for power, unit in ((18, "E"), (15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if value >= 10 ** max(power, 4):
            return f"{value / 10**power:.3g} {unit}"
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"


def _yes(answer: object) -> str:
    return "yes" if answer else "no"
