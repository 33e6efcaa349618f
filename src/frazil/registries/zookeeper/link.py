"""The session with a ZooKeeper ensemble, begun on first use and again after each error or fork.

The driver (kazoo) repairs its connection without the caller's knowledge: it reconnects to another
server, resumes the session, and sends what was queued. Then the caller does not know which server
answered, and a request may arrive late. Here a session lasts as long as one connection. When the
connection ends, the session is given up, and the next call begins another. So the facts of a new
session (``start_ms``) are those of the server that answers.

ZooKeeper shows its clock in one place only: each write notes when the leader made it (``mtime``).
So each verb also writes a node of its own, ``clock``, without content. The same answer shows the
*epoch*, which grows with each election of a leader and is 0 for a server without an ensemble.

The registries of all namespaces use the same session (see ``shared_links``). So nothing that is
read of a namespace is kept here, and the root of the tree is read again in each verb. The session
belongs to one process: a forked child has none of the driver's threads, and its copy of the
connection is cut off before anything else runs there.
"""

import encodings.idna  # noqa: F401 - for the name of the host, before another thread needs it
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import quote
from weakref import ref

from frazil.errors import ConfigError, RegistryUnavailable
from frazil.system.extras import needs
from frazil.system.process import ProcessIdentity
from frazil.system.sockets import cut_in_children

with needs("zookeeper: needs kazoo", "zookeeper"):
    from kazoo import exceptions as kazoo_errors
    from kazoo.client import KazooClient, KazooState
    from kazoo.handlers.threading import KazooTimeoutError
    from kazoo.security import make_digest_acl

_ANSWER_S = 4.0
_SESSION_S = 6.0
_LARGE_BYTES = 100_000  # of a node: a server with little memory may close the connection
_NO_RETRY = {"max_tries": 0}
_AWAY = (
    kazoo_errors.ConnectionLoss,
    kazoo_errors.SessionExpiredError,
    kazoo_errors.ConnectionClosedError,
    kazoo_errors.OperationTimeoutError,
    kazoo_errors.NotReadOnlyCallError,
    KazooTimeoutError,
)
_CHANGED = (
    kazoo_errors.BadVersionError,
    kazoo_errors.NodeExistsError,
    kazoo_errors.NoNodeError,
)
_START = (1 << 56) - 1  # the top byte of a session's number is the server's own

# The driver logs each attempt; what matters is in the errors.
_silent = logging.getLogger("frazil.zookeeper")
_silent.setLevel(logging.CRITICAL + 1)


class Conflict(Exception):
    """The node was changed after it was read."""


class Node(NamedTuple):
    """A node as read: data b"" and version -1 if it does not exist."""

    name: str
    data: bytes
    version: int


class State(NamedTuple):
    """Nodes as read, and the ensemble.

    root: the transaction that created the root of all namespaces. epoch: of the leader. start_ms:
    a number that stays the same until the server starts again, except for one session in 65,536.
    now_us: the leader's clock, to the millisecond.
    """

    nodes: list[Node]
    root: int
    epoch: int
    start_ms: int
    now_us: int


