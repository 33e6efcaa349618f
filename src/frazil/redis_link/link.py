"""A line to one Redis or Valkey server, or to one cluster of them: a script in, its answer out.

A client made for caches does much unasked: it takes whichever connection is free, repeats a command
whose answer was lost (redis-py: up to ten times), and goes elsewhere in between. Here a second try
must be the caller's decision, and ``WAIT`` must be said on the very connection whose writes it is
about. So this uses the driver's connections, one by one, and none of its clients:

- A connection is used by one thread at a time, and only in the process that made it (see
  ``machine``). After anything but a plain answer it is closed.
- The script is called by its hash. Only a server that says that it does not know it is sent the
  source.
- ``?replicas=k``: the script, ``WAIT k`` and a second reading of the incarnation go out in one
  packet. With fewer confirmations, or another incarnation, the answer is thrown away: the server
  may have been replaced while it answered.
- In a cluster an answer "moved" or "ask" means that nothing was done; it is asked again there. The
  nodes are learned when connecting, so that one of them may be away.

What a server must be is looked at once per connection: no ``allkeys-*`` eviction (it would forget
claims that are in use), no second writer beside it.
"""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Any

from frazil.errors import ConfigError, FrazilError, RegistryUnavailable
from frazil.redis_link.errors import explained
from frazil.system.extras import missing_extra
from frazil.system.process import ProcessIdentity

__all__ = ["Access", "Command", "Line", "Link", "Place", "Script", "driver", "texts"]

_HOPS = 3

Place = tuple[str, int] | str
"""Where a server listens: host and port, or the path of a socket."""

Command = tuple[str, ...]
"""A command and its arguments."""


def driver() -> Any:
    """The redis package; ConfigError where it is not installed.

    What its first connection loads comes with it: a fork beside a thread that imports leaves the
    child with an import that never ends, so nothing is imported where a thread may be at work.
    """
    import encodings.idna  # noqa: F401 - for the name of the host

    try:
        import redis
        import redis.connection
        import redis.exceptions
    except ImportError as error:
        raise missing_extra("redis: needs redis-py", "redis", error) from None
    return redis


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script: its source, and the SHA-1 by which a server knows it."""

    source: str
    sha: str


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a server. name: for messages. options: the driver's, for any place.

    places: of the one server, or of nodes of the one cluster. replicas: how many must confirm.
    durable: whether it must have each write on disk before its answer. cluster: True if it must be
    one, False if it must not, None if either will do.
    """

    name: str
    places: tuple[Place, ...]
    tls: bool = False
    timeout_s: float = 2.0
    replicas: int = 0
    durable: bool = False
    cluster: bool | None = None
    options: dict[str, Any] = field(default_factory=dict, repr=False)


class _Wire:
    """A socket on which an answer must be over at ``until_s``, however slowly its bytes come."""

    def __init__(self, plain: Any, until_s: float) -> None:
        self._plain, self._usual_s, self.until_s = plain, plain.gettimeout(), until_s
        self._hurry_s = self._usual_s * 0.98  # with less time left the system is told, each time
        self.fileno, self.sendall = plain.fileno, plain.sendall  # asked for in every call
        self.pending = getattr(plain, "pending", int)

    def __getattr__(self, name: str) -> Any:
        if name == "recv":  # of the driver's parser where hiredis is not installed
            self._limit()
        return getattr(self._plain, name)

    def recv_into(self, buffer: Any) -> Any:
        self._limit()
        return self._plain.recv_into(buffer)

    def settimeout(self, limit_s: float) -> None:
        self._hurry_s = inf if limit_s else -inf  # the driver looks, and does not wait, with 0
        self._plain.settimeout(limit_s)

    def _limit(self) -> None:
        left_s = self.until_s - monotonic()
        if left_s < self._hurry_s:
            if left_s <= 0:
                raise TimeoutError("the time is over")
            self.settimeout(min(left_s, self._usual_s))


def _on_a_wire(connection: Any) -> None:
    """What the driver does with a new connection, on a ``_Wire``: a few questions and answers."""
    now_s = monotonic()  # half of the time stays for another server
    until_s = min(now_s + 3 * connection.socket_timeout, (now_s + connection.until_s) / 2)
    connection._sock = connection.wire = _Wire(connection._sock, until_s)  # noqa: SLF001
    connection.on_connect()


@dataclass(slots=True)
class Line:
    """An open connection, where it leads, and the process that it belongs to."""

    connection: Any
    place: Place
    identity: ProcessIdentity

    def usable(self, place: Place) -> bool:
        """Whether nothing speaks against using it once more, for that place."""
        if not self.identity.intact():
            self.connection.pid = -1  # not ours: the driver must not shut down the parent's line
            return False
        try:
            return self.place == place and not self.connection.can_read(timeout=0)
        except Exception:  # noqa: BLE001 - whatever it is, this connection is done
            return False


