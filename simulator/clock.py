"""Clocks that are wrong in all the ways in which clocks are wrong, on true time.

A wall clock drifts, is stepped, stands still, is smeared over a leap second, and begins anywhere
after a boot; set right, it says the true time again. A boot clock is never stepped, goes a little
fast or slow, and begins anew with its host. True time itself is the world's, an int of µs that only
goes forward.

A *smeared* leap second: most hosts step back at the leap; one that smears goes slow for hours
before and after instead. Seen from the others it falls behind, is ahead by as much at the leap,
and falls back to them. The rate is that second over those hours, at most a thousandth (UTC-SLS).
"""

from collections.abc import Callable

__all__ = ["SMEAR_PPM", "BootClock", "WrongClock"]

SMEAR_PPM = 1000
_LEAP_US = 1_000_000


class WrongClock:
    """A clock that reads true time, as ``true_us`` answers it, wrongly."""

    def __init__(self, true_us: Callable[[], int]) -> None:
        self._true_us = true_us
        self._base_us = true_us()
        self._shown_us = self._base_us
        self._ppm = 0
        self._frozen = False
        self.smearing = False
        self._smears = 0

    def reading_us(self) -> int:
        """What it says now."""
        if self._frozen:
            return self._shown_us
        passed_us = self._true_us() - self._base_us
        return self._shown_us + passed_us + passed_us * self._ppm // 1_000_000

    def step(self, us: int) -> None:
        """Put it forward, or back if ``us`` is negative."""
        self._anchor(self.reading_us() + us)

    def drift(self, ppm: int) -> None:
        """Let it gain so many millionths from now on (lose, if negative)."""
        self._anchor(self.reading_us())
        self._ppm = ppm

    def show(self, us: int) -> None:
        """Let it say this now, as after a boot with a dead battery."""
        self._anchor(us)

    def smear(self, us: int, ahead: int, at: Callable[[int, Callable[[], None]], None]) -> int:
        """Smear a leap second over so much time from now; answers the rate, in millionths.

        ahead: 1 for a clock that goes fast (a second left out), -1 for slow. at: has something
        done at a moment of true time.
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
        """Let it stand still."""
        self._anchor(self.reading_us())
        self._frozen = True

    def thaw(self) -> None:
        """Let it go on from where it stood."""
        self._anchor(self.reading_us())
        self._frozen = False

    def put_right(self) -> None:
        """Set it to true time, going at the right speed."""
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
        """What it says now."""
        return self._base_ns + (self._true_us() - self._base_us) * self._rate // 1000

    def slew(self, ppm: int) -> None:
        """Gain so many millionths more than by itself, as the wall clock that is smeared."""
        self._anchor(self.reading_ns())
        self._rate = 1_000_000 + self._crystal_ppm + ppm

    def boot(self) -> None:
        """Begin anew."""
        self._anchor(0)
        self._rate = 1_000_000 + self._crystal_ppm

    def _anchor(self, shown_ns: int) -> None:
        self._base_us = self._true_us()
        self._base_ns = shown_ns
