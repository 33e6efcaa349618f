"""The timeline of a layout: from moments to ticks, and back.

A tick number means nothing without the length of a tick and the moment of tick 0. Code that keeps
the three apart will read one of them in the wrong unit: a field of 47 bits holds milliseconds for
4,459 years and microseconds for less than five. A ``Timeline`` holds them together with the width
of the field. It refuses a moment outside the field and never lets it wrap.

All moments are ints, µs since 1970, exact at any width. A timeline may end long after the last year
of ``datetime``. The epoch may be None: then the timeline has a tick but no moments.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from frazil.errors import LayoutError, brief
from frazil.layout.field import fit, misfit
from frazil.system import clock

_EARLIEST_US = clock.to_us(datetime(1, 1, 1, tzinfo=UTC))  # no text has an earlier year


@dataclass(frozen=True, slots=True)
class Timeline:
    """``2**bits`` ticks of ``tick_us`` µs, the first at ``epoch_us`` (None: not chosen yet)."""

    bits: int
    tick_us: int
    epoch_us: int | None

    def __post_init__(self) -> None:
        if type(self.tick_us) is not int or self.tick_us < 1:
            raise misfit(
                f"tick_us must be a whole number of microseconds, 1 or more, not "
                f"{brief(self.tick_us)}; give it as an int",
                field="tick",
                value=self.tick_us,
                limit=1,
            )
        now_us = clock.wall_us()
        if self.epoch_us is None:
            return
        if type(self.epoch_us) is not int or self.epoch_us < _EARLIEST_US:
            raise misfit(
                f"{brief(self.epoch_us)} is not an epoch; give µs since 1970, an int from the "
                "year 1 on",
                field="since",
                value=self.epoch_us,
                limit=_EARLIEST_US,
            )
        if self.epoch_us > now_us:
            raise misfit(
                f"the epoch {clock.moment_text(self.epoch_us)} is in the future (it is "
                f"{clock.moment_text(now_us)}); choose an earlier one, or set the clock of this "
                "host",
                field="since",
                value=self.epoch_us,
                limit=now_us,
            )

    @property
    def end(self) -> int:
        """The first tick that does not fit the field."""
        return 1 << self.bits

    @property
    def end_us(self) -> int:
        """The moment at which the last tick ends."""
        return self.us_at(self.end)

    def us_at(self, tick: int) -> int:
        """The moment at which a tick begins. ``end`` is valid too, as the bound of an interval."""
        if tick != self.end:
            fit("time", self.bits, tick)
        return self._since() + tick * self.tick_us

    def tick_at(self, us: int) -> int:
        """The tick of a moment; LayoutError outside the field."""
        tick = self._passed(us) // self.tick_us
        if not 0 <= tick < self.end:
            raise self._outside(us)
        return tick

    def tick_from(self, us: int) -> int:
        """The first tick, or ``end``, that begins at ``us`` or later; LayoutError outside."""
        passed = self._passed(us)
        tick = -(-passed // self.tick_us)
        if passed < 0 or tick > self.end:
            raise self._outside(us)
        return tick

    def _since(self) -> int:
        if self.epoch_us is None:
            raise misfit(
                "the layout's epoch is not chosen yet; write a moment after 'since', or call "
                "with_epoch",
                field="since",
            )
        return self.epoch_us

    def _passed(self, us: int) -> int:
        if isinstance(us, bool) or not isinstance(us, int):
            raise misfit(
                f"a moment must be an int of µs since 1970, not {brief(us)}; convert it first",
                field="time",
                value=us,
            )
        return us - self._since()

    def _outside(self, us: int) -> LayoutError:
        start_us, end_us = self._since(), self.end_us
        return misfit(
            f"{clock.moment_text(us)} is outside the time field, which begins at "
            f"{clock.moment_text(start_us)} and ends before {clock.moment_text(end_us)}; choose a "
            "moment inside, or a layout with another epoch or more bits of time",
            field="time",
            value=us,
            limit=(start_us, end_us),
        )
