"""Holdings: the slots of a record in a form for people.

A record holds numbers: slots and axis values. It also holds its layout, so this module shows them
as node numbers, constants and moments of *that* layout. A claim does not end when its holder stops:
it ends on the axis, at ``until``. So a slot is *held* until that moment by the registry's clock,
*idle* after it if the claim was not released, and *free* once it was released.
"""

from dataclasses import dataclass
from typing import Any

from frazil.claims.claim import Holding, Snapshot
from frazil.claims.holder import Holder
from frazil.layout.layout import Layout
from frazil.system.clock import moment_text


@dataclass(frozen=True)
class NodeHolding:
    """A slot of a record of ``layout``, at ``now_us`` by the registry's clock."""

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
    def holder(self) -> Holder:
        """The present or last holder."""
        return Holder.parse(self.holding.holder)

    @property
    def state(self) -> str:
        """Held, idle or free."""
        if not self.holding.held:
            return "free"
        over = self._timed and self.layout.us_at(self.holding.until) <= self.now_us
        return "idle" if over else "held"

    def on_axis(self, value: int) -> str:
        """A value of the axis as text: a moment if the axis is time."""
        return moment_text(self.layout.us_at(value)) if self._timed else str(value)

    @property
    def _timed(self) -> bool:
        return self.layout.tick_us is not None

    def as_json(self) -> dict[str, Any]:
        """The fields as shown to people, and the raw axis values."""
        holding = self.holding
        return {
            "node": self.node,
            "constants": self.constants,
            "state": self.state,
            "host": self.holder.host or None,
            "process": int(self.holder.process) if self.holder.process else None,
            "rate_hz": self.holder.rate_hz if self.state == "held" else None,
            "since": moment_text(holding.since_us) if holding.since_us else None,
            "start": self.on_axis(holding.start),
            "until": self.on_axis(holding.until),
            "start_value": holding.start,
            "until_value": holding.until,
        }


def node_holdings(found: Snapshot | None) -> list[NodeHolding]:
    """Every slot of a record that was ever used; an empty list without a record."""
    if found is None:
        return []
    layout = Layout.parse(found.layout.partition(" | ")[0])
    return [NodeHolding(holding, layout, found.now_us) for holding in found.holdings]
