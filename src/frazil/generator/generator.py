"""The public types of generators.

Three things make IDs: a walk in this process, a pool of Redis servers (``icicle:``), and a service
(``http:``). Users use each in the same way, so the public types are protocols.

A generator is not a collection, and most libraries read an iterable to its end. A generator has
none, so ``set(ids)`` would never return, and pandas, Polars and Arrow would use all memory. Without
``__iter__`` most of them raise, but ``pd.Series(ids)`` and ``np.array(ids)`` then store the
generator itself, once for all rows. So ``__iter__`` and ``__array__`` raise an error that says what
to write.
"""

from collections.abc import AsyncIterator, Iterator
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NoReturn,
    Protocol,
    Self,
    overload,
    runtime_checkable,
)  # fmt: skip

from frazil.generator.request import Duration, OpenRequest
from frazil.generator.status import Status
from frazil.schemes.scheme import Scheme

if TYPE_CHECKING:
    from uuid import UUID

    import numpy as np
    from numpy.typing import NDArray

    from frazil.generator.order import After, Seen

_ADVICE = (
    "a generator has no end, so it is not a collection of IDs; write ids.take(n) for a list, "
    "ids.array(n) for a column, ids.stream() for a loop"
)


class Endless:
    """Base class of generators."""

    def __iter__(self) -> NoReturn:
        """Raise TypeError."""
        raise TypeError(_ADVICE)

    def __array__(self, *_arguments: Any, **_options: Any) -> NoReturn:
        """Raise TypeError."""
        raise TypeError(_ADVICE)


@runtime_checkable
class Generator(Protocol):
    """Unique IDs: call it for one, or take many at once. Made by ``frazil.open``.

    Threads may share it. A fork, a copy and a pickle of it issue IDs of their own. Each method
    raises PoolExhausted or RegistryUnavailable after the timeout without an ID, and Closed after
    ``close``.
    """

    scheme: Scheme
    """Formats, parses, packs and unpacks its IDs."""

    config: OpenRequest
    """The arguments of ``open``."""

    def __call__(self) -> int:
        """The next ID."""

    def __next__(self) -> int:
        """The next ID."""

    def after(self, *seen: "Seen", trusted: bool = True) -> int:
        """The next ID that is greater than all that were seen: numbers, texts or UUIDs.

        Every later ID of this generator is greater, too. An ID of a host whose clock is ahead makes
        this call wait, and no other, until the store's clock is near it. A number below the next ID
        is only compared. trusted: whether it is an error if one is not an ID of the scheme, or of a
        time so far ahead that no process of the namespace can have made it; pass False for IDs from
        outside, to go on without those. Raises CodecError for them, and ConfigError for a scheme
        whose IDs do not sort by time.
        """

    def take(self, n: int, *, after: "After" = None) -> list[int]:
        """The next ``n`` IDs, in order, in one step. Raises ConfigError for a negative ``n``.

        after: one ID, or several, that all of them exceed; see ``Generator.after``.
        """

    @overload
    def array(
        self, n: int, dtype: Literal["uint64"] = "uint64", *, after: "After" = None
    ) -> "NDArray[np.uint64]": ...

    @overload
    def array(
        self, n: int, dtype: Literal["int64"], *, after: "After" = None
    ) -> "NDArray[np.int64]": ...

    def array(self, n: int, dtype: str = "uint64", *, after: "After" = None) -> "NDArray[Any]":
        """The next ``n`` IDs as a numpy array. after: as in ``take``.

        dtype: ``"uint64"``, or ``"int64"`` for BIGINT columns and for tables whose other integers
        are signed (uint64 beside int64 becomes float64 in pandas, which damages IDs). With
        ``"uint64"``, IDs wider than 64 bits are a structured array with the fields ``hi`` and
        ``lo``. Raises ConfigError for another dtype, for ``"int64"`` if it does not hold every ID
        of the scheme (see ``Scheme.signed_safe``), and if numpy is not installed.
        """

    def text(self, *, after: "After" = None) -> str:
        """The next ID in the scheme's text form. after: as in ``take``."""

    def uuid(self) -> "UUID":
        """The next ID as a UUID. Raises ConfigError if the scheme does not have 128 bits."""

    def stream(self) -> Iterator[int]:
        """IDs without end, each made when it is requested: ``for id in ids.stream(): ...``."""

    def ready(self, timeout: Duration | None = None) -> None:
        """Wait until an ID is available: call it at startup, before users wait for one.

        It gets the first claim, which in a new namespace takes up to 5 s on a server
        (``frazil.init`` waits in advance). With ``icicle:`` and ``http:`` it requests one ID and
        drops it. timeout: a duration; the default is the generator's. Raises as a call does.
        """

    def status(self) -> Status:
        """What it has claimed, how long that lasts, and the state of its store.

        Sends no request and waits for nothing; any thread, task or signal handler may call it.
        """

    def close(self) -> None:
        """Stop issuing, and give back the unused rest of the claim. A second call does nothing."""

    def __enter__(self) -> Self:
        """The generator itself; the end of the ``with`` closes it."""
        return self

    def __exit__(self, *error: object) -> None:
        """See close."""
        self.close()


@runtime_checkable
class AsyncGenerator(Protocol):
    """Unique IDs by ``await``. Made by ``frazil.aio.open``; see ``Generator``."""

    scheme: Scheme
    config: OpenRequest

    async def __call__(self) -> int:
        """The next ID."""

    async def __anext__(self) -> int:
        """The next ID."""

    async def after(self, *seen: "Seen", trusted: bool = True) -> int:
        """The next ID that is greater than all that were seen; see ``Generator.after``."""

    async def take(self, n: int, *, after: "After" = None) -> list[int]:
        """The next ``n`` IDs, in order. after: as in ``Generator.take``."""

    async def text(self, *, after: "After" = None) -> str:
        """The next ID in the scheme's text form."""

    async def uuid(self) -> "UUID":
        """The next ID as a UUID. Raises ConfigError if the scheme does not have 128 bits."""

    def stream(self) -> AsyncIterator[int]:
        """IDs without end, each made when it is requested."""

    async def ready(self, timeout: Duration | None = None) -> None:  # noqa: ASYNC109 - as Generator
        """Wait until an ID is available; see ``Generator.ready``."""

    def status(self) -> Status:
        """See ``Generator.status``. Needs no ``await``."""

    async def aclose(self) -> None:
        """Stop issuing, and give back the unused rest of the claim. A second call does nothing."""

    async def __aenter__(self) -> Self:
        """The generator itself; the end of the ``async with`` closes it."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """See aclose."""
        await self.aclose()