class Link:
    """Calls a script on one server, or on the node of a cluster that has its key."""

    def __init__(self, access: Access, script: Script) -> None:
        self.access = access
        self.script = script
        self._redis = driver()
        self._errors = self._redis.exceptions
        self._kinds = self._redis.connection
        self._places = list(access.places)
        self._place = self._places[0]
        self._idle: deque[Line] = deque()

    def call(
        self, key: str, arguments: Sequence[str], again: Sequence[str], within_s: float = inf
    ) -> list[str]:
        """The script's answer, once it is confirmed as the access asks.

        It must begin with a kind, the second of the arguments (a nonce), and the incarnation.
        again: arguments for which the script answers just these three. within_s: how long the
        call may take; each server has no longer than the access allows. Raises
        RegistryUnavailable and ConfigError.
        """
        until_s = monotonic() + within_s
        for how, what in (("EVALSHA", self.script.sha), ("EVAL", self.script.source)):
            replies = self._ask(self.commands(how, what, key, arguments, again), until_s)
            if not isinstance(replies[0], self._errors.NoScriptError):
                break
        return self.answer(replies, arguments)

    def commands(
        self, how: str, what: str, key: str, arguments: Sequence[str], again: Sequence[str]
    ) -> list[Command]:
        """What is said for one call: the script, and what confirms its answer."""
        commands: list[Command] = [(how, what, "1", key, *arguments)]
        if self.access.replicas:
            wait_ms = max(1, int(self.access.timeout_s * 500))
            commands.append(("WAIT", str(self.access.replicas), str(wait_ms)))
            commands.append(("EVALSHA", self.script.sha, "1", key, *again))
        return commands

    def answer(self, replies: list[Any], arguments: Sequence[str]) -> list[str]:
        """The script's answer out of what a server replied, if it counts; else raises why not."""
        for reply in replies:
            if isinstance(reply, Exception):
                raise self._explained(reply, sent=reply is not replies[0])
        answer = texts(replies[0])
        if answer[1:2] != [arguments[1]]:
            raise self.wrong_reply()
        if self.access.replicas:
            self._confirm(answer, replies[1], texts(replies[2]))
        return answer

    def info(self) -> dict[str, str]:
        """What the server tells of itself (``INFO``), by name."""
        lines = self.told("INFO").decode("utf-8", "replace").splitlines()
        parts = (line.partition(":") for line in lines)
        return {name: value for name, colon, value in parts if colon}

    def told(self, *command: str) -> Any:
        """What the server answers to a question, as the driver has it; None if it refuses it."""
        (reply,) = self._ask([command])
        return None if isinstance(reply, Exception) else reply

    def drop(self) -> None:
        """Close every connection that is not in use."""
        with suppress(IndexError):
            while True:
                self._idle.pop().connection.disconnect()

    def wrong_reply(self) -> RegistryUnavailable:
        """The error for an answer to another question than the one asked; drops the lines."""
        self.drop()
        return self.unavailable("the answer was to another question; it is safe to try again")

    def unavailable(self, problem: str, *, known: bool = False) -> RegistryUnavailable:
        """The error for a server that may or, if known, has not done what was asked."""
        name = self.access.name
        return RegistryUnavailable(f"{name}: {problem}", url=name, outcome_known=known)

    def refused(self, problem: str) -> ConfigError:
        """The error for a server, or for options, that somebody has to change."""
        return ConfigError(f"{self.access.name}: {problem}", url=self.access.name)

    def _confirm(self, answer: list[str], confirmed: int, second: list[str]) -> None:
        wanted = self.access.replicas
        if confirmed < wanted:
            raise self.unavailable(
                f"{confirmed} of {wanted} replicas confirmed the write in time, so it does not "
                "count; see that they are connected (INFO replication)"
            )
        if second[1:3] != answer[1:3]:
            raise self.unavailable(
                "the server changed its history or its replicas while it answered, so the answer "
                "does not count; it is safe to try again"
            )

    def _ask(self, commands: list[Command], until_s: float = inf) -> list[Any]:
        """The answers of the node that the first command is for; error answers as exceptions."""
        for _ in range(_HOPS):
            line = self._line(until_s)
            replies = self._talk(line, commands, until_s)
            self._idle.append(line)
            first = replies[0]
            if not isinstance(first, self._errors.AskError):  # MovedError is one too
                break
            there = (first.host or line.place[0], first.port)
            if not isinstance(first, self._errors.MovedError):
                return self._ask_for_once(commands, there, until_s)
            self._place = there
        return replies

    def _ask_for_once(self, commands: list[Command], place: Place, until_s: float) -> list[Any]:
        """Ask a node that is about to take the key over, without taking it for its home."""
        line = self._connected(place, until_s)
        both = [each for command in commands for each in (("ASKING",), command)]
        try:
            return self._talk(line, both, until_s)[1::2]
        finally:
            line.connection.disconnect()

    def _talk(self, line: Line, commands: list[Command], until_s: float) -> list[Any]:
        connection = line.connection
        replies: list[Any] = []
        try:
            limit_s = self.access.timeout_s * len(commands)
            connection.wire.until_s = min(monotonic() + limit_s, until_s)
            connection.send_packed_command(connection.pack_commands(commands), check_health=False)
            for _ in commands:
                try:
                    replies.append(connection.read_response())
                except self._errors.ResponseError as error:
                    replies.append(error)
        except BaseException as error:
            connection.disconnect()
            if isinstance(error, self._errors.RedisError):
                raise self._explained(error, sent=True) from error
            raise
        return replies

    def _line(self, until_s: float) -> Line:
        """A connection to the server; in a cluster, to another node where that one is away."""
        with suppress(IndexError):
            while True:
                line = self._idle.pop()
                if line.usable(self._place):
                    return line
                line.connection.disconnect()
        failures: list[RegistryUnavailable] = []
        for place in (self._place, *(each for each in self._places if each != self._place)):
            try:
                line = self._connected(place, until_s)
            except RegistryUnavailable as error:
                failures.append(error)
            else:
                self._place = place
                return line
        raise failures[0]

    def _connected(self, place: Place, until_s: float) -> Line:
        limit_s = max(min(self.access.timeout_s, until_s - monotonic()), 0.001)  # 0 would not wait
        connection = self._connection(place, limit_s)
        connection.until_s, connection.redis_connect_func = until_s, _on_a_wire
        try:
            connection.connect()
            connection.send_command("INFO", check_health=False)
            self._examine(connection.read_response(), connection)
        except BaseException as error:
            connection.disconnect()
            if isinstance(error, self._errors.RedisError):
                raise self._explained(error, sent=False) from error
            raise
        return Line(connection, place, ProcessIdentity())

    def _connection(self, place: Place, limit_s: float) -> Any:
        kinds, access = self._kinds, self.access
        kind, where = kinds.UnixDomainSocketConnection, dict[str, Any](path=place)
        if not isinstance(place, str):
            kind = kinds.SSLConnection if access.tls else kinds.Connection
            where = {"host": place[0], "port": place[1]}
        # The driver would sign in with its name and version, for which a user needs one more right.
        newer = hasattr(self._redis, "DriverInfo")
        unsigned = {"driver_info": None} if newer else {"lib_name": None, "lib_version": None}
        return kind(
            **where,
            **access.options,
            **unsigned,
            socket_timeout=access.timeout_s,
            socket_connect_timeout=limit_s,
            protocol=2,
        )

    def _examine(self, info: Any, connection: Any) -> None:
        """Refuse a server that cannot keep claims as asked; learn a cluster's nodes."""
        if _told(info, "loading") == "1":  # what else it says of itself is not true yet
            raise self.unavailable("it is still reading its data", known=True)
        policy = _told(info, "maxmemory_policy")
        if policy.startswith("allkeys-"):
            raise self.refused(
                f"its maxmemory-policy is {policy}, which may evict claims that are in use; set "
                "noeviction or a volatile- policy, or use another server"
            )
        if _told(info, "role") == "active-replica":
            raise self.refused("it has a second writer (active replica); use a server with one")
        clustered = _told(info, "cluster_enabled") == "1"
        if self.access.cluster and not clustered:
            raise self.refused("it is no cluster; leave out ?cluster=1")
        if self.access.cluster is False and clustered:
            raise self.refused(
                "it is a node of a cluster, which is one registry and not several; add ?cluster=1"
            )
        if self.access.durable:
            self._examine_disk(info, connection)
        if clustered:
            self._learn_nodes(connection)

    def _examine_disk(self, info: Any, connection: Any) -> None:
        if _told(info, "aof_enabled") != "1":
            raise self.refused("?durable=1, but it keeps no log of its writes; set appendonly yes")
        connection.send_command("CONFIG", "GET", "appendfsync", check_health=False)
        with suppress(self._errors.ResponseError):  # may not look: the URL's word is taken for it
            told = connection.read_response()[1:]
            if told != [b"always"]:
                raise self.refused(
                    "?durable=1, but it answers before it writes; set appendfsync always"
                )

    def _learn_nodes(self, connection: Any) -> None:
        connection.send_command("CLUSTER", "SLOTS", check_health=False)
        with suppress(self._errors.ResponseError):  # may not look: the URL's nodes are all
            for _, _, *nodes in connection.read_response():
                for host, port, *_ in nodes:
                    place = (host.decode() if host else self._place[0], int(port))
                    if place not in self._places:
                        self._places.append(place)

    def _explained(self, error: Exception, *, sent: bool) -> FrazilError:
        return explained(self._redis, error, self.access.name, sent=sent)


def _told(info: bytes, name: str) -> str:
    """What one line of INFO says, "" where there is none; the rest, hundreds, is not looked at."""
    _, found, rest = info.partition(f"\n{name}:".encode())
    return rest.partition(b"\r")[0].decode("utf-8", "replace") if found else ""


def texts(reply: Any) -> list[str]:
    """A script's answer as texts; none if it is nothing that the script answers."""
    if isinstance(reply, list) and all(isinstance(part, bytes) for part in reply):
        return [part.decode() for part in reply]
    return []
