"""Searching: the IDs in a text, which may be one as a whole or a line of a log with some in it.

A text that is an ID from end to end was meant as one, so any sensible reading of it will do. A word
in a line was not: lines are full of ports, durations, host names and trace IDs, and most of
them decode as *something*. So a word counts only if it would be a strange coincidence were it no ID
(see ``guess``), or if it is written as the one scheme in question writes and has a sensible moment.

Nobody needs to name the default scheme. Its own text is taken for its own, unless another scheme is
more likely by so much that it would be the strange coincidence.
"""

from dataclasses import dataclass
from functools import cache
from itertools import islice

from frazil.errors import CodecError
from frazil.reading.guess import LIKELY_BITS, Fit, fits_of, presets
from frazil.reading.spelling import words
from frazil.schemes.scheme import Scheme

__all__ = ["Finding", "Search"]

_SHORTEST_WORD = 8  # chibrary's; an ID with a time in it has more
_SHOWN = 60


@dataclass(frozen=True)
class Finding:
    """A text that is an ID: of the first of ``fits``, or else of another of them.

    guessed: whether nobody said which, so that the others are of interest.
    """

    fits: tuple[Fit, ...]
    guessed: bool = False


@dataclass(frozen=True)
class Search:
    """What to look for.

    scheme: the one in question. sure: it was named, so no other counts. guess: look at all schemes
    even if this one would do. strict: only the text that the scheme itself writes.
    """

    scheme: Scheme
    now_us: int
    sure: bool = False
    guess: bool = False
    strict: bool = False

    def find(self, line: str, most: int | None = None) -> list[Finding]:
        """The IDs in a text, in their order, the first ``most`` of them; or an empty list."""
        whole = self._whole(line.strip())
        if whole is not None:
            return [whole]
        candidates = (self._in_line(word) for word in words(line) if len(word) >= _SHORTEST_WORD)
        return list(islice((finding for finding in candidates if finding is not None), most))

    def explain(self, text: str) -> str:
        """Why there is no ID in a text, for whoever thinks that there is."""
        text = text.strip()
        shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
        if len(text.split()) != 1:
            return f"no ID was found in {shown!r}"
        refused = () if self.sure else fits_of(text, presets(), self.now_us)
        if refused:
            reasons = "".join(f"\n  {fit.scheme.name}: {fit.refused}" for fit in refused)
            return f"{shown!r} fits no scheme:{reasons}\nName the scheme to see it all the same."
        try:
            self.scheme.parse(text)
        except CodecError as error:
            hint = "" if self.sure else "\nNor is it an ID of another scheme, in any encoding."
            return f"{error}{hint}"
        return f"{shown!r} is no ID of scheme {self.scheme.name}"

    def _whole(self, text: str) -> Finding | None:
        own = self._own(text)
        if self.sure:
            return Finding(tuple(own)) if own else None
        return self._weighed(own, fits_of(text, presets(), self.now_us))

    def _in_line(self, word: str) -> Finding | None:
        own = self._own(word)
        if self.sure:
            good = own and (_is_plain(own[0]) or own[0].likely)
            return Finding(tuple(own)) if good else None
        found = self._weighed(own, fits_of(word, _telling(), self.now_us))
        return found if found and (found.fits[0].likely or not found.guessed) else None

    def _own(self, text: str) -> list[Fit]:
        return fits_of(text, [self.scheme], self.now_us, strict=self.strict)

    def _weighed(self, own: list[Fit], fits: list[Fit]) -> Finding | None:
        """The scheme in question has the right of way, unless another is far more likely."""
        fitting = [fit for fit in fits if not fit.refused]
        if not fitting:
            return None
        close = own and own[0].score > fitting[0].score - LIKELY_BITS
        if close and _is_plain(own[0]) and not self.guess:
            return Finding((*own, *(fit for fit in fitting if fit.scheme != self.scheme)))
        return Finding(tuple(fits), guessed=True)


@cache
def _telling() -> tuple[Scheme, ...]:
    """The schemes that a word may be guessed to be of; any number could be a bare counter's."""
    return tuple(scheme for scheme in presets() if scheme.layout.axis != "sequence")


def _is_plain(fit: Fit) -> bool:
    """Whether this is the scheme's own text with a sensible moment."""
    return fit.own and not fit.refused and fit.values.moment_us is not None
