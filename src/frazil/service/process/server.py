"""The process: sockets, signals, and an orderly end.

The sockets are opened here and handed on, so that a port of 0 is known before the first line of the
log says where to connect, a port that is taken is told at once, and workers share them.

The end, at SIGTERM or Ctrl-C, loses no request of a client who follows HTTP. First the service
says that it goes: it is not ready any more, and each answer ends its connection. For a moment it
accepts and answers all the same, so that whoever was on the way arrives. Then nobody begins to
connect any more, who had begun is let in, it hears what those ask who were let in, answers what it
has begun, and the application gives its claims back.
"""

import asyncio
import select
import socket
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import uvicorn

from frazil.errors import ConfigError
from frazil.service import logs
from frazil.service.app import App
from frazil.service.comparing import compare
from frazil.service.http.refuse_syn import last_call
from frazil.service.http.timeouts import patient
from frazil.service.process.workers import supervise
from frazil.service.settings import Settings
from frazil.service.worker_stats import Board

__all__ = ["LONGEST_END_S", "serve"]

LONGEST_END_S = 32
"""From the signal to the end of the process, at most."""

_FAREWELL_S = 30
_GOING_S = 0.5
_AT_ONCE_MOST = 1_000  # connections
_HANDSHAKE_S = 2  # of TLS, by those who are let in last
_IDLE_S = 30  # an idle connection is kept so long


@dataclass(frozen=True, slots=True)
class _Doors:
    """The sockets on which a service listens."""

    http: socket.socket
    resp: socket.socket | None

    def close(self) -> None:
        """Listen no more in this process."""
        self.http.close()
        if self.resp is not None:
            self.resp.close()


class _Server(uvicorn.Server):
    """One process. leash: readable when the process that looks after this one is gone."""

    def __init__(self, config: uvicorn.Config, app: App, leash: socket.socket | None) -> None:
        super().__init__(config)
        self._app = app
        self._leash = leash

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn.Server."""
        await super().startup(sockets)
        if self._leash is not None:
            asyncio.get_running_loop().add_reader(self._leash, self._orphaned)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn.Server."""
        self._app.state.going = True
        await asyncio.sleep(_GOING_S)
        waiting = [one.dup() for one in sockets or ()]
        if self._alone():
            for listener in waiting:
                last_call(listener)
        await asyncio.sleep(_GOING_S / 2)  # who has begun to connect is connected
        for server in self.servers:
            server.close()
        for listener in waiting:
            await self._let_in(listener)
        await super().shutdown(sockets)

    def _alone(self) -> bool:
        """Whether no other worker goes on: there is none, or all have been let off the leash."""
        return self._leash is None or bool(select.select([self._leash], [], [], 0)[0])

    async def _let_in(self, listener: socket.socket) -> None:
        """Accept all who wait at a socket, and close it."""
        let_in = []
        with listener, suppress(BlockingIOError):
            listener.settimeout(0)
            while True:
                let_in.append(listener.accept()[0])
        protocol: Any = self.config.http_protocol_class
        state = {"server_state": self.server_state, "app_state": self.lifespan.state}
        make = partial(protocol, config=self.config, **state)
        tls: dict[str, Any] = {}
        if self.config.ssl is not None:
            tls = {"ssl": self.config.ssl, "ssl_handshake_timeout": _HANDSHAKE_S}
        begin = asyncio.get_running_loop().connect_accepted_socket
        beginnings = (begin(make, one, **tls) for one in let_in)
        await asyncio.gather(*beginnings, return_exceptions=True)  # some have gone meanwhile

    def _orphaned(self) -> None:
        assert self._leash is not None
        asyncio.get_running_loop().remove_reader(self._leash)
        self.should_exit = True


def serve(settings: Settings) -> None:
    """Serve until a signal.

    Raises ConfigError for an address that cannot be listened on, and for a namespace whose layout
    is not the one of its record.
    """
    logs.set_up()
    settings.check()
    compare(settings)
    doors = _open(settings)
    _announce(settings, doors)
    if settings.workers == 1:
        _work(settings, doors)
        return
    board = Board(settings.workers, settings.tokens)

    def work(index: int, leash: socket.socket) -> None:
        _work(settings, doors, (board, index), leash)

    supervise(settings.workers, work, doors.close)


def _open(settings: Settings) -> _Doors:
    """Both sockets, or none."""
    http = _listen(settings.host, settings.port, "--host or --port")
    if settings.resp_port is None:
        return _Doors(http, None)
    try:
        return _Doors(http, _listen(settings.host, settings.resp_port, "port for Redis (--resp)"))
    except ConfigError:
        http.close()
        raise


def _announce(settings: Settings, doors: _Doors) -> None:
    host, port = doors.http.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    logs.event(
        "listening",
        url=f"{'http' if settings.tls is None else 'https'}://{shown}:{port}",
        namespaces=sorted(one.name for one in settings.namespaces),
        tokens=len(settings.tokens),
        workers=settings.workers,
    )
    if doors.resp is not None:
        host, port = doors.resp.getsockname()[:2]
        logs.event("listening for redis clients", host=host, port=port)


def _work(
    settings: Settings,
    doors: _Doors,
    seat: tuple[Board, int] | None = None,
    leash: socket.socket | None = None,
) -> None:
    """Serve in this process, until a signal."""
    app = App(settings, resp=doors.resp, seat=seat, compared=True)
    config = uvicorn.Config(
        app,
        http=patient(settings.patience_us / 1e6),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        limit_concurrency=_AT_ONCE_MOST,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_FAREWELL_S,
    )
    config.load()
    config.ssl = None if settings.tls is None else settings.tls.context()
    with doors.http, suppress(SystemExit):  # of a start that failed; the log says why
        _Server(config, app, leash).run(sockets=[doors.http])


def _listen(host: str, port: int, another: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise ConfigError(
            f"{host}:{port}: {error.strerror or error}; choose another {another}",
            host=host,
            port=port,
        ) from None
    # Inherited by its connections. The loop sets it only on sockets that name their protocol,
    # and a reply in two parts would wait 40 ms for the client's acknowledgement of the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
