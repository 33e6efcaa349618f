"""The interface of a store under test: its registries, and ways to harm it.

A contract test that starts its own server can test only that server. One that receives a finished
registry cannot make it lose data. So the kit needs a ``Store`` with one method, which returns a new
registry for a scheme and a namespace. Everything else is an optional *ability*, a separate
protocol: losing state, restoring an older copy, stepping the clock, restarting, failing
connections. The kit checks for abilities with ``isinstance``, and reports why a check did not
apply.

An ability acts on the real store from outside: ``FLUSHALL``, a dropped table, a restored file, a
``kill -9``, a proxy that drops replies. It may affect all namespaces; each check has its own, and
checks run one at a time.

Units: ``_us`` are microseconds.
"""

from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from frazil import Scheme
from frazil.registries.base import Registry


class Store(Protocol):
    """A store, reached through the registry under test. Only this method is required.

        class Ours:
            def registry(self, scheme, namespace):
                return OurRegistry("ours://127.0.0.1:1234?horizon=300ms", namespace, scheme)

        frazil_conformance.check_registry(Ours())

    A short horizon makes a short test: several checks wait for one or two horizons.
    """

    def registry(self, scheme: Scheme, namespace: str) -> Registry:
        """Return a new registry object with its own connection; it does not connect yet.

        The kit creates several for a namespace, which must share one record, and uses each from one
        thread at a time. Each namespace name is used once.
        """


@runtime_checkable
class Forgets(Protocol):
    """A store whose state can be lost."""

    def forget(self, namespace: str) -> None:
        """Lose all data of the namespace, as a flush or a dropped table would."""


@runtime_checkable
class Rewinds(Protocol):
    """A store whose state can be restored from an older copy."""

    rewind_shows: bool
    """Whether the store's incarnation shows it, as after a server restart. If it does not, members
    that remember more must be the first to return, and the kit ensures that."""

    def copy(self, namespace: str) -> Any:
        """Copy the current data, for ``rewind``."""

    def rewind(self, namespace: str, copy: Any) -> None:
        """Restore the copy."""


@runtime_checkable
class StepsClock(Protocol):
    """A store with a clock that can be stepped."""

    def step_clock(self, us: int) -> None:
        """Step the store's clock, not the members', forward or, if negative, back."""


@runtime_checkable
class Restarts(Protocol):
    """A store that can be restarted and keeps all acknowledged data."""

    def restart(self) -> None:
        """Kill it and start it again; return when it answers."""


@runtime_checkable
class Wire(Protocol):
    """A store with a connection that can fail."""

    def losing_replies(self) -> AbstractContextManager[object]:
        """In this context the store acts on every request, and all replies are lost."""

    def repeating_requests(self) -> AbstractContextManager[object]:
        """In this context every request reaches the store twice, and one reply returns."""


@runtime_checkable
class Partitioned(Protocol):
    """A registry over independent stores, each with its own record and share of the slots."""

    parts: int
    """The number of stores. Checks about one record (which slot is given, whether a write counts)
    must be run on one of them separately."""


@runtime_checkable
class OwnTime(Protocol):
    """A store with its own time, such as simulated time, which members and kit then use too."""

    def wall_us(self) -> int:
        """The members' wall clock in microseconds since 1970."""

    def sleep_us(self, us: int) -> None:
        """Let time pass."""
