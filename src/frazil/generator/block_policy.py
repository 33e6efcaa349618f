"""The keeper's policy for a layout without time: counters, runs.

A claim is a block of a chosen size. When half of it is used, the walk's caller starts a round,
which extends the block. If another member has the values after it, another block is queued. So
callers find the next block, and no round depends on time.
"""

from frazil.claims.claim import Claim
from frazil.generator.complaints import Cause
from frazil.generator.keeper_policy import KeeperPolicy, Steps
from frazil.walk.walk import Walk


class BlockPolicy(KeeperPolicy):
    """Keeps a walk without a clock one block ahead."""

    def _why(self, waited_s: float, /) -> Cause:
        since_ns = self.identity.now_ns() - int(waited_s * 1e9)
        return "taken" if self._answered_ns >= since_ns else ""

    def _supply(self, walk: Walk) -> Steps[None]:
        """Extend the block, or get another one if the values after it have an owner."""
        if self._renewable:
            yield from self._extend(walk)
        if not self._renewable:
            yield from self._grant(walk, self._block)

    _maintain = _supply

    def _extend(self, walk: Walk) -> Steps[None]:
        claim = self.claim
        assert claim is not None
        reply, read_ns = yield from self._ask_renewal(walk, claim, claim.until + self._block)
        if isinstance(reply, Claim) and reply.until > claim.until:
            self._prolong(walk, reply, read_ns)
        else:
            self._renewable = False

    def _adopt(self, walk: Walk, claim: Claim, read_ns: int) -> None:
        if walk.held:
            node, era = claim.slot % self.terms.nodes, self.identity.era
            walk.queue(node, claim.start, claim.until, era)
        else:
            super()._adopt(walk, claim, read_ns)

    def _needs_renewal(self, walk: Walk) -> bool:
        return walk.wanting

    def _due_s(self, walk: Walk) -> float | None:
        return 0.001 if self.trouble is not None and walk.wanting else None
