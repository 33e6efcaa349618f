"""Every error frazil raises, as one tree, split by what the caller should do.

    FrazilError
    ├── Misuse                   fix the call: nothing was changed
    │   ├── LayoutError          a layout, a field or a value that does not fit
    │   ├── CodecError           a text that is not an ID; says which character
    │   └── ConfigError          a URL, a duration, a file, a missing extra
    ├── TryLater                 the same call may succeed in a moment
    │   ├── PoolExhausted        no claim within the time allowed
    │   └── RegistryUnavailable  the store does not answer; says whether the outcome is known
    ├── Stopped                  this generator must not go on like this
    │   ├── Closed               this generator was closed; open another
    │   ├── ClaimLost            the claim has a new owner
    │   ├── LayoutExhausted      the time field, or the counter, has run out
    │   └── ClockError           a clock says what cannot be believed
    └── InternalError            a broken invariant: our bug, please report it

An error carries facts as attributes (``error.facts`` and ``error.limit``, say), so that a program
can act on what a person reads. The message ends with the next step.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which every `import frazil` would have to load
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "ClaimLost",
    "ClockError",
    "Closed",
    "CodecError",
    "ConfigError",
    "FrazilError",
    "InternalError",
    "LayoutError",
    "LayoutExhausted",
    "Misuse",
    "PoolExhausted",
    "RegistryUnavailable",
    "Stopped",
    "TryLater",
]


class FrazilError(Exception):
    """The root. ``facts`` holds what the error is about, by name; each is an attribute too."""

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.facts = facts

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(f"{type(self).__name__} carries no fact {name!r}")

    def again(self) -> FrazilError:
        """A copy to raise in another thread, with this one as its cause."""
        copy = type(self)(self.args[0], **self.facts)
        copy.__cause__ = self
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args[0], self.facts)


def _rebuild(kind: type[FrazilError], message: str, facts: dict[str, Any]) -> FrazilError:
    return kind(message, **facts)


class Misuse(FrazilError, ValueError):
    """The call cannot succeed as it stands. Fix the call; nothing was changed."""


class LayoutError(Misuse):
    """A layout that cannot be, or a value that does not fit its field (field, value, limit)."""


class CodecError(Misuse):
    """A text that is not the text of an ID (text, position, character)."""


class ConfigError(Misuse):
    """A URL, an option or an environment that frazil cannot work with."""


class TryLater(FrazilError):
    """The same call may succeed later."""


class PoolExhausted(TryLater):
    """No claim could be had within the time allowed (waited_s, retry_after_s)."""


class RegistryUnavailable(TryLater):
    """The store did not do what was asked (url, outcome_known).

    ``outcome_known=False`` means that the store may have done it all the same. A claim granted to
    nobody is never reused, so this costs ticks and no more.
    """


class Stopped(FrazilError):
    """Going on would risk a repeat, so the generator does not go on."""


class Closed(Stopped):
    """The generator was closed, and what it held was given back."""


class ClaimLost(Stopped):
    """The claim was given to somebody else; IDs made before stay valid (slot, until)."""


class LayoutExhausted(Stopped):
    """The axis of the layout has come to its end (limit)."""


class ClockError(Stopped):
    """A clock reading that no second clock confirms (reading_us, witness_us)."""


class InternalError(FrazilError):
    """An invariant does not hold. This is our bug: please report it with the message."""
