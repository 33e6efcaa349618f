"""``frazil plan``: the lifetime and the capacity of a layout, before its first ID is stored.

The width of each field has consequences that appear years later: the day on which the time field is
full, the number of nodes, whether a database column or a browser changes an ID. All of them follow
from the layout, so this computes and compares them for scheme names and layout strings. Without
an epoch, the lifetime is shown in years. The other way round, ``--nodes``, ``--rate`` and
``--until`` propose the layouts that are enough.

The rates are limits of the layout. ``frazil bench`` measures the rate of one process. With
``--registry`` the plan is one of a fleet, limited by the measured time of a step of that registry.
"""

from collections.abc import Iterable, Sequence
from math import inf
from shlex import quote
from typing import IO

import click

from frazil.cli._options import json_option, schemes_like, svg_option
from frazil.cli.show import terminal
from frazil.inputs.duration import duration_text
from frazil.inputs.masking import masked
from frazil.layout.drawing import draw, svg
from frazil.layout.layout import Layout
from frazil.reading.capacity import Need, Plan, plan_of, proposals, span_text, years
from frazil.reading.fleet_limits import FleetLimits, limits_of
from frazil.schemes.presets import PRESETS
from frazil.system.clock import moment_text, wall_us

_LEGEND = """until: the year in which the time field is full. IDs/s: per node. JS, int64:
whether JavaScript and a signed BIGINT column hold every ID. order: whether
IDs sort by time. text: encoding and length. Details: `frazil plan NAME`."""
_FLEET_LEGEND = """processes: how many can run at once, with room for all to restart together.
starts/s, mints/s: processes that start and end, or calls of frazil.mint, beside
them. kills/s: killed processes, until no node number is free. regions: what the
layout's constants keep apart. Each server is at most half busy."""
_FLEET_DETAILS = {"bound by", "regions"}  # only where plans are side by side
_LINE = ("scheme", "bits", "until", "nodes", "IDs/s", "JS", "int64", "order", "text")
_SHORT_US = 172_800_000_000  # a lifetime up to this ends with a time of day, a longer one a date
_SIDE_BY_SIDE_MAX = 3  # more plans are shown one per line


@click.command
@click.argument("layouts", nargs=-1, metavar="[NAME|LAYOUT]...", shell_complete=schemes_like)
@click.option("--epoch", metavar="MOMENT", help="Count time from this moment, like 2025-01-01.")
@click.option(
    "--bits", type=click.IntRange(1, 128), metavar="N", help="Reject layouts of another width."
)
@click.option(
    "--registry",
    metavar="URL",
    help="Also show how many processes and starts it supports; it is not contacted.",
)
@svg_option("Draw the layout to this file.")
@click.option("--nodes", type=int, metavar="N", help="Propose layouts for so many nodes, …")
@click.option("--rate", type=float, metavar="HZ", help="… each with so many IDs per second, …")
@click.option("--until", type=int, metavar="YEAR", help="… to the end of this year.")
@click.option("--markdown", is_flag=True, help="Print a Markdown table.")
@json_option
def command(
    *,
    layouts: tuple[str, ...],
    epoch: str | None,
    bits: int | None,
    registry: str | None,
    picture: IO[str] | None,
    nodes: int | None,
    rate: float | None,
    until: int | None,
    markdown: bool,
    as_json: bool,
) -> None:
    """Show the lifetime and the capacity of a layout.

    Takes names of schemes and layout strings, most significant bit first, and compares them;
    without arguments, it lists all schemes. With --nodes, --rate and --until, it proposes layouts:
    64 bits that fit a signed column, 53 bits for JavaScript, and 128 bits for a UUID column.

    \b
      frazil plan
      frazil plan icicle snowflake tsid
      frazil plan "time:42 node:8 sequence:14 @1ms since 2025-01-01" --bits 64
      frazil plan js53 --epoch 2026-01-01 --json
      frazil plan icicle --registry redis://a,b,c
      frazil plan tsid --svg tsid.svg
      frazil plan --nodes 200 --rate 5000 --until 2060
    """
    need = _need(nodes, rate, until)
    if need is None:
        plans = [plan_of(spec, epoch, bits) for spec in _join_words(layouts) or PRESETS]
    elif layouts or epoch or bits:
        given = {"the layout": layouts, "--epoch": epoch, "--bits": bits}
        named = " and ".join(name for name, value in given.items() if value)
        raise click.UsageError(f"--nodes, --rate and --until find the layout; omit {named}")
    else:
        plans = proposals(need)
    if picture is not None:
        _draw(plans, picture)
    if registry is not None:
        _show_fleets(plans, registry, as_json=as_json, named=bool(layouts or need))
    elif as_json:
        terminal.echo_json(plan.as_json() for plan in plans)
    elif markdown:
        _show_markdown(plans)
    elif len(plans) == 1:
        _show_one(plans[0])
    else:
        _show_table(plans)
    if need is not None and not (as_json or markdown):
        _show_next(plans, need, registry)


