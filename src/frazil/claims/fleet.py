"""The fleet: all members of a namespace that hold a claim, as sums.

A member is one generator with a claim. Its rate is what it wrote at its last renewal, so the sum
lags behind by half of a claim, and a member that was never renewed has no rate yet. Deployments
with different constants share a record and have all node numbers each, so the node numbers of the
fleet are counted once for each deployment that has ever claimed one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from frazil.claims.holding import NodeHolding
from frazil.layout.layout import Layout


class Fleet(NamedTuple):
    """members: claims that are held. hosts: where they are. rate_hz: IDs per second, all together.

    unknown: members whose rate is not known yet. nodes: the node numbers. capacity_hz: the IDs per
    second of all node numbers; None if the layout has no time.
    """

    members: int
    hosts: int
    rate_hz: int
    unknown: int
    nodes: int
    capacity_hz: float | None


def fleet_of(lines: Sequence[NodeHolding], layout: Layout) -> Fleet:
    """Sum up the slots of a record of ``layout``."""
    holders = [line.holder for line in lines if line.state == "held"]
    rates_hz = [holder.rate_hz for holder in holders if holder.rate_hz is not None]
    deployments = {tuple(line.constants.values()) for line in lines}
    nodes = layout.nodes * max(1, len(deployments))
    node_hz = layout.ids_per_second
    return Fleet(
        members=len(holders),
        hosts=len({holder.host for holder in holders}),
        rate_hz=sum(rates_hz),
        unknown=len(holders) - len(rates_hz),
        nodes=nodes,
        capacity_hz=None if node_hz is None else node_hz * nodes,
    )
