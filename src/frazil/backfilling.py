"""``frazil.history``: IDs for rows of the past, by the moment of each row.

A row that was written in 2019 belongs among the others of 2019. A generator makes IDs of now, and a
program that packs old moments itself repeats IDs as soon as it runs twice. A history claims a
region of the past, which nothing else ever uses (see ``frazil.claims.past``), and gives its cells
to rows in any order.

That the past of a namespace is unused is a person's word, given once: ``frazil.declare_past``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Never

from frazil.errors import ConfigError
from frazil.generator.history import History, declare
from frazil.generator.request import Duration, make_request
from frazil.inputs.arguments import refuse_unknown
from frazil.inputs.url import UrlInput
from frazil.registries.base import Registry
from frazil.schemes.scheme import Scheme, epoch_us
from frazil.system.clock import to_us

Moment = datetime | date | str | int

__all__ = ["declare_past_of", "moment_us", "open_history"]


def open_history(
    url: UrlInput | None = None,
    scheme: str | Scheme = "icicle",
    *,
    namespace: str = "default",
    fields: Mapping[str, int] | None = None,
    start: Moment | None = None,
    stop: Moment | None = None,
    timeout: Duration = 10,
    registry: Registry | None = None,
    **unknown: Never,
) -> History:
    """IDs for rows of the past, by the moment of each row. Claims one region of the past now.

    url, scheme, namespace, fields, registry: as in ``open``, for a registry that processes share;
    the scheme has a time. The past must be known: see ``declare_past``. Generators, ``mint`` and
    other histories may run beside it.
    start, stop: the first moment, and the one after the last: a datetime (a naive one is UTC), ISO
    8601 text, or µs since 1970. By default all of the known past, until now. A history uses up this
    time of one node number, so that with each one fewer of the whole past are left: give both for
    jobs that come again.
    timeout: how long to wait for the registry, which may have lost claims and let all wait.

    Raises ConfigError for a past that is not known, for moments of the future and for other
    arguments; LayoutError for a moment outside the scheme's time; LayoutExhausted if each node
    number has used a part of this time; and the errors of the registry.
    """
    refuse_unknown("history", open_history, unknown)
    request = make_request(
        *(url, scheme),
        namespace=namespace, fields=fields, timeout=timeout, registry=registry,
    )  # fmt: skip
    bounds = {"start=": start, "stop=": stop}
    made = History(
        request,
        *(when if when is None else moment_us(name, when) for name, when in bounds.items()),
    )
    made.claim()
    return made


def declare_past_of(
    url: UrlInput | None = None,
    scheme: str | Scheme = "icicle",
    *,
    namespace: str = "default",
    fields: Mapping[str, int] | None = None,
    start: Moment,
    timeout: Duration = 10,
    registry: Registry | None = None,
    **unknown: Never,
) -> None:
    """Declare the past of a namespace, so that ``history`` may give IDs of it.

    It is a person's word, given once: *no ID of this namespace, made in whatever way, has a moment
    from ``start`` to now, but those of claims that the registry knows.* If that is wrong, IDs will
    repeat. After a loss of claims the past is unknown again; a second declaration then has to be
    true for the IDs of lost claims, and of earlier histories, too. Never let a program say so at
    each start. Arguments and errors are those of ``history``; a ``start`` before the scheme's epoch
    means the epoch. It may wait once, as the first use does.
    """
    refuse_unknown("declare_past", declare_past_of, unknown)
    request = make_request(
        *(url, scheme),
        namespace=namespace, fields=fields, timeout=timeout, registry=registry,
    )  # fmt: skip
    declare(request, moment_us("start=", start))


def moment_us(name: str, moment: Moment) -> int:
    """A moment in µs since 1970. Raises ConfigError for what is none, by the name of the option."""
    if isinstance(moment, datetime):
        return to_us(moment)
    try:
        return epoch_us(moment.isoformat() if isinstance(moment, date) else moment)
    except ConfigError as error:
        raise ConfigError(str(error).replace("epoch", name, 1), **error.facts) from None