def _need(nodes: int | None, rate: float | None, until: int | None) -> Need | None:
    """The needs of the user, if given."""
    if nodes is None and rate is None and until is None:
        return None
    if nodes is None or rate is None or until is None:
        raise click.UsageError(
            "--nodes, --rate and --until need each other, like --nodes 200 --rate 5000 --until 2060"
        )
    return Need(nodes, rate, until)


def _join_words(given: Sequence[str]) -> list[str]:
    """The arguments; the words of a layout without quotes are joined."""
    unquoted = len(given) > 1 and not any(" " in word or word in PRESETS for word in given)
    return [" ".join(given)] if unquoted and any(":" in word for word in given) else list(given)


def _draw(plans: Sequence[Plan], picture: IO[str]) -> None:
    if len(plans) != 1:
        raise click.UsageError("--svg draws one layout; name one")
    picture.write(svg(plans[0].layout))
    click.echo(f"the drawing is in {picture.name}", err=True)


# --- text


def _show_one(plan: Plan) -> None:
    title = plan.name if plan.name == str(plan.layout) else f"{plan.name}: {plan.layout}"
    click.echo(f"{terminal.wrapped(title)}\n")
    click.echo(draw(plan.layout, width=min(terminal.console().width, 100)) + "\n")
    terminal.echo(terminal.Facts(_details(plan)))


def _show_table(plans: Sequence[Plan]) -> None:
    """A few plans side by side, or one per line."""
    if len(plans) <= _SIDE_BY_SIDE_MAX:
        _echo_plans(plans, _side_by_side(plans, map(_details, plans)))
        return
    table = terminal.Rows(*_LINE, right=_LINE[1:5])
    for title, plan in zip(_titles(plans)[0], plans, strict=True):
        table.add_row(title, *_line(plan))
    _echo_plans(plans, table)
    terminal.echo_words(_LEGEND)


def _side_by_side(plans: Sequence[Plan], facts: Iterable[list[tuple[str, str]]]) -> terminal.Rows:
    """A table with a column for each plan, of the pairs of a name and a value of each."""
    table = terminal.Rows("", *_titles(plans)[0])
    for rows in zip(*facts, strict=True):
        table.add_row(rows[0][0], *(text for _, text in rows))
    return table


def _echo_plans(plans: Sequence[Plan], table: terminal.Rows) -> None:
    """Print a table, and the layouts that it shows without their strings."""
    terminal.echo(table)
    if notes := _titles(plans)[1]:
        click.echo("\n" + terminal.wrapped("\n".join(notes)))


