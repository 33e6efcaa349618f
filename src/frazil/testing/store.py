"""What the conformance kit must be given: registries of one store, and ways to do the store harm.

A contract test that starts its own server can only test that server. One that is handed a finished
registry cannot make it forget. So the kit asks for a ``Store``: one method, which answers a new
registry for a scheme and a namespace. Everything else is an *ability*, a protocol of its own that a
store may have besides: to lose its state, to go back to an older copy, to have its clock stepped,
to be restarted, to be reached over a wire that fails. The kit looks with ``isinstance`` which there
are, and says of each check that it could not make why not.

An ability acts on the real store, from outside: ``FLUSHALL``, a dropped table, a file put back, a
``kill -9``, a proxy that swallows replies. It may act on all namespaces; each check has one of its
own, and checks run one at a time.

Units: ``_us`` are microseconds.
"""

from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from frazil.registries.base import Registry
from frazil.schemes.scheme import Scheme

__all__ = ["Forgets", "OwnTime", "Restarts", "Rewinds", "Several", "StepsClock", "Store", "Wire"]


class Store(Protocol):
    """One store, reached through the registry under test. Nothing but this is required.

        class Ours:
            def registry(self, scheme, namespace):
                return OurRegistry("ours://127.0.0.1:1234?horizon=300ms", namespace, scheme)

        frazil.testing.check_registry(Ours())

    A short horizon makes a short test: several checks wait for one or two of them.
    """

    def registry(self, scheme: Scheme, namespace: str) -> Registry:
        """A new registry object with a connection of its own; nothing is contacted yet.

        The kit makes several for one namespace, which must see one record, and uses each from one
        thread at a time. It names each namespace once.
        """


@runtime_checkable
class Forgets(Protocol):
    """A store whose state can be lost."""

    def forget(self, namespace: str) -> None:
        """Lose everything that is kept for the namespace, as a flush or a dropped table would."""


@runtime_checkable
class Rewinds(Protocol):
    """A store whose state can be put back to an older copy."""

    rewind_shows: bool
    """Whether the store's incarnation tells of it, as that of a restarted server does. Where it
    does not, members who remember more must be the first to come, and the kit lets them."""

    def copy(self, namespace: str) -> Any:
        """A copy of what is kept now, for ``rewind``."""

    def rewind(self, namespace: str, copy: Any) -> None:
        """Put the copy back in the place of what is kept now."""


@runtime_checkable
class StepsClock(Protocol):
    """A store with a clock that can be stepped."""

    def step_clock(self, us: int) -> None:
        """Step the store's clock (not the members') by so much, forward or, below 0, back."""


@runtime_checkable
class Restarts(Protocol):
    """A store that can be restarted and keeps what it acknowledged."""

    def restart(self) -> None:
        """Stop it the hard way and start it again; return when it answers."""


@runtime_checkable
class Wire(Protocol):
    """A store that is reached over something that can fail."""

    def losing_replies(self) -> AbstractContextManager[object]:
        """While it lasts, the store acts on every request and no reply comes back."""

    def repeating_requests(self) -> AbstractContextManager[object]:
        """While it lasts, every request reaches the store twice, and one reply comes back."""


@runtime_checkable
class Several(Protocol):
    """A registry over independent stores, each with a record and a share of the slots."""

    parts: int
    """How many they are. What is about one record (which slot of all is given, whether a write was
    counted) is to be checked on one of them by itself."""


@runtime_checkable
class OwnTime(Protocol):
    """A store in a time of its own, a simulated one say; members and kit then live in it too."""

    def wall_us(self) -> int:
        """What the members' wall clocks say, in microseconds since 1970."""

    def sleep_us(self, us: int) -> None:
        """Let so much time pass."""
