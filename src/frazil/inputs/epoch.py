"""Epochs: a moment as people and programs give it, in microseconds since 1970, strictly.

A moment without an offset means another time on every host, and Python's parser reads forms that
are not ISO 8601. Both are errors.
"""

import re
from contextlib import suppress
from datetime import UTC, datetime

from frazil.errors import ConfigError
from frazil.system.clock import to_us

__all__ = ["epoch_us"]

_MOMENT = re.compile(
    r"[0-9]{4}-?(?:[0-9]{2}-?[0-9]{2}|W[0-9]{2}-?[1-7])"
    r"(?P<time>[T ][0-9:.,]+(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)


def epoch_us(epoch: datetime | str | int) -> int:
    """The microseconds since 1970 of a moment. Raises ConfigError for anything else.

    ``epoch`` is an aware datetime, an ISO 8601 text with its offset (or a date alone, midnight in
    UTC), or already µs since 1970.
    """
    when: object = epoch
    if isinstance(epoch, str):
        when = None
        # fromisoformat alone reads "+0100" before anything, and "2025W01T05" as a date.
        if found := _MOMENT.fullmatch(epoch):
            with suppress(ValueError):
                moment = datetime.fromisoformat(epoch)
                when = moment if found["time"] else moment.replace(tzinfo=UTC)
    if isinstance(when, datetime) and when.tzinfo is not None:
        return to_us(when)
    if isinstance(when, int) and not isinstance(when, bool):
        return when
    raise ConfigError(
        f"epoch {epoch!r} is not a moment; write it with its offset, like '2025-01-01T00:00:00Z', "
        "or give an aware datetime or microseconds since 1970",
        value=epoch,
    )