def _show_next(plans: Sequence[Plan], need: Need, registry: str | None) -> None:
    """The limits of the first proposal that the need exceeds, and the command that uses it."""
    layout = plans[0].layout
    if 64 < layout.bits < 128:
        held = f"A UUID column holds IDs of {layout.bits} bits."
        click.echo(terminal.wrapped(f"\nNeither 64 bits nor uuid7 are enough. {held}"))
    limits = None if registry is None else limits_of(layout, registry)
    if limits is not None and limits.processes < need.nodes:
        advice = {
            "node numbers": f"A restart of all needs two for each: plan with --nodes "
            f"{2 * need.nodes}.",
            "renewals": "Name more independent servers (redis://a,b,c), or a longer horizon "
            "(?horizon=30s).",
        }
        why = (
            f"\nNot enough: {need.nodes:,} processes are needed, and {limits.processes:,} are "
            f"planned, bound by {limits.bound_by}.\n{advice[limits.bound_by]}"
        )
        click.echo(terminal.wrapped(why))
    which = "it" if len(plans) == 1 else "the first one"
    url = registry if registry is None or ":" in registry else f"{registry}:"
    where = "" if url is None else f"{quote(masked(url))} "
    click.echo(
        f'\nTake {which}:\n  frazil init {where}--namespace orders --scheme "{plans[0].name}"'
    )


def _show_fleets(plans: Sequence[Plan], url: str, *, as_json: bool, named: bool) -> None:
    """The plan of a fleet for each layout; of all schemes, for those with time."""
    shown = [plan for plan in plans if named or plan.layout.tick_us is not None]
    limits = [limits_of(plan.layout, url) for plan in shown]
    if as_json:
        pairs = zip(shown, limits, strict=True)
        terminal.echo_json({**plan.as_json(), "fleet": each.as_json()} for plan, each in pairs)
        return
    facts = [_facts(each) for each in limits]
    if len(shown) <= _SIDE_BY_SIDE_MAX:
        table = _side_by_side(shown, facts)
    else:
        names = [name for name, _ in facts[0] if name not in _FLEET_DETAILS]
        table = terminal.Rows("scheme", *names, right=names)
        for title, fact in zip(_titles(shown)[0], map(dict, facts), strict=True):
            table.add_row(title, *(fact[name] for name in names))
    _echo_plans(shown, table)
    first = limits[0]
    servers = terminal.counted(first.servers, "server")
    store = f"{first.kind}, {servers}, horizon {first.horizon_s:g} s."
    terminal.echo_words(f"{store}\n{_FLEET_LEGEND}")


def _facts(limits: FleetLimits) -> list[tuple[str, str]]:
    """(name, value) of each limit of a fleet."""
    return [
        ("processes", _limit(limits.processes)),
        ("bound by", limits.bound_by),
        ("starts/s", _limit(limits.starts_hz)),
        ("mints/s", _limit(limits.mints_hz)),
        ("kills/s", _limit(limits.crashes_hz)),
        ("IDs/s", "-" if limits.ids_hz is None else _number(limits.ids_hz)),
        ("regions", f"{limits.regions:,}"),
    ]


def _limit(value: float) -> str:
    return "no limit" if value == inf else _number(int(value))


def _show_markdown(plans: Sequence[Plan]) -> None:
    click.echo(f"| {' | '.join(_LINE)} |\n|---{'|--:' * 4}{'|---' * 4}|")
    for plan in plans:
        click.echo(f"| `{plan.name}` | {' | '.join(_line(plan))} |")


def _line(plan: Plan) -> tuple[str, ...]:
    """The cells of a plan after its name; see ``_LINE``."""
    rate = plan.layout.ids_per_second
    return (
        str(plan.layout.bits),
        _until(plan),
        _number(plan.layout.nodes),
        "-" if rate is None else _number(rate),
        _yes(plan.id_max < 1 << 53),
        _yes(plan.id_max < 1 << 63),
        "-" if plan.unsorted else "time",
        f"{plan.encoding} {plan.widths[plan.encoding]}",
    )


