"""The server process: sockets, signals, graceful shutdown.

The sockets are opened before the application starts. So the log shows the port chosen for port 0, a
port in use is reported at once, and all workers share the sockets.

Shutdown, on SIGTERM or Ctrl-C, loses no request of a client that follows HTTP. First the service
reports that it is not ready, and each reply closes its connection, while new connections are still
accepted. Then it accepts the connections that wait at its socket, and closes it. The service
answers the requests of all its connections, and gives its claims back.
"""

import asyncio
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import uvicorn

from frazil.errors import ConfigError
from frazil.service import logs
from frazil.service.app import App
from frazil.service.http.timeouts import http_protocol
from frazil.service.layout_check import check_layouts
from frazil.service.process.greeting import greeting
from frazil.service.process.held_signals import hold_signals, release_signals
from frazil.service.process.workers import supervise
from frazil.service.settings import Settings
from frazil.service.worker_stats import WorkerStats

__all__ = ["SHUTDOWN_MOST_S", "serve"]

SHUTDOWN_MOST_S = 32
"""The most seconds from the signal to the end of the process."""

_SHUTDOWN_S = 30
_DRAIN_S = 0.5
_CONNECTIONS_MOST = 1_000  # connections
_HANDSHAKE_S = 2  # for the TLS handshakes of the last connections
_IDLE_S = 30  # how long an idle connection is kept


@dataclass(frozen=True, slots=True)
class _Sockets:
    """The listening sockets of a service."""

    http: socket.socket
    resp: socket.socket | None

    def close(self) -> None:
        """Close them in this process."""
        self.http.close()
        if self.resp is not None:
            self.resp.close()


class _Server(uvicorn.Server):
    """The HTTP server of one process.

    stop_socket: becomes readable when all workers stop, or their parent has died.
    on_start: called when requests are accepted and signals are handled.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        app: App,
        stop_socket: socket.socket | None,
        on_start: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._app = app
        self._stop_socket = stop_socket
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        release_signals()  # uvicorn handles them from here on
        await super().startup(sockets)
        if self._stop_socket is not None:
            asyncio.get_running_loop().add_reader(self._stop_socket, self._on_stop)
        if self.started:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.stopping = True
        await asyncio.sleep(_DRAIN_S)
        waiting = [one.dup() for one in sockets or ()]
        for server in self.servers:
            server.close()
        for listener in waiting:
            await self._accept_waiting(listener)
        await super().shutdown(sockets)

    async def _accept_waiting(self, listener: socket.socket) -> None:
        """Accept all connections that wait at a socket, and close it."""
        accepted = []
        with listener, suppress(BlockingIOError):
            listener.settimeout(0)
            while True:
                accepted.append(listener.accept()[0])
        protocol: Any = self.config.http_protocol_class
        state = {"server_state": self.server_state, "app_state": self.lifespan.state}
        make = partial(protocol, config=self.config, **state)
        tls: dict[str, Any] = {}
        if self.config.ssl is not None:
            tls = {"ssl": self.config.ssl, "ssl_handshake_timeout": _HANDSHAKE_S}
        connect = asyncio.get_running_loop().connect_accepted_socket
        handshakes = (connect(make, one, **tls) for one in accepted)
        await asyncio.gather(*handshakes, return_exceptions=True)  # some clients have disconnected

    def _on_stop(self) -> None:
        assert self._stop_socket is not None
        asyncio.get_running_loop().remove_reader(self._stop_socket)
        self.should_exit = True


def serve(settings: Settings) -> None:
    """Run the service until a signal.

    Raises ConfigError for an address that is not available, and for a namespace whose layout
    differs from its record.
    """
    logs.set_up()
    settings.check()
    check_layouts(settings)
    hold_signals()
    try:
        _open_and_serve(settings)
    finally:
        release_signals()


def _open_and_serve(settings: Settings) -> None:
    sockets = _open(settings)
    log_addresses = partial(_log_addresses, settings, sockets)
    if settings.workers == 1:
        _serve(settings, sockets, on_start=log_addresses)
        return
    stats = WorkerStats(settings.workers, settings.tokens)

    def work(index: int, stop_socket: socket.socket) -> None:
        _serve(settings, sockets, (stats, index), stop_socket)

    supervise(settings.workers, work, log_addresses, sockets.close)


def _open(settings: Settings) -> _Sockets:
    """Open both sockets, or none."""
    http = _listen(settings.host, settings.port, "--host or --port")
    if settings.resp_port is None:
        return _Sockets(http, None)
    try:
        return _Sockets(http, _listen(settings.host, settings.resp_port, "port for Redis (--resp)"))
    except ConfigError:
        http.close()
        raise


def _log_addresses(settings: Settings, sockets: _Sockets) -> None:
    host, port = sockets.http.getsockname()[:2]
    if logs.on_terminal():
        resp_port = None if sockets.resp is None else sockets.resp.getsockname()[1]
        sys.stderr.write(greeting(settings, port, resp_port))
        sys.stderr.flush()
        return
    shown = f"[{host}]" if ":" in host else host
    logs.event(
        "listening",
        url=f"{'http' if settings.tls is None else 'https'}://{shown}:{port}",
        namespaces=sorted(one.name for one in settings.namespaces),
        tokens=len(settings.tokens),
        workers=settings.workers,
    )
    if sockets.resp is not None:
        host, port = sockets.resp.getsockname()[:2]
        logs.event("listening for redis clients", host=host, port=port)


def _serve(
    settings: Settings,
    sockets: _Sockets,
    worker: tuple[WorkerStats, int] | None = None,
    stop_socket: socket.socket | None = None,
    on_start: Callable[[], None] = lambda: None,
) -> None:
    """Serve in this process until a signal."""
    app = App(settings, resp=sockets.resp, worker=worker, layouts_checked=True)
    config = uvicorn.Config(
        app,
        http=http_protocol(settings.client_timeout_us / 1e6),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        limit_concurrency=_CONNECTIONS_MOST,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
    config.load()
    config.ssl = None if settings.tls is None else settings.tls.context()
    with sockets.http, suppress(SystemExit):  # a failed start; the log has the reason
        _Server(config, app, stop_socket, on_start).run(sockets=[sockets.http])


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
    # Connections inherit it. asyncio sets it only on sockets that name their protocol, and the
    # second packet of a reply would wait up to 40 ms for the acknowledgement of the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
