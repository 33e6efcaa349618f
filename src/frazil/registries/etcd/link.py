"""The connection to an etcd cluster: one endpoint at a time, the next one if it does not answer.

The common failures of a cluster look alike: an endpoint is down, frozen, cut off from its peers, or
has no leader for a second. In each case the next endpoint is tried, after at most two seconds, and
used as long as it answers. Only the caller knows whether a request may be sent twice. So a request
is sent once, ``Unanswered`` says whether it may have arrived, and the next request goes to the next
endpoint.

An answer counts if it is complete in time and has the expected form. urllib3's time limit applies
to each read, so one deadline limits a whole answer (see ``frazil.system.sockets``). A proxy
may repeat an answer or confuse two. An answer to another question is discarded, and its connection
is closed.

Errors that every endpoint would return (wrong password, no permission, a full disk) are raised at
once. The only state is an open connection and, with a user, its token, which is renewed once when
etcd rejects it. The registries of all namespaces use the same connection (see ``shared_links``). In
a forked child the copy of its parent's connection is cut off.

**A cluster restored from a snapshot** keeps all its ids. But its members are new processes, and its
raft log starts again. So after the first answer with the record of a namespace over a new
connection, the link requests the log's index from the same member, and passes it on with the answer
(``raft_index``). It does so *after* the answer, when the index cannot be behind the answer's
contents. While the connection lasts, this is done once for each namespace, because each has another
record.
"""

import encodings.idna  # noqa: F401 - for the name of the host, before another thread needs it
import json
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from frazil.errors import ConfigError, RegistryUnavailable
from frazil.system.clock import boot_ns, boot_s, to_us
from frazil.system.extras import needs
from frazil.system.sockets import cut_in_children, limited

with needs("etcd: needs urllib3", "etcd"):
    import urllib3
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.exceptions import (
        ConnectTimeoutError,
        HTTPError,
        NewConnectionError,
        ReadTimeoutError,
    )

if TYPE_CHECKING:
    from ssl import SSLContext

TRANSACTION = "kv/txn"  # the path of the requests that read and write records
DATE_WITHIN_US = 500_000
"""The precision of etcd's date, which is in whole seconds: half a second is added to it."""

_TIMEOUT_S = 2.0
_CONNECT_S = 1.5  # less, so it is known that nothing was sent
_PATH = "/v3/"  # since etcd 3.4
_NO_TOKEN, _FULL = 16, 8  # gRPC's codes
_REFUSALS = {  # by code and a word of the text: every endpoint would return the same
    (3, "invalid user"): "set the right user and password in the URL",
    (3, "user name is empty"): "this cluster requires a user: etcd://user:password@host",
    (3, "too large"): "too many node numbers are in use; raise --max-request-bytes",
    (5, ""): "use etcd 3.4 or newer, with its JSON gateway (--enable-grpc-gateway)",
    (7, ""): "run: etcdctl role grant-permission ROLE readwrite --prefix=true frazil/",
    (9, "not enabled"): "remove the user from the URL, or run: etcdctl auth enable",
    (12, ""): "use etcd 3.4 or newer",
    (16, ""): "set a user and password in the URL",
}


_numbers = count(1)
_OTHER_FORM = (AttributeError, IndexError, KeyError, TypeError, ValueError)
_RUNS = "check that a majority of the cluster runs and can be reached"

Meaning = TypeVar("Meaning")


class _Wire:
    """The connection of a link that was made last. number: changes with each connection."""

    def __init__(self) -> None:
        self.number = 0
        self._socket: Any = None

    def connected(self, made: Any) -> None:
        cut_in_children(self, made)
        self.number, self._socket = next(_numbers), made

    def fileno(self) -> int:
        return -1 if self._socket is None else int(self._socket.fileno())


class _Connection(HTTPConnection):
    """A connection that its link knows: urllib3 reconnects silently."""

    def __init__(self, wire: _Wire, *place: Any, **options: Any) -> None:
        super().__init__(*place, **options)
        self._wire = wire

    def connect(self) -> None:
        super().connect()
        self._wire.connected(self.sock)


class _TlsConnection(_Connection, HTTPSConnection):
    """The same, with TLS."""


class _RefusedError(Exception):
    """An endpoint's reply that is an error. code: gRPC's, 0 if there is none."""

    def __init__(self, text: str) -> None:
        try:
            answer = json.loads(text)
            self.code, said = int(answer["code"]), str(answer.get("error") or answer["message"])
        except (ValueError, KeyError, TypeError):
            self.code, said = 5 if text.startswith("404") else 0, text.strip()
        super().__init__(said)


class Unanswered(Exception):
    """An endpoint gave no usable answer. sent: whether the request may have arrived."""

    def __init__(self, said: str, *, sent: bool, advice: str = _RUNS) -> None:
        super().__init__(said)
        self.sent = sent
        self.advice = advice


class Date:
    """The clock of the endpoint that answered last, to the second."""

    def __init__(self) -> None:
        self._heard = 0, 0

    def now_us(self) -> int:
        """Its reading now; 0 if no endpoint has answered."""
        told_us, at_ns = self._heard
        return told_us + (boot_ns() - at_ns) // 1000 if told_us else 0

    def hear(self, date: str | None) -> None:
        """Note the clock of an answer, by its header."""
        if date:
            self._heard = to_us(parsedate_to_datetime(date)) + DATE_WITHIN_US, boot_ns()


