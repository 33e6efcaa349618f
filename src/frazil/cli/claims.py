"""``frazil claims``: who holds what in a namespace.

A record knows the layout it was made for, so nobody has to say it again: ticks are shown as moments
and slots as node numbers of *that* layout. A scheme that is named all the same is a question, "is
it this one?", and another one is an error that shows both. Looking changes nothing: a registry that
does not exist is not made by asking what is in it.

A claim does not end when its holder stops: it ends on the axis, at ``until``. So a slot is *held*
until that moment, *idle* if its holder let it run out, and *free* once it was given back. Two
deployments with different constants share a record; theirs are shown where any is not 0.
"""

from dataclasses import dataclass
from typing import Any

import click

from frazil.claim import Holding
from frazil.cli import store, terminal
from frazil.cli.options import is_default, json_option, layout_options, registry_argument
from frazil.clock import moment_text, wall_us
from frazil.layout import Layout
from frazil.schemes import Scheme

__all__ = ["Line", "command"]

_STYLES = {"held": "green", "idle": "yellow", "free": "dim"}


@dataclass(frozen=True)
class Line:
    """A slot of a record of ``layout``, seen at ``now_us`` by the registry's clock."""

    holding: Holding
    layout: Layout
    now_us: int

    @property
    def node(self) -> int:
        """The node number."""
        return self.holding.slot % self.layout.nodes

    @property
    def constants(self) -> dict[str, int]:
        """The constants of the deployment that the slot belongs to, by name."""
        rest = self.holding.slot // self.layout.nodes
        read: dict[str, int] = {}
        for field in reversed(self.layout.fields):
            if field.fixed is not None:
                read[field.name] = rest & field.limit
                rest >>= field.bits
        return dict(reversed(read.items()))

    @property
    def state(self) -> str:
        """Held, idle or free."""
        if not self.holding.held:
            return "free"
        over = self._timed and self.layout.us_at(self.holding.until) <= self.now_us
        return "idle" if over else "held"

    def on_axis(self, value: int) -> str:
        """A value of the axis as text: a moment where that is time."""
        return moment_text(self.layout.us_at(value)) if self._timed else str(value)

    @property
    def _timed(self) -> bool:
        return self.layout.tick_us is not None

    def as_json(self) -> dict[str, Any]:
        """What is shown, and the raw values of the axis."""
        holding = self.holding
        return {
            "node": self.node,
            "constants": self.constants,
            "state": self.state,
            "holder": holding.holder or None,
            "since": moment_text(holding.since_us) if holding.since_us else None,
            "start": self.on_axis(holding.start),
            "until": self.on_axis(holding.until),
            "start_value": holding.start,
            "until_value": holding.until,
        }


@click.command
@registry_argument
@layout_options
@json_option
def command(*, url: str, namespace: str, scheme: Scheme, as_json: bool) -> None:
    """List who holds which node number.

    A slot is held while its claim runs, idle if its holder let it run out, and free once it was
    given back. Without URL it is the registry of this host (or what FRAZIL_URL says). The record
    knows its layout; name a scheme to be told if it is another one.

    \b
      frazil claims
      frazil claims --namespace orders --json
      frazil claims static:7
    """
    registry = store.kept(url, namespace, scheme)
    named = not all(map(is_default, ("scheme", "field", "epoch")))
    found = store.look(registry, same_terms=named)
    lines = []
    if found is not None:
        layout = Layout.parse(found.layout)
        now_us = wall_us() + found.offset_us
        lines = [Line(holding, layout, now_us) for holding in found.holdings]
    if as_json:
        terminal.echo_json(line.as_json() for line in lines)
    elif found is None:
        path = getattr(registry, "path", None)
        missing = path is not None and not path.exists()
        where = f"{path} does not exist" if missing else f"{url} has no namespace {namespace!r}"
        click.echo(f"{where}: nothing was given away yet.\nThe first `frazil mint` makes it.")
    elif not lines:
        click.echo(
            f"Namespace {namespace!r} of {url} is set up: nothing was given away yet. It is for\n"
            f"{found.layout}"
        )
    else:
        _show(lines, found.layout)


def _show(lines: list[Line], layout: str) -> None:
    from rich.text import Text

    several = any(any(line.constants.values()) for line in lines)
    columns = ["node", *["constants"] * several, "state", "holder", "since (UTC)", "until"]
    shown = terminal.table(*columns, right=("node",))
    for line in lines:
        constants = " ".join(f"{name}={value}" for name, value in line.constants.items() if value)
        since_us = line.holding.since_us
        shown.add_row(
            str(line.node),
            *[constants] * several,
            Text(line.state, _STYLES[line.state]),
            line.holding.holder or "-",
            _plain(moment_text(since_us // 1_000_000 * 1_000_000)) if since_us else "-",
            _plain(line.on_axis(line.holding.until)),
        )
    terminal.echo(shown)
    count = {state: sum(line.state == state for line in lines) for state in _STYLES}
    told = ", ".join(f"{number} {state}" for state, number in count.items() if number)
    click.echo(f"\n{told}, of\n{layout}")


def _plain(text: str) -> str:
    """An ISO moment as a table has it, the zone being in the head."""
    return text.replace("T", " ").removesuffix("Z")
