"""Clocks with every kind of error, on true time.

A wall clock drifts, is stepped, stops, smears a leap second, and has any time after a boot; once
corrected, it shows the true time again. A boot clock is never stepped, runs a little fast or slow,
and restarts with its host. True time is the world's, an int of µs that only increases.

A *smeared* leap second: most hosts step back at the leap; a host that smears runs slow for hours
before and after instead. Compared with the others it falls behind, is ahead by as much after the
leap, and meets them again. The rate is that second over those hours, at most a thousandth
(UTC-SLS).
"""

from collections.abc import Callable

__all__ = ["SMEAR_PPM", "BootClock", "WrongClock"]

SMEAR_PPM = 1000
_LEAP_US = 1_000_000


class WrongClock:
    """A clock with an error against the true time, which ``true_us`` returns."""

    def __init__(self, true_us: Callable[[], int]) -> None:
        self._true_us = true_us
        self._base_us = true_us()
        self._shown_us = self._base_us
        self._ppm = 0
        self._frozen = False
        self.smearing = False
        self._smears = 0

    def reading_us(self) -> int:
        """Its reading now."""
        if self._frozen:
            return self._shown_us
        passed_us = self._true_us() - self._base_us
        return self._shown_us + passed_us + passed_us * self._ppm // 1_000_000

    def step(self, us: int) -> None:
        """Step it forward, or back if ``us`` is negative."""
        self._anchor(self.reading_us() + us)

    def drift(self, ppm: int) -> None:
        """Let it gain (or lose, if negative) so many millionths from now on."""
        self._anchor(self.reading_us())
        self._ppm = ppm

    def show(self, us: int) -> None:
        """Set it to a reading, as after a boot with a dead battery."""
        self._anchor(us)

    def smear(self, us: int, ahead: int, at: Callable[[int, Callable[[], None]], None]) -> int:
        """Smear a leap second over some time from now. Returns the rate, in millionths.

        ahead: 1 for a clock that runs fast (a second is left out), -1 for slow. at: schedules a
        function at a moment of true time.
        """
        ppm = min(SMEAR_PPM, _LEAP_US * 1_000_000 // us)
        self.drift(ahead * ppm)
        self._smears += 1
        self.smearing = True
        now_us, number = self._true_us(), self._smears
        at(now_us + us // 2, lambda: self._leap(number, -ahead * us * ppm // 1_000_000))
        at(now_us + us, lambda: self._end_smear(number))
        return ahead * ppm

    def _leap(self, number: int, us: int) -> None:
        if self.smearing and number == self._smears:
            self.step(us)

    def _end_smear(self, number: int) -> None:
        if self.smearing and number == self._smears:
            self.drift(0)
            self.smearing = False

    def freeze(self) -> None:
        """Stop it."""
        self._anchor(self.reading_us())
        self._frozen = True

    def thaw(self) -> None:
        """Start it again from where it stopped."""
        self._anchor(self.reading_us())
        self._frozen = False

    def put_right(self) -> None:
        """Set it to true time and the right rate."""
        self._frozen = self.smearing = False
        self._ppm = 0
        self._anchor(self._true_us())

    def _anchor(self, shown_us: int) -> None:
        self._base_us = self._true_us()
        self._shown_us = shown_us


class BootClock:
    """Nanoseconds since a host was booted. ppm: how many millionths its crystal gains."""

    def __init__(self, true_us: Callable[[], int], ppm: int) -> None:
        self._true_us = true_us
        self._crystal_ppm = ppm
        self._rate = 1_000_000 + ppm
        self._base_us = true_us()
        self._base_ns = 10**15

    def reading_ns(self) -> int:
        """Its reading now."""
        return self._base_ns + (self._true_us() - self._base_us) * self._rate // 1000

    def slew(self, ppm: int) -> None:
        """Gain so many millionths more than usual, like a wall clock that smears."""
        self._anchor(self.reading_ns())
        self._rate = 1_000_000 + self._crystal_ppm + ppm

    def boot(self) -> None:
        """Restart."""
        self._anchor(0)
        self._rate = 1_000_000 + self._crystal_ppm

    def _anchor(self, shown_ns: int) -> None:
        self._base_us = self._true_us()
        self._base_ns = shown_ns