class Link:
    """The endpoints of a cluster.

    url: as it may be shown. tls: None for connections without it. user: name and password, if any.
    date: the clock of the endpoint in use. connection: a number that changes with the connection.
    """

    def __init__(
        self,
        url: str,
        endpoints: list[tuple[str, int]],
        tls: "SSLContext | None",
        user: tuple[str, str] | None,
    ) -> None:
        self.url = url
        self._endpoints = list(endpoints)
        self._tls = tls
        self._user = user
        self._pool: HTTPConnectionPool | None = None
        self._headers = {"Content-Type": "application/json"}
        self.date = Date()
        self._wire = _Wire()

    @property
    def connection(self) -> int:
        return self._wire.number

    def post(
        self,
        path: str,
        body: dict[str, Any],
        read: Callable[[dict[str, Any]], Meaning],
        checked: int = 0,
    ) -> Meaning:
        """Send a request to one endpoint, once, and return ``read(answer)``.

        Raises Unanswered if there is no answer, or one of another form; then the next endpoint is
        used. ``raft_index`` is added to the answer of a transaction over another connection than
        the one with the number ``checked``.
        """
        endpoint = self._endpoints[0]
        try:
            return read(self._post(endpoint, path, body, checked))
        except _RefusedError as error:
            self._refuse(error, f"{endpoint[0]}:{endpoint[1]}: {error}")
            failure = self._leave(str(error), sent=True)
        except HTTPError as error:
            connected = not isinstance(error, ConnectTimeoutError | NewConnectionError)
            failure = self._leave(_cause(error), sent=connected)
        except _OTHER_FORM as error:
            # It is not an answer of etcd, or not to this request.
            failure = self._leave(
                f"the answer does not match the request ({error!r})",
                sent=True,
                advice="check what listens at this address, and any proxy",
            )
        except OSError as error:
            failure = self._leave(str(error), sent=True)
        raise failure

    def _leave(self, said: str, *, sent: bool, advice: str = _RUNS) -> Unanswered:
        """Close the connection and use the next endpoint; returns the error to raise."""
        host, port = endpoint = self._endpoints.pop(0)
        self._endpoints.append(endpoint)
        self.close()
        return Unanswered(f"{host}:{port}: {said}", sent=sent, advice=advice)

    def close(self) -> None:
        """Close the connection."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def __del__(self) -> None:
        if "_pool" in self.__dict__:
            self.close()

    def _post(
        self, endpoint: tuple[str, int], path: str, body: dict[str, Any], checked: int
    ) -> dict[str, Any]:
        answer = None
        if self._pool is not None:
            try:
                answer = self._ask(self._pool, path, body)
            except _RefusedError as error:
                if error.code != _NO_TOKEN or not self._user:
                    raise
        if self._pool is None or answer is None:
            self.close()
            self._pool = self._connect(*endpoint)
            answer = self._ask(self._pool, path, body)
        if path == TRANSACTION and self.connection != checked:
            told = self._ask(self._pool, "maintenance/status", {})
            answer["raft_index"] = int(told["raftIndex"])
        return answer

    def _ask(self, pool: HTTPConnectionPool, path: str, body: dict[str, Any]) -> dict[str, Any]:
        with limited(self._wire, boot_s() + _TIMEOUT_S):
            response = pool.urlopen(
                "POST",
                _PATH + path,
                json.dumps(body).encode(),
                self._headers,
                retries=False,
                redirect=False,
            )
        self.date.hear(response.headers.get("Date"))
        if response.status != HTTPStatus.OK:
            raise _RefusedError(response.data.decode(errors="replace") or str(response.reason))
        answer: dict[str, Any] = json.loads(response.data)
        return answer

    def _connect(self, host: str, port: int) -> Any:
        """A pool of one connection, which is open if there is a user to ask a token for."""
        timeout = urllib3.Timeout(connect=_CONNECT_S, read=_TIMEOUT_S)
        if self._tls is None:
            pool: Any = HTTPConnectionPool(host, port, timeout)
            pool.ConnectionCls = partial(_Connection, self._wire)
        else:
            pool = HTTPSConnectionPool(host, port, timeout, ssl_context=self._tls)
            pool.ConnectionCls = partial(_TlsConnection, self._wire)
        self._headers.pop("Authorization", None)
        if self._user is not None:
            name, password = self._user
            answer = self._ask(pool, "auth/authenticate", {"name": name, "password": password})
            self._headers["Authorization"] = answer["token"]
        return pool

    def _refuse(self, refused: _RefusedError, said: str) -> None:
        """Raise errors that every endpoint would return."""
        for (hard, word), advice in _REFUSALS.items():
            if refused.code == hard and word in said:
                raise ConfigError(f"{self.url}: {said}; {advice}", url=self.url) from refused
        if refused.code == _FULL:
            raise RegistryUnavailable(
                f"{self.url}: {said}; compact, defragment, then: etcdctl alarm disarm",
                url=self.url,
                outcome_known=True,
            ) from refused


def _cause(error: HTTPError) -> str:
    """The cause in an error of urllib3, without the names of its classes."""
    if isinstance(error, ReadTimeoutError):
        return "no answer in time"
    said = str(error.args[-1] if error.args else error)
    return said.rpartition("a new connection: ")[2]