def _titles(plans: Sequence[Plan]) -> tuple[list[str], list[str]]:
    """A short title for each plan, and a note with the layout of each that has no name."""
    titles: list[str] = []
    notes: list[str] = []
    for plan in plans:
        if plan.name == str(plan.layout):
            titles.append(f"layout {len(notes) + 1}")
            notes.append(f"{titles[-1]}: {plan.layout}")
        else:
            titles.append(plan.name)
    return titles, notes


def _until(plan: Plan) -> str:
    if plan.end_us is not None:
        text = moment_text(plan.end_us)
        return _number(int(text[5:])) if text.startswith("year ") else text[:4]
    return "-" if plan.lifetime_us is None else f"+{years(plan.lifetime_us):.0f} y"


def _details(plan: Plan) -> list[tuple[str, str]]:
    """(name, value) for each property; every plan has the same rows."""
    layout = plan.layout
    others = ", ".join(f"{name} {n}" for name, n in plan.widths.items() if name != plan.encoding)
    return [
        ("width", f"{layout.bits} bits"),
        ("lifetime", _lifetime(plan)),
        ("nodes", _nodes(layout)),
        ("each node", _rate(layout)),
        ("all nodes", "-" if plan.total_hz is None else f"{_number(plan.total_hz)} IDs/s"),
        ("JavaScript", "exact" if plan.id_max < 1 << 53 else "not exact: pass IDs as text"),
        ("BIGINT", "fits" if plan.id_max < 1 << 63 else "does not fit: exceeds 2**63 - 1"),
        ("sorted by time", f"no: {plan.unsorted}" if plan.unsorted else _order(layout)),
        ("text", f"{plan.encoding}, {plan.widths[plan.encoding]} characters ({others})"),
        ("fingerprint", layout.fingerprint),
    ]


def _lifetime(plan: Plan) -> str:
    if plan.lifetime_us is None:
        unit = "runs" if plan.layout.axis == "run" else "numbers"
        return f"{_number(plan.layout.axis_end)} {unit}"
    lifetime = _span(plan.lifetime_us)
    if plan.end_us is None:
        return f"{lifetime} from your epoch"
    left_us = plan.end_us - wall_us()
    end = moment_text(plan.end_us)
    if plan.lifetime_us >= _SHORT_US:
        end = end.partition("T")[0]
    if left_us <= 0:
        return f"ended on {end}, {_span(-left_us)} ago, after {lifetime}"
    left, unit = _span(left_us).rsplit(" ", 1)
    left = left if lifetime.endswith(unit) else f"{left} {unit}"
    return f"until {end}, {left} of {lifetime} left"


def _span(us: int) -> str:
    return span_text(us) if years(us) < 1000 else f"{_number(years(us))} years"


def _nodes(layout: Layout) -> str:
    if layout.axis == "time":
        return f"{layout.nodes:,}"
    unit = "runs" if layout.axis == "run" else "blocks"
    return f"{layout.nodes:,}" if layout.nodes > 1 else f"any number, each with its own {unit}"


def _rate(layout: Layout) -> str:
    if layout.axis == "run":
        return f"{layout.sequences:,} IDs per run"
    if layout.ids_per_second is None or layout.tick_us is None:
        return "no limit"
    tick = duration_text(layout.tick_us)
    return f"{_number(layout.ids_per_second)} IDs/s ({layout.sequences:,} per {tick})"


def _order(layout: Layout) -> str:
    tick = duration_text(layout.tick_us or 0)
    return f"yes; between nodes to {tick}, plus clock skew and lead"


def _number(value: float) -> str:
    """A rounded figure: exact below 10,000, three digits above."""
    for power, unit in zip(range(24, 0, -3), "YZEPTGMk", strict=True):
        if value >= 10 ** max(power, 4):
            return f"{value / 10**power:.3g} {unit}"
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"


def _yes(answer: object) -> str:
    return "yes" if answer else "no"
