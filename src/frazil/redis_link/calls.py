"""Script calls on one Redis or Valkey server, or one cluster, without I/O.

The driver's clients retry a command whose answer was lost (redis-py: up to ten times), on any
connection. Here a retry must be the caller's decision, and ``WAIT`` must use the connection whose
writes it confirms. So this module uses the driver's connections and none of its clients:

- A connection is used by one thread at a time, and only in the process that made it (see
  ``process``). After an error it is closed.
- The script is called by its hash. Only a server that does not know it gets the source.
- With ``?replicas=k``, the script, ``WAIT k`` and a second read of the incarnation are sent in one
  packet. With fewer confirmations, or another incarnation, the answer is dropped: the server may
  have been replaced while it answered.
- In a cluster, a reply "moved" or "ask" means that nothing was done, and the call goes to the other
  node. The nodes are read from each new connection, so one of them may be down.

Each new connection is checked once: the server must not evict keys (``allkeys-*``), which would
remove claims that are in use, nor have a second writer.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, TypeVar

from frazil.errors import ConfigError, FrazilError, RegistryUnavailable
from frazil.redis_link.access import Access, Place, Script, driver
from frazil.system.clock import boot_s
from frazil.system.process import ProcessIdentity
from frazil.system.steps import Steps

_HOPS = 3

Answer = TypeVar("Answer")

Command = tuple[str, ...]  # a command and its arguments


@dataclass(slots=True)
class Line:
    """A connection, its server, and the process and the event loop that it belongs to."""

    connection: Any
    place: Place
    loop: Any
    identity: ProcessIdentity = field(default_factory=ProcessIdentity)


class LinkCalls:
    """Calls of a script on one server, or on the node of a cluster that has the key.

    refusal: translates the script's own errors; returns None for others.
    """

    # I/O, which a thread calls and an event loop awaits.
    drop: Callable[[], Any]  # close every connection that is not in use
    _connect: Callable[[Line, float], Any]  # sets connection.until_s, the deadline of the checks
    _within: Callable[[Line, float, Callable[[], Any]], Any]  # do a step until a deadline
    _readable: Callable[[Line], Any]  # whether there is unexpected input, or the end
    _close: Callable[[Line], Any]  # without shutting down a connection of another process
    # Without I/O.
    _line_to: Callable[[Place, float], Line]  # to be connected within so many seconds
    _ours: Callable[[Line], bool]  # whether it belongs to this process and this loop

    def __init__(
        self,
        access: Access,
        script: Script,
        refusal: Callable[[Exception, str], FrazilError | None] = lambda _error, _name: None,
    ) -> None:
        self.access = access
        self.script = script
        self._refusal = refusal
        self._redis = driver()
        self._errors = self._redis.exceptions
        self._places = list(access.places)
        self._place = self._places[0]
        self._idle: deque[Line] = deque()

    def calling(
        self, key: str, arguments: Sequence[str], again: Sequence[str], until_s: float
    ) -> Steps[list[str]]:
        """Return the script's answer, after the confirmations that the access requires.

        The answer begins with a kind, the second argument (a nonce), and the incarnation. again:
        arguments for which the script answers only these three. until_s: the deadline of the call;
        the access limits the time of each server. Raises RegistryUnavailable and ConfigError.
        """
        for how, what in (("EVALSHA", self.script.sha), ("EVAL", self.script.source)):
            commands = self._commands(how, what, key, arguments, again)
            replies = yield from self.asking(commands, until_s)
            if not isinstance(replies[0], self._errors.NoScriptError):
                break
        for reply in replies:
            if isinstance(reply, Exception):
                raise self._explained(reply, sent=reply is not replies[0])
        answer = _texts(replies[0])
        if answer[1:2] != [arguments[1]]:
            raise (yield from self.distrust())
        if self.access.replicas:
            self._confirm(answer, replies[1], _texts(replies[2]))
        return answer

    def asking(self, commands: list[Command], until_s: float = inf) -> Steps[list[Any]]:
        """Return the replies of the node of the first command; error replies are exceptions."""
        for _ in range(_HOPS):
            line = yield from self._line(until_s)
            replies = yield from self._talk(line, commands, until_s)
            self._idle.append(line)
            first = replies[0]
            if not isinstance(first, self._errors.AskError):  # MovedError is a subclass
                break
            there = (first.host or line.place[0], first.port)
            if not isinstance(first, self._errors.MovedError):
                return (yield from self._asking_for_once(commands, there, until_s))
            self._place = there
        return replies

    def distrust(self) -> Steps[RegistryUnavailable]:
        """Return the error for the reply to another command, and close the connections."""
        yield self.drop
        return self.unavailable("the reply belongs to another command; it is safe to try again")

    def _commands(
        self, how: str, what: str, key: str, arguments: Sequence[str], again: Sequence[str]
    ) -> list[Command]:
        """Return the commands of one call: the script, and those that confirm its answer."""
        commands: list[Command] = [(how, what, "1", key, *arguments)]
        if self.access.replicas:
            wait_ms = max(1, int(self.access.timeout_s * 500))
            commands.append(("WAIT", str(self.access.replicas), str(wait_ms)))
            commands.append(("EVALSHA", self.script.sha, "1", key, *again))
        return commands

    def unavailable(self, problem: str, *, known: bool = False) -> RegistryUnavailable:
        """Return the error for a server. known: the server has not executed the command."""
        name = self.access.name
        return RegistryUnavailable(f"{name}: {problem}", url=name, outcome_known=known)

    def refused(self, problem: str) -> ConfigError:
        """Return the error for a server or options that a person must change."""
        return ConfigError(f"{self.access.name}: {problem}", url=self.access.name)

    def _confirm(self, answer: list[str], confirmed: int, second: list[str]) -> None:
        wanted = self.access.replicas
        if confirmed < wanted:
            raise self.unavailable(
                f"{confirmed} of {wanted} replicas confirmed the write in time, so it does not "
                "count; check that they are connected (INFO replication)"
            )
        if second[1:3] != answer[1:3]:
            raise self.unavailable(
                "the server changed its history or its replicas while it answered, so the answer "
                "does not count; it is safe to try again"
            )

    def _asking_for_once(
        self, commands: list[Command], place: Place, until_s: float
    ) -> Steps[list[Any]]:
        """Ask the node that is taking over the key, and stay with the current one."""
        line = yield from self._connected(place, until_s)
        both = [each for command in commands for each in (("ASKING",), command)]
        replies = yield from self._talk(line, both, until_s)
        yield partial(self._close, line)
        return replies[1::2]

    def _talk(self, line: Line, commands: list[Command], until_s: float) -> Steps[list[Any]]:
        until_s = min(boot_s() + self.access.timeout_s * len(commands), until_s)
        return (yield from self._kept(line, self._exchange(line, commands, until_s), sent=True))

    def _exchange(self, line: Line, commands: list[Command], until_s: float) -> Steps[list[Any]]:
        """Send commands in one packet and return the replies; error replies are exceptions."""
        connection = line.connection
        packed = connection.pack_commands(commands)
        send = partial(connection.send_packed_command, packed, check_health=False)
        yield partial(self._within, line, until_s, send)
        replies: list[Any] = []
        for _ in commands:
            try:
                replies.append(
                    (yield partial(self._within, line, until_s, connection.read_response))
                )
            except self._errors.ResponseError as error:
                # Its traceback knows this frame, and so the connection until garbage is collected.
                replies.append(error.with_traceback(None))
        return replies

    def _kept(self, line: Line, steps: Steps[Answer], *, sent: bool) -> Steps[Answer]:
        """Do steps on a connection. If they fail, close it and translate the error."""
        try:
            return (yield from steps)
        except Exception as error:
            yield partial(self._close, line)
            late = isinstance(error, TimeoutError)
            told = self._errors.TimeoutError("no answer") if late else error
            if isinstance(told, self._errors.RedisError):
                raise self._explained(told, sent=sent) from error
            raise

    def _line(self, until_s: float) -> Steps[Line]:
        """Return a connection to the server, or to another node of a cluster if it is down."""
        with suppress(IndexError):
            while True:
                line = self._idle.pop()
                if (yield from self._usable(line)):
                    return line
                yield partial(self._close, line)
        failures: list[RegistryUnavailable] = []
        for place in (self._place, *(each for each in self._places if each != self._place)):
            try:
                line = yield from self._connected(place, until_s)
            except RegistryUnavailable as error:
                failures.append(error)
            else:
                self._place = place
                return line
        raise failures[0]

    def _usable(self, line: Line) -> Steps[bool]:
        """Return whether a connection can be used again."""
        if line.place != self._place or not self._ours(line):
            return False
        try:
            return not (yield partial(self._readable, line))
        except Exception:  # noqa: BLE001 - after any error the connection is closed
            return False

    def _connected(self, place: Place, until_s: float) -> Steps[Line]:
        limit_s = max(min(self.access.timeout_s, until_s - boot_s()), 0.001)  # 0 would not wait
        line = self._line_to(place, limit_s)
        yield from self._kept(line, self._greeting(line, until_s), sent=False)
        return line

    def _greeting(self, line: Line, until_s: float) -> Steps[None]:
        yield partial(self._connect, line, until_s)
        (info,) = yield from self._exchange(line, [("INFO",)], line.connection.until_s)
        if isinstance(info, Exception):
            raise info
        if not isinstance(info, bytes):
            raise (yield from self.distrust())
        yield from self._examine(info, line)

    def _connection(self, kinds: Any, place: Place, limit_s: float) -> Any:
        """Return a connection of the driver."""
        access = self.access
        kind, where = kinds.UnixDomainSocketConnection, dict[str, Any](path=place)
        if not isinstance(place, str):
            kind = kinds.SSLConnection if access.tls else kinds.Connection
            where = {"host": place[0], "port": place[1]}
        # The driver would send its name and version, which requires one more right.
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

    def _examine(self, info: Any, line: Line) -> Steps[None]:
        """Refuse a server that cannot keep claims safely; read the nodes of a cluster."""
        if _line_of(info, "loading") == "1":  # its other lines are not valid yet
            raise self.unavailable("it is still loading its data; try again", known=True)
        policy = _line_of(info, "maxmemory_policy")
        if policy.startswith("allkeys-"):
            raise self.refused(
                f"its maxmemory-policy is {policy}, which may evict claims that are in use; set "
                "noeviction or a volatile- policy, or use another server"
            )
        if _line_of(info, "role") == "active-replica":
            raise self.refused("it has a second writer (active replica); use a server with one")
        clustered = _line_of(info, "cluster_enabled") == "1"
        if self.access.cluster and not clustered:
            raise self.refused("it is not a cluster; leave out ?cluster=1")
        if self.access.cluster is False and clustered:
            raise self.refused(
                "it is a node of a cluster, which is one registry and not several; add ?cluster=1"
            )
        if self.access.durable:
            yield from self._examine_disk(info, line)
        if clustered:
            yield from self._learn_nodes(line)

    def _examine_disk(self, info: Any, line: Line) -> Steps[None]:
        if _line_of(info, "aof_enabled") != "1":
            raise self.refused("?durable=1, but it has no append-only file; set appendonly yes")
        told = yield from self._question(line, "CONFIG", "GET", "appendfsync")
        if told and told[1:] != [b"always"]:  # refused: the URL is trusted
            raise self.refused(
                "?durable=1, but it answers before it writes; set appendfsync always"
            )

    def _learn_nodes(self, line: Line) -> Steps[None]:
        slots = yield from self._question(line, "CLUSTER", "SLOTS")
        for _, _, *nodes in slots or ():  # refused: only the URL's nodes are known
            for host, port, *_ in nodes:
                place = (host.decode() if host else self._place[0], int(port))
                if place not in self._places:
                    self._places.append(place)

    def _question(self, line: Line, *command: str) -> Steps[Any]:
        """Return the reply of a new connection's server, or None if it refuses."""
        (reply,) = yield from self._exchange(line, [command], line.connection.until_s)
        return None if isinstance(reply, Exception) else reply

    def _explained(self, error: Exception, *, sent: bool) -> FrazilError:
        name = self.access.name
        return self._refusal(error, name) or explained(self._redis, error, name, sent=sent)


