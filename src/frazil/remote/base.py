"""What every generator has beside its ways to issue: iteration, text, an end, and one process.

A generator that asks a server for each ID, a service or a pool, decides how to ask, and how to hang
up. That an ID is the next of an iteration, that it has a text, and that the end of a ``with`` is
the end, is written once: here, and again for those that are awaited. (``Generator`` stands on the
walk, which answers all but its end in C.)

So is what a fork means to those that ask servers (``Served``). What belongs to one process,
connections and IDs fetched in advance, is a ``Life``. A signal handler or another task may fork
while a call gathers IDs; then both processes go on in that call, with what was gathered before. So
every call gathers inside ``_own``, which looks afterwards whether this is still the process that
began. If it is not, the IDs are the parent's, and the call begins again. A text is made of an ID
that was issued already, so ``text`` looks once more, and so does whatever calls it through C.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

from frazil.errors import Closed, FrazilError
from frazil.generator.complaints import closed
from frazil.schemes.scheme import Scheme
from frazil.system.event_loop import the_loop
from frazil.system.process import ProcessIdentity

__all__ = ["AsyncIssuing", "AsyncServed", "Issuing", "Life", "Served", "the_loop"]

Answer = TypeVar("Answer")


class Issuing(ABC):
    """Unique IDs, called for one at a time. ``scheme`` reads and writes them."""

    scheme: Scheme

    @abstractmethod
    def __call__(self) -> int:
        """The next ID."""

    @abstractmethod
    def close(self) -> None:
        """Ask for nothing more, and hang up. Twice is no error."""

    def text(self) -> str:
        """The next ID in the scheme's text form."""
        while True:
            identity = ProcessIdentity()
            text = self.scheme.format(self())
            if identity.mine:
                return text

    def __next__(self) -> int:
        while True:
            identity = ProcessIdentity()
            n = self()
            if identity.mine:
                return n

    def __iter__(self) -> Iterator[int]:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncIssuing(ABC):
    """Unique IDs, awaited one at a time. ``scheme`` reads and writes them."""

    scheme: Scheme

    @abstractmethod
    async def __call__(self) -> int:
        """The next ID."""

    @abstractmethod
    async def aclose(self) -> None:
        """Issue nothing more; give back, or hang up. Twice is no error."""

    async def text(self) -> str:
        """The next ID in the scheme's text form."""
        while True:
            identity = ProcessIdentity()
            text = self.scheme.format(await self())
            if identity.mine:
                return text

    def __aiter__(self) -> AsyncIterator[int]:
        return self

    async def __anext__(self) -> int:
        return await self()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class Life:
    """What one process has of a generator."""

    def __init__(self) -> None:
        self.identity = ProcessIdentity()

    def goes_on(self) -> bool:
        """Whether this is still that process."""
        return self.identity.intact()

    def check(self) -> None:
        """Raise Closed in a child that goes on in a call of its parent's; ``_own`` catches it."""
        if not self.goes_on():
            raise Closed("this connection is the parent's; the child makes its own")


LifeT = TypeVar("LifeT", bound=Life)


class _Living(ABC, Generic[LifeT]):
    """A generator that begins a new life in each child."""

    def __init__(self) -> None:
        self.closed = False
        self._life: LifeT | None = None

    @abstractmethod
    def _begin(self) -> LifeT:
        """A life of this process."""

    def _alive(self) -> LifeT:
        """What this process has; raises Closed."""
        if self.closed:
            raise closed()
        life = self._life
        if life is None or not life.goes_on():
            life = self._life = self._settled(self._begin())
        return life

    def _settled(self, fresh: LifeT) -> LifeT:
        """The life of this process, where several threads may have begun one at a time."""
        return fresh

    def _end(self) -> LifeT | None:
        """Issue nothing more; answers what to hang up, which a parent's connections are not."""
        self.closed = True
        life = self._life
        return life if life is not None and life.goes_on() else None


class Served(_Living[LifeT], Issuing):
    """Unique IDs that servers make. Threads may share it."""

    def __init__(self) -> None:
        super().__init__()
        self._lives: dict[int, LifeT] = {}

    def _settled(self, fresh: LifeT) -> LifeT:
        """The first of them. A parent's is kept too, so that its connections stay open."""
        return self._lives.setdefault(fresh.identity.era, fresh)

    def _own(self, gather: Callable[[LifeT], Answer]) -> Answer:
        """What ``gather`` answers, in the process that called it."""
        while True:
            life = self._alive()
            try:
                found = gather(life)
            except FrazilError:
                if life.goes_on():
                    raise
            else:
                if life.goes_on() and life.identity.mine:
                    return found


class AsyncServed(_Living[LifeT], AsyncIssuing):
    """Unique IDs that servers make. The tasks of one loop at a time may share it."""

    async def _own(self, gather: Callable[[LifeT], Awaitable[Answer]]) -> Answer:
        """What ``gather`` answers, in the process that called it."""
        while True:
            the_loop()
            life = self._alive()
            try:
                found = await gather(life)
            except FrazilError:
                if life.goes_on():
                    raise
            else:
                if life.goes_on() and life.identity.mine:
                    return found
