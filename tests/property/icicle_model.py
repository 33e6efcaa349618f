"""What ``icicle.lua`` does, once more: in Python, whose numbers have no end.

Nothing is shared with the script but its first lines, where arguments, units and replies are
described, so what one of the two gets wrong the other does not.
"""

from dataclasses import dataclass

LAYOUT = "sign:1=0 time:41 node:10 sequence:12 @1ms since 2016-02-18T09:43:20.316Z"
EPOCH_US = 1_455_788_600_316_000
HORIZON_US = 5_000_000
SECOND_US = 1_000_000


class Refused(Exception):
    """A refusal, by its code."""


@dataclass
class Model:
    """One server's namespace. Fields are as in its hash; layout is None before the first use."""

    layout: str | None = None
    incarnation: str = ""
    shard: int | None = None
    tick: int = 0
    next: int = 0
    guard: int = 0
    last: int = 0
    offset: int = 0
    top: int = 0
    pool: str = ""

    def ask(
        self,
        verb,
        count,
        lead,
        shard,
        seen,
        witness,
        new,
        pool,
        continued=None,
        *,
        reading_us,
        incarnation,
    ) -> list[int | str]:
        """The reply behind nonce and incarnation; numbers as numbers. None is left out."""
        self._check(verb, count, lead, shard, seen, witness)
        offset = self._offset(reading_us, witness)
        now_us = reading_us + offset
        if now_us < EPOCH_US:
            raise Refused("CLOCK")
        if verb == "look":
            wait_us = max(0, EPOCH_US + max(self.guard, self.tick) * 1000 - now_us)
            known = "" if self.shard is None else self.shard
            state = [self.tick, self.next, self.guard, self.last, offset, now_us]
            return [known, self.top, wait_us, *state, self.pool]
        self.pool = pool if verb == "init" and pool else self.pool
        known_us = max(seen or 0, continued or 0)
        return self._give(
            verb, count, lead, shard, seen, known_us, new, reading_us, offset, incarnation
        )

    def _check(self, verb, count, lead, shard, seen, witness):
        """Raises Refused for what makes no sense."""
        limits = [
            ("COUNT", count, 1, 4_096_000),
            ("LEAD", lead, 0, SECOND_US),
            ("SHARD", shard, 0, 1023),
            ("NUMBER", seen, 0, 2**53),
            ("NUMBER", witness, 0, 2**53),
        ]
        for code, value, least, most in limits:
            if value is not None and not least <= value <= most:
                raise Refused(code)
        if verb == "init" and shard is None:
            raise Refused("SHARD")
        if verb != "look" and self.shard is not None and shard not in (None, self.shard):
            raise Refused("TAKEN")
        if verb == "issue" and self.shard is None and shard is None:
            raise Refused("UNSET")

    def _offset(self, reading_us, witness):
        """What is added to the clock's reading. Raises Refused for a jump that is not believed."""
        passed_us = reading_us - self.last
        jumped = passed_us > 60 * SECOND_US
        if jumped and witness is not None and abs(witness - reading_us) > 10 * SECOND_US:
            raise Refused("CLOCK")
        if passed_us < 0 or (jumped and 2 * passed_us > self.offset):
            return max(0, self.offset - passed_us)
        return max(0, self.offset - passed_us // 8)

    def _give(self, verb, count, lead, shard, seen, known_us, new, reading_us, offset, incarnation):
        now_us, seen, lead = reading_us + offset, seen or 0, lead or 0
        lost = self.layout is None or self.incarnation != incarnation or seen > self.top
        guard, top, known = self.guard, self.top, self.shard
        if lost:
            latest_us = max(now_us, top, known_us)
            guard = max(guard, (latest_us + HORIZON_US - EPOCH_US) // 1000 + 1)
            if verb == "init" and known is None and new:
                guard = 0
            top = max(top, known_us)
        known = shard if known is None else known
        # A cell is a tick and a sequence in it; all of them in one row. A later tick begins with
        # the sequence that comes next, as in the original.
        cell = max(self.tick, guard, (now_us - EPOCH_US) // 1000) * 4096 + self.next
        if cell >= 4096 << 41:
            raise Refused("EXHAUSTED")
        end = min(2**41, (now_us + lead - EPOCH_US) // 1000 + 1) * 4096
        taken = min(count or 1, max(0, end - cell)) if verb == "issue" else 0
        spans = []
        while taken:
            number = min(taken, 4096 - cell % 4096)
            spans += [cell // 4096 << 22 | known << 12 | cell % 4096, number]
            cell, taken = cell + number, taken - number
        if lost:
            self.layout, self.incarnation, self.shard = LAYOUT, incarnation, known
            self.guard = guard
        if lost or spans or verb == "init":
            top = max(top, now_us)
            self.tick, self.next = divmod(cell, 4096)
            self.last, self.offset, self.top = reading_us, offset, top
        wait_us = max(0, EPOCH_US + cell // 4096 * 1000 - lead - now_us)
        return [known, top, wait_us, *spans]
