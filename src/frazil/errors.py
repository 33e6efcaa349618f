"""All errors of frazil, grouped by the caller's next step.

    FrazilError
    ├── Misuse                   fix the call: nothing was changed
    │   ├── LayoutError          a layout, a field or a value that is invalid
    │   ├── CodecError           a text or a number that is not an ID
    │   └── ConfigError          a URL, a duration, a file, a missing extra
    ├── TryLater                 the same call may succeed later
    │   ├── PoolExhausted        no claim was granted before the timeout
    │   └── RegistryUnavailable  the store does not answer; the outcome may be unknown
    ├── Stopped                  this generator cannot continue
    │   ├── Closed               the generator was closed; open another
    │   ├── ClaimLost            rows of a stamped Dask or Ray table are lost
    │   ├── LayoutExhausted      the time field or the counter is used up
    │   └── ClockError           a clock reading is implausible
    └── InternalError            a broken invariant: a bug in frazil, please report it

An error has its facts as attributes (like ``error.limit``, and all of them in ``error.facts``) for
programs; a class below names its usual facts in parentheses. The message is for people and ends
with the next step. A traceback also shows ``error.page`` of the classes that an operator meets.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which is slow to load
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
    "brief",
    "unfinished",
]


_SHOWN = 80  # characters of a wrong value

_DOCS = "https://github.com/frazil/frazil/blob/main/docs/"
_ALARMS, _ERRORS = _DOCS + "how-to/alarms/", _DOCS + "reference/errors.md"


class FrazilError(Exception):
    """The base of all errors. ``facts`` holds its details by name; each is also an attribute."""

    page = _ERRORS
    """The address of the page that says what to do."""

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.facts = facts
        if self.page is not _ERRORS:  # else the message says it all
            self.add_note(f"See {self.page}")

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(f"{type(self).__name__} has no fact {name!r}")

    def again(self) -> FrazilError:
        """A copy to raise in another thread, with this one as its cause."""
        copy = type(self)(self.args[0], **self.facts)
        copy.__cause__ = self
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        from functools import partial

        return partial(type(self), self.args[0], **self.facts), ()


class Misuse(FrazilError, ValueError):
    """The call is invalid. Fix the call; nothing was changed."""


class LayoutError(Misuse):
    """A layout is invalid, or a value does not fit its field (field, value, limit)."""


class CodecError(Misuse):
    """A text or a number is not an ID (text, position, character; or value, limit)."""


class ConfigError(Misuse):
    """A URL, an option or the environment is invalid."""

    page = _ERRORS + "#configerror"


class TryLater(FrazilError):
    """The same call may succeed later."""


class PoolExhausted(TryLater):
    """No claim was granted before the timeout (waited_s; retry_after_s, if it is known).

    lost_us: when it was noticed that the store lost its claims, in µs since 1970; 0 if unknown.
    """

    page = _ALARMS + "no-claim.md"

    def __init__(self, message: str, **facts: Any) -> None:
        if "lost_us" in facts:
            self.page = _ALARMS + "store-lost.md"
        super().__init__(message, **facts)


class RegistryUnavailable(TryLater):
    """The store does not answer, or rejected the request (url, outcome_known).

    ``outcome_known=False`` means that the store may have executed the request. A claim whose reply
    was lost is never reused, so this wastes ticks but repeats no ID.
    """

    page = _ALARMS + "store-away.md"


class Stopped(FrazilError):
    """The generator cannot continue, because an ID could repeat."""


class Closed(Stopped):
    """The generator was closed, and its claim was given back."""

    page = _ERRORS + "#closed"


class ClaimLost(Stopped):
    """Rows of a stamped table of Dask or Ray are lost; computed again they would get other IDs."""

    page = _ERRORS + "#claimlost"


class LayoutExhausted(Stopped):
    """The time field or the counter of the layout is used up (limit)."""

    page = _ALARMS + "exhausted.md"


class ClockError(Stopped):
    """A clock reading is implausible: no second clock confirms it, or it is before the epoch.

    reading_us, witness_us: the store's clock and this host's, in µs since 1970.
    """

    page = _ALARMS + "clock.md"


class InternalError(FrazilError):
    """An invariant does not hold: a bug in frazil. Please report it with the message."""

    page = _ERRORS + "#internalerror"


def brief(value: object) -> str:
    """A value from outside, as a message shows it: its ``repr``, cut."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no int of many thousand digits
        return f"a number of type {type(value).__name__} that is too long to show"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def unfinished(what: str, error: Exception) -> TryLater | None:
    """The error of a signal handler that needs ``what`` and interrupted an import of its modules.

    None if ``error`` has another reason. Nothing can be loaded a second time meanwhile.
    """
    if "partially initialized module" not in str(error):  # Python says no more than this
        return None
    return TryLater(
        f"{what} is not loaded yet: this signal handler interrupted an import ({error}); call it "
        "again after the handler has returned, or once before you set the handler"
    )
