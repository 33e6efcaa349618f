"""A wall clock that is wrong in all the ways in which clocks are wrong, on true time.

It drifts, is stepped, and stands still; set right, it says the true time again. True time itself is
the world's, an int of µs that only goes forward.
"""

from collections.abc import Callable

__all__ = ["WrongClock"]


class WrongClock:
    """A clock that reads true time, as ``true_us`` answers it, wrongly."""

    def __init__(self, true_us: Callable[[], int]) -> None:
        self._true_us = true_us
        self._base_us = true_us()
        self._shown_us = self._base_us
        self._ppm = 0
        self._frozen = False

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
        self._frozen = False
        self._ppm = 0
        self._anchor(self._true_us())

    def _anchor(self, shown_us: int) -> None:
        self._base_us = self._true_us()
        self._shown_us = shown_us