def _line_of(info: bytes, name: str) -> str:
    """Return the value of one line of INFO, or "". The other lines are not parsed."""
    _, found, rest = info.partition(f"\n{name}:".encode())
    return rest.partition(b"\r")[0].decode("utf-8", "replace") if found else ""


def greeted_until_s(timeout_s: float, until_s: float) -> float:
    """Return the deadline of a connection's checks. Half the time is for another server."""
    now_s = boot_s()
    return min(now_s + 3 * timeout_s, (now_s + until_s) / 2)


def _texts(reply: Any) -> list[str]:
    """Return a script's answer as texts; an empty list if it is not an answer of the script."""
    if isinstance(reply, list) and all(isinstance(part, bytes) for part in reply):
        return [part.decode() for part in reply]
    return []


_RIGHTS = (
    "this user lacks a right; it needs +eval +evalsha +info +time +hmget +hset (+wait with "
    "?replicas=, +hgetall for `frazil claims`) on the keys frazil:*"
)
# By classes of the driver and codes in the text: the next step of each error.
_PERMANENT = {
    "NoPermissionError|ACL failure in script|can't run this command": _RIGHTS,
    "AuthenticationError|AuthenticationWrongNumberOfArgsError|NOAUTH": "it requires another user "
    "or password; write them as redis://USER:PASSWORD@host",
    "WRONGTYPE": "the key of this namespace, frazil:{namespace}, holds other data; choose another "
    "namespace",
    "FRAZIL user_script": "the data under the key of this namespace, frazil:{namespace}, are "
    "damaged; DEL the key: layouts with time then wait one horizon, and counters need frazil init "
    "URL --start N",
    "DB index is out of range": "it has no database with this number; the URL's path is "
    "redis://host/NUMBER",
    "DENIED": "it accepts no connections from other hosts; change its protected mode or bind",
}
_TEMPORARY = {
    "ReadOnlyError|READONLY": "it is a read-only replica; point the URL at the primary",
    "OutOfMemoryError|OOM ": "its memory is full; raise maxmemory or delete data",
    "MISCONF": "it cannot write to its disk; free some space or see its log",
    "NOREPLICAS": "too few replicas are connected to it; connect them, or lower its "
    "min-replicas-to-write",
    "BusyLoadingError|LOADING": "it is still loading its data; try again",
    "BUSY ": "another script is running on it; try again",
    "ClusterDownError|MasterDownError|TryAgainError|AskError|CLUSTERDOWN": "the cluster is failing "
    "over or moving slots; try again",
    "NoScriptError|NOSCRIPT": "it lost the script between two commands; try again",
    "max number of clients": "it has too many clients; raise its maxclients",
    "TimeoutError": "no answer in time; check that it runs, or raise ?timeout=",
    "ConnectionError": "no connection; check that it runs and can be reached",
}


def explained(redis: Any, error: Exception, name: str, *, sent: bool) -> FrazilError:
    """Return a driver's error as an error of frazil, with the next step.

    redis: the driver. name: the server in messages. sent: whether the server may have executed the
    command. After an error reply it has not.
    """
    text = str(error)
    told = " ".join([*(kind.__name__ for kind in type(error).__mro__), text])

    def matches(signs: str) -> bool:
        return any(sign in told for sign in signs.split("|"))

    for signs in filter(matches, _PERMANENT):
        return ConfigError(f"{name}: {_PERMANENT[signs]} ({text})", url=name)
    known = not sent or isinstance(error, redis.exceptions.ResponseError)
    for signs in filter(matches, _TEMPORARY):
        advice = f"{name}: {_TEMPORARY[signs]} ({text})"
        return RegistryUnavailable(advice, url=name, outcome_known=known)
    return ConfigError(f"{name}: it answered with an error: {text}", url=name)
