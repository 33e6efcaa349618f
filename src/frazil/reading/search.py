"""Searching: the IDs in a text, which is an ID as a whole or a line that contains some.

If the whole text can be an ID, any plausible reading is accepted. Words in a line need more: lines
contain ports, durations, host names and trace IDs, and most of them decode as *something*. So a
word is accepted only if its score is high (see ``guess``), or if it has the encoding of the
expected scheme and a plausible moment.

A text that no scheme fits may be an ID of another system, which ``foreign`` reads.

The default scheme need not be named. A text in its encoding is read in it, unless the score of
another scheme is much higher.
"""

from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from frazil.errors import CodecError
from frazil.reading.foreign import Foreign, in_word, recognise, why_not
from frazil.reading.guess import LIKELY_BITS, Fit, fits_of, presets, words
from frazil.schemes.scheme import Scheme
from frazil.system.clock import moment_text

_WORD_CHARACTERS_MIN = 8  # chibrary's; an ID with time has more
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class Match:
    """A text that is an ID, with its possible schemes, the best first.

    guessed: whether the scheme was guessed, so that the others should be shown. foreign: the ID of
    another system that it is; then there are no fits.
    """

    fits: tuple[Fit, ...]
    guessed: bool = False
    foreign: Foreign | None = None


@dataclass(frozen=True)
class Search:
    """A search for IDs.

    scheme: the expected one. named: consider no other scheme. guess: rank all schemes, even if this
    one fits. strict: accept only the scheme's own encoding, prefix and check character.
    """

    scheme: Scheme
    now_us: int
    named: bool = False
    guess: bool = False
    strict: bool = False

    def find(self, line: str, limit: int | None = None) -> list[Match]:
        """The first ``limit`` IDs in a text, in order."""
        whole = self._in_text(line.strip())
        if whole is not None:
            return [whole]
        long_words = (word for word in words(line) if len(word) >= _WORD_CHARACTERS_MIN)
        candidates = map(self._in_word, long_words)
        return list(islice((match for match in candidates if match is not None), limit))

    def explain(self, text: str) -> str:
        """The reason why a text contains no ID."""
        text = text.strip()
        long = len(text) > _SHOWN_CHARACTERS
        shown = f"{text[: _SHOWN_CHARACTERS - 3]}..." if long else text
        if len(text.split()) != 1:
            hint = "" if text else "; name one, like frazil inspect 1425152293497475073"
            return f"no ID was found in {shown!r}{hint}"
        if not self.named and (reason := why_not(text)):
            return f"{shown!r} is not an ID: {reason}"
        refused = () if self.named else fits_of(text, presets(), self.now_us)
        if refused:
            reasons = "".join(f"\n  {fit.scheme.name}: {fit.refused}" for fit in refused)
            return f"{shown!r} fits no scheme:{reasons}\nUse --scheme to read it anyway."
        try:
            self.scheme.parse(text)
        except CodecError as error:
            hint = "" if self.named else "\nNor is it an ID of another scheme, in any encoding."
            return f"{error}{hint}"
        return f"{shown!r} is not an ID of scheme {self.scheme.name}"

    def _in_text(self, text: str) -> Match | None:
        own = self._own_fits(text)
        if self.named:
            return Match(tuple(own)) if own else None
        found = self._choose(own, fits_of(text, presets(), self.now_us))
        return found or _foreign(recognise(text, self.now_us))

    def _in_word(self, word: str) -> Match | None:
        own = self._own_fits(word)
        if self.named:
            accepted = own and (_is_plausible(own[0]) or own[0].likely)
            return Match(tuple(own)) if accepted else None
        found = self._choose(own, fits_of(word, _guessable(), self.now_us))
        if found and (found.fits[0].likely or not found.guessed):
            return found
        return _foreign(in_word(word, self.now_us))

    def _own_fits(self, text: str) -> list[Fit]:
        return fits_of(text, [self.scheme], self.now_us, strict=self.strict)

    def _choose(self, own: list[Fit], fits: list[Fit]) -> Match | None:
        """The expected scheme, unless another is far more likely."""
        fitting = [fit for fit in fits if not fit.refused]
        if not fitting:
            return None
        is_close = own and own[0].score > fitting[0].score - LIKELY_BITS
        if is_close and _is_plausible(own[0]) and not self.guess:
            others = (fit for fit in fitting if fit.scheme.name != self.scheme.name)
            return Match((*own, *others))
        return Match(tuple(fits), guessed=True)


def moment_json(us: int | None, now_us: int) -> dict[str, Any]:
    """The moment of an ID and its age, as JSON; null if it has none."""
    if us is None:
        return {"moment": None, "age_s": None}
    return {"moment": moment_text(us), "age_s": round((now_us - us) / 1e6, 3)}


def _foreign(found: Foreign | None) -> Match | None:
    return None if found is None else Match((), foreign=found)


@cache
def _guessable() -> tuple[Scheme, ...]:
    """The schemes to guess for a word; without counters, which any number fits."""
    return tuple(scheme for scheme in presets() if scheme.layout.axis != "sequence")


def _is_plausible(fit: Fit) -> bool:
    """Whether this has the scheme's own encoding and a plausible moment."""
    return fit.own and not fit.refused and fit.values.moment_us is not None
