"""Looking into a registry without leaving a trace, for the commands that tell what is there.

The verbs of a registry are steps that write: they count a revision, take a reading of the clock,
and make what is missing. A person who asks "is there anything?" wants none of that. A step that
raises keeps nothing, so a look reads the record inside a step and leaves it by raising; and where
the file of a registry is missing, there is no step at all.
"""

from contextlib import suppress
from dataclasses import dataclass

from frazil.claim import Holding, Seen
from frazil.errors import ConfigError
from frazil.keeper import ask_of
from frazil.registries import connect
from frazil.registries.base import RecordRegistry
from frazil.registries.memory import MemoryRegistry
from frazil.registries.sqlite import SqliteRegistry
from frazil.schemes import Scheme

__all__ = ["Look", "kept", "look"]


class _LeaveError(Exception):
    """Ends a step that shall keep nothing."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a record holds. layout: its text; offset_us: the registry's clock less its store's."""

    layout: str
    offset_us: int
    holdings: tuple[Holding, ...]


def kept(url: str, namespace: str, scheme: Scheme) -> RecordRegistry:
    """The registry at a URL; ConfigError where other processes cannot see what it holds."""
    registry = connect(url, namespace, scheme)
    if isinstance(registry, MemoryRegistry) or not isinstance(registry, RecordRegistry):
        raise ConfigError(
            f"{url} keeps its claims inside each process, so there is nothing here that a command "
            "can see or set up; name a registry that lasts, like sqlite:",
            url=url,
        )
    return registry


def look(registry: RecordRegistry, *, same_terms: bool = False) -> Look | None:
    """The record of the registry's namespace; None if there is none. Nothing is made or changed.

    ``same_terms`` asks that it belongs to the registry's scheme: else ConfigError with both.
    """
    if isinstance(registry, SqliteRegistry) and not registry.path.exists():
        return None
    found: Look | None = None
    with suppress(_LeaveError), registry.step() as (record, incarnation):
        if record.sid:
            if same_terms and record.fingerprint != registry.terms.fingerprint:
                # Any verb refuses a stranger before all else, in words that show both layouts.
                record.grant(registry.terms, ask_of(Seen()), registry.reading_us(), incarnation, 1)
            found = Look(record.layout, record.offset_us, tuple(record.holdings()))
        raise _LeaveError
    return found