class Link:
    """The session. url: as it may be shown. root: the path of the node above all others.

    options: the driver's. user: name and password, if any.
    """

    def __init__(
        self, url: str, root: str, options: dict[str, Any], user: tuple[str, str] | None
    ) -> None:
        self.url = url
        self._clock = f"{root}/clock"
        self._records = f"{root}/record"
        self._options = options
        self._user = user
        self._client: KazooClient | None = None
        self._bytes = 0  # of the node in use
        self._process = ProcessIdentity()

    def read(self, names: Sequence[str], known_bytes: int = 0) -> State:
        """Nodes of a namespace, then the root and the leader's clock, in one round trip.

        known_bytes: the size of the nodes when they were read before.
        """
        self._bytes = known_bytes
        with self._session() as client:
            start_ms = (client.client_id[0] & _START) >> 16
            asked = [client.get_async(self.path(name)) for name in names]
            above = client.exists_async(self._records)
            touched = client.set_async(self._clock, b"")
            nodes = [_node(name, node) for name, node in zip(names, asked, strict=True)]
            self._bytes = sum(len(node.data) for node in nodes)
            root = _answer(above)
            if root is None:
                raise kazoo_errors.NoNodeError
            clock = _answer(touched)
            epoch = clock.last_modified_transaction_id >> 32
            return State(nodes, root.czxid, epoch, start_ms, clock.mtime * 1000)

    def write(self, nodes: Sequence[Node], changed: Mapping[str, bytes]) -> None:
        """Replace or create nodes, if all that were read are as they were. Raises Conflict."""
        self._bytes = sum(map(len, changed.values()))
        with self._session(writing=True) as client:
            step = client.transaction()
            for node in nodes:
                path, data = self.path(node.name), changed.get(node.name)
                if data is None:
                    step.check(path, node.version)
                elif node.version < 0:
                    step.create(path, data, acl=self._acl())
                else:
                    step.set_data(path, data, node.version)
            results = _answer(step.commit_async())
            if any(isinstance(result, _CHANGED) for result in results):
                raise Conflict
            for error in results:
                if isinstance(error, Exception):
                    raise error

    def tell(self, word: bytes) -> str:
        """The server's answer to a command of four letters; "" if it is not allowed."""
        with self._session() as client:
            try:
                return str(client.command(word))
            except OSError:
                return ""

    def open_to_all(self) -> bool:
        """Whether every client may write the nodes."""
        with self._session() as client:
            acls, _ = client.get_acls(self._clock)
            return any(acl.id.scheme == "world" and acl.perms & 2 for acl in acls)

    def close(self) -> None:
        """End the session; in a child, only forget it."""
        client, self._client = self._client, None
        if client is not None and self._process.intact():
            _end(client)

    def forget(self, client: Any) -> None:
        """End a session in a thread of its own, if it is this one."""
        if self._client is client:
            self._client = None
            threading.Thread(target=_end, args=(client,), daemon=True).start()

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        # At the end of the process the driver's threads have stopped, and it waits for them.
        if "_client" in self.__dict__ and not ending():
            self.close()

    @contextmanager
    def _session(self, *, writing: bool = False) -> Iterator[KazooClient]:
        """The session, which is given up after an error."""
        sent = False
        try:
            client = self._client or self._begin()
            sent = writing
            yield client
        except Conflict:
            raise
        except _AWAY as error:
            self.close()
            said = str(error) or type(error).__name__
            raise RegistryUnavailable(
                f"{self.url}: {said}; check that a majority of the ensemble runs and can be "
                f"reached{self._if_large()}",
                url=self.url,
                outcome_known=not sent,
            ) from error
        except kazoo_errors.NoNodeError as error:
            self.close()
            raise RegistryUnavailable(
                f"{self.url}: the nodes of frazil were deleted during a request; try again",
                url=self.url,
                outcome_known=not sent,
            ) from error
        except (kazoo_errors.NoAuthError, kazoo_errors.AuthFailedError) as error:
            self.close()
            raise ConfigError(
                f"{self.url}: {type(error).__name__}; set the right user and password in the URL, "
                "or give this one create, read and write rights on /frazil",
                url=self.url,
            ) from error
        except BaseException:
            self.close()
            raise

    def _if_large(self) -> str:
        """Why a server may end the connection of a large node; "" for a small one."""
        if self._bytes < _LARGE_BYTES:
            return ""
        return (
            f". The node has {self._bytes:,} bytes: if the servers run, read their logs. "
            "OutOfMemoryError: start them with a larger heap (-Xmx, 512 MB or more); Len error: "
            "with a larger jute.maxbuffer (1 MiB by default), or use fewer node numbers"
        )

    def _begin(self) -> KazooClient:
        """Connect, and create the nodes that all namespaces share."""
        client = KazooClient(
            **self._options,
            timeout=_SESSION_S,
            connection_retry=_NO_RETRY,
            command_retry=_NO_RETRY,
            auth_data=[("digest", ":".join(self._user))] if self._user else None,
            default_acl=self._acl(),
            logger=_silent,
        )
        self._client = client
        client.add_listener(_listener(ref(self), client))
        client.start(timeout=_ANSWER_S)
        cut_in_children(client, _Wire(client))
        client.ensure_path(self._records)
        client.ensure_path(self._clock)
        return client

    def path(self, name: str) -> str:
        """Where a node of this name is."""
        quoted = quote(name, safe="")
        return f"{self._records}/{quoted.replace('.', '%2E') if name in ('.', '..') else quoted}"

    def _acl(self) -> Any:
        return [make_digest_acl(*self._user, all=True)] if self._user else None


def _node(name: str, asked: Any) -> Node:
    try:
        data, stat = _answer(asked)
    except kazoo_errors.NoNodeError:
        return Node(name, b"", -1)
    return Node(name, data, stat.version)


def _answer(asked: Any) -> Any:
    """The answer to a request.

    An error of the driver holds its frames, and its result holds the error. So a copy is raised:
    else the session would last until the next garbage collection.
    """
    try:
        return asked.get(timeout=_ANSWER_S)
    except kazoo_errors.KazooException as error:
        error.__traceback__ = None
        raise type(error)(*error.args) from None


def _listener(link: "ref[Link]", client: Any) -> Callable[[str], None]:
    """Gives the session up when its connection ends; called by a thread of the driver.

    The driver's threads must not keep the link alive, whose end ends them.
    """

    def heard(state: str) -> None:
        owner = link()
        if owner is not None and state != KazooState.CONNECTED:
            owner.forget(client)

    return heard


def _end(client: Any) -> None:
    """End a session and the driver's threads, whatever state they are in."""
    with suppress(Exception):
        client.stop()
        client.close()


class _Wire:
    """The socket of a session, whichever it is at the time."""

    def __init__(self, client: KazooClient) -> None:
        self._connection = ref(client._connection)  # noqa: SLF001 - the driver does not show it

    def fileno(self) -> int:
        """The file descriptor of the socket; -1 if there is none."""
        connection = self._connection()
        wire = None if connection is None else connection._socket  # noqa: SLF001
        number: int = -1 if wire is None else wire.fileno()
        return number
