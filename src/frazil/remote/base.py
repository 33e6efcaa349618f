"""What every generator has beside its ways to issue: text, a stream, an end, and one process.

A generator that asks a server for each ID, a service or a pool, decides how to ask, and how to hang
up. That an ID has a text, and that the end of a ``with`` is the end, is written once: here, and
again for those that are awaited. (``Generator`` stands on the walk, which answers all but its end
in C.)

So is what a fork means to those that ask servers (``Served``). What belongs to one process,
connections and IDs fetched in advance, is a ``Life``. A signal handler or another task may fork
while a call gathers IDs; then both processes go on in that call, with what was gathered before. So
every call gathers inside ``_own``, which looks afterwards whether this is still the process that
began. If it is not, the IDs are the parent's, and the call begins again. A text is made of an ID
that was issued already, so ``text`` looks once more, and so does whatever calls it through C.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Generic, Self, TypeVar

from frazil.errors import Closed, ConfigError, FrazilError
from frazil.generator.complaints import closed
from frazil.generator.request import Request
from frazil.inputs.arguments import check_count
from frazil.remote.prefetch import Prefetch
from frazil.schemes.scheme import Scheme
from frazil.system.event_loop import the_loop
from frazil.system.process import ProcessIdentity
from frazil.system.steps import Steps, run, run_async

__all__ = ["AsyncIssuing", "AsyncServed", "Issuing", "Life", "Served"]

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

    def stream(self) -> Iterator[int]:
        """An iterator of IDs without end. Each is asked for when it is wanted."""
        return iter(self.__next__, None)

    def __next__(self) -> int:
        while True:
            identity = ProcessIdentity()
            n = self()
            if identity.mine:
                return n

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
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

    def stream(self) -> AsyncIterator[int]:
        """An asynchronous iterator of IDs without end. Each is asked for when it is wanted."""
        return _AsyncStream(self)

    async def __anext__(self) -> int:
        return await self()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()


class _AsyncStream(AsyncIterator[int]):
    """Goes on after an error, as an asynchronous generator would not."""

    def __init__(self, ids: AsyncIssuing) -> None:
        self._ids = ids

    async def __anext__(self) -> int:
        return await self._ids()


class Life(ABC):
    """What one process has of a generator. prefetch: how many IDs may be fetched in advance."""

    def __init__(self, prefetch: int) -> None:
        self.identity = ProcessIdentity()
        self.prefetch = Prefetch(prefetch, lambda n: run(self.ids(n)))

    @abstractmethod
    def ids(self, count: int) -> Steps[list[int]]:
        """``count`` IDs."""

    @abstractmethod
    def hang_up(self) -> Any:
        """Close the connections."""

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

    def __init__(self, config: Any) -> None:
        self.config: Request = config.request
        self.scheme: Scheme = config.request.scheme
        self._config = config
        self._closed = False
        self._life: LifeT | None = None

    @abstractmethod
    def _begin(self) -> LifeT:
        """A life of this process."""

    def _alive(self) -> LifeT:
        """What this process has; raises Closed."""
        if self._closed:
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
        self._closed = True
        life = self._life
        return life if life is not None and life.goes_on() else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._config,)

    def __repr__(self) -> str:
        config, state = self._config, " closed" * self._closed
        return f"<frazil.{type(self).__name__} {config.namespace!r} at {config.name}{state}>"


class Served(_Living[LifeT], Issuing):
    """Unique IDs that servers make. Threads may share it."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._lives: dict[int, LifeT] = {}

    def __call__(self) -> int:
        """The next ID."""
        if self._config.prefetch:
            n = self._own(lambda life: life.prefetch.next())
            if n is not None:
                return n
        return self.take(1)[0]

    def take(self, n: int) -> list[int]:
        """The next ``n`` IDs. Those of each server are in order."""
        count = check_count(n)
        return self._own(lambda life: run(life.ids(count)))

    def close(self) -> None:
        """Ask for nothing more, and hang up. Twice is no error."""
        life = self._end()
        if life is not None:
            life.prefetch.buffer.clear()
            life.hang_up()

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

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        if config.prefetch:
            raise ConfigError("?prefetch= is for threads; here, await ids.take(n)", url=config.name)

    async def __call__(self) -> int:
        """The next ID."""
        return (await self.take(1))[0]

    async def take(self, n: int) -> list[int]:
        """The next ``n`` IDs. Those of each server are in order."""
        count = check_count(n)
        return await self._own(lambda life: run_async(life.ids(count)))

    async def aclose(self) -> None:
        """Ask for nothing more, and hang up. Twice is no error."""
        life = self._end()
        if life is not None:
            await life.hang_up()

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
