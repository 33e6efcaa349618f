"""A link for threads."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from typing import Any

from frazil.errors import RegistryUnavailable
from frazil.redis_link.access import Place
from frazil.redis_link.calls import Line, LinkCalls, greeted_until_s
from frazil.system.clock import boot_s
from frazil.system.sockets import cut_in_children, limited
from frazil.system.steps import run


def _greeted(connection: Any) -> None:
    """Do the driver's first exchange on a new connection."""
    connection.wire = connection._sock  # noqa: SLF001
    cut_in_children(connection, connection.wire)
    connection.until_s = greeted_until_s(connection.socket_timeout, connection.until_s)
    with limited(connection.wire, connection.until_s):
        connection.on_connect()


class Link(LinkCalls):
    """A link for threads, which may share it."""

    def call(
        self, key: str, arguments: Sequence[str], again: Sequence[str], within_s: float = inf
    ) -> list[str]:
        """See ``calling``. within_s: the time limit of the call."""
        return run(self.calling(key, arguments, again, boot_s() + within_s))

    def info(self) -> dict[str, str]:
        """Return the lines of ``INFO`` by name."""
        lines = self.told("INFO").decode("utf-8", "replace").splitlines()
        parts = (line.partition(":") for line in lines)
        return {name: value for name, colon, value in parts if colon}

    def told(self, *command: str) -> Any:
        """Return the driver's reply to a command, or None if the server refuses it."""
        (reply,) = run(self.asking([command]))
        return None if isinstance(reply, Exception) else reply

    def wrong_reply(self) -> RegistryUnavailable:
        """See ``distrust``."""
        return run(self.distrust())

    def drop(self) -> None:
        """Close every connection that is not in use."""
        with suppress(IndexError):
            while True:
                self._close(self._idle.pop())

    def _line_to(self, place: Place, limit_s: float) -> Line:
        return Line(self._connection(self._redis.connection, place, limit_s), place, None)

    def _connect(self, line: Line, until_s: float) -> None:
        connection = line.connection
        connection.until_s, connection.redis_connect_func = until_s, _greeted
        connection.connect()

    def _within(self, line: Line, until_s: float, step: Callable[[], Any]) -> Any:
        with limited(line.connection.wire, until_s):
            return step()

    def _ours(self, line: Line) -> bool:
        return line.identity.intact()

    def _readable(self, line: Line) -> Any:
        return line.connection.can_read(timeout=0)

    def _close(self, line: Line) -> None:
        if not line.identity.intact():
            line.connection.pid = -1  # so the driver does not shut down the parent's connection
        line.connection.disconnect()
