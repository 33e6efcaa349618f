"""What every generator has beside its ways to issue: iteration, text, and an end.

Who asks a server for each ID, a service or a pool, decides how to ask, and how to hang up. That an
ID is the next of an iteration, that it has a text, and that the end of a ``with`` is the end, is
written once: here, and again for those that are awaited. (``Generator`` stands on the walk, which
answers all but its end in C.)
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Self

from frazil.schemes import Scheme

__all__ = ["AsyncIssuing", "Issuing"]


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
        return self.scheme.format(self())

    def __next__(self) -> int:
        return self()

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
        return self.scheme.format(await self())

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
