"""Links to a store, which all registries of a process at one URL share.

A registry is for one namespace, and a process may use hundreds of them. A link holds a connection
and what is known of it. A verb takes a link that no other verb has, and gives it back at its end.
The verbs of generators run in the thread of their store, one after the other, so all of them use
the same link. A verb in another thread at the same time has a second link, which is closed when one
is kept already.

Taking a link and returning it are single operations of a deque. So threads take no lock, and a
signal handler that interrupts a verb gets another link.

The kept link is closed when its last registry is closed, or with the last of them when they are
collected. A child of a fork takes none of its parent's links: they belong to an era of the process
(see ``system.process``).
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet, WeakValueDictionary

from frazil.system.process import ProcessIdentity


class _Link(Protocol):
    def close(self) -> None: ...


AnyLink = TypeVar("AnyLink", bound=_Link)


class _Kept(Generic[AnyLink]):
    """The links that no verb uses, and the registries that may take them."""

    def __init__(self) -> None:
        self.links: deque[AnyLink] = deque()
        self.users: WeakSet[SharedLinks[AnyLink]] = WeakSet()


_kept: WeakValueDictionary[Hashable, _Kept[Any]] = WeakValueDictionary()


class SharedLinks(Generic[AnyLink]):
    """The links of one registry.

    make: makes a link, without a connection. key: what all registries have in common that share
    their links.
    """

    def __init__(self, make: Callable[[], AnyLink], *key: Hashable) -> None:
        self._make = make
        self._key = key
        self._process = ProcessIdentity()
        self._used: _Kept[AnyLink] | None = None

    @contextmanager
    def taken(self) -> Iterator[AnyLink]:
        """A link of this process, which no other verb uses meanwhile."""
        links = self._shared().links
        try:
            link = links.pop()
        except IndexError:
            link = self._make()
        try:
            yield link
        finally:
            if links:
                link.close()
            else:
                links.append(link)

    def close(self) -> None:
        """Release the links until the next verb. Closes them if no other registry uses them."""
        used, self._used = self._used, None
        if used is None or not self._process.intact():
            return
        used.users.discard(self)
        with suppress(IndexError):  # another verb took the last one
            while not used.users:
                used.links.pop().close()

    def _shared(self) -> _Kept[AnyLink]:
        """What the registries of this process share."""
        if self._used is None or not self._process.intact():
            process = ProcessIdentity()
            used = _kept.setdefault((process.era, *self._key), _Kept())
            used.users.add(self)
            # In this order: another thread in a child takes no link of the parent
            self._used, self._process = used, process
        return self._used
