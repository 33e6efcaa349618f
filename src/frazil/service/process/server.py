"""The server process: sockets, signals, graceful shutdown.

The sockets are opened before the application starts. So the log shows the port chosen for port 0, a
port in use is reported at once, and all workers share the sockets.

Shutdown, on SIGTERM or Ctrl-C, loses no request of a client that follows HTTP. First the service
reports that it is not ready, and each reply closes its connection, while new connections are still
accepted. Then it accepts the connections that wait at its socket, and closes it. The service
answers the requests of all its connections, and gives its claims back.
"""

import asyncio
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import uvicorn

from frazil.errors import ConfigError, FrazilError
from frazil.service import logs
from frazil.service.acceptor import Acceptor
from frazil.service.app import App
from frazil.service.http.timeouts import http_protocol, sweep
from frazil.service.layout_check import check_layouts
from frazil.service.process.greeting import greeting
from frazil.service.process.workers import Supervisor, hold_signals, release_signals
from frazil.service.settings import Settings
from frazil.service.worker_stats import WorkerStats

__all__ = ["SHUTDOWN_MOST_S", "serve"]

SHUTDOWN_MOST_S = 32
"""The most seconds from the signal to the end of the process."""

_SHUTDOWN_S = 30
_DRAIN_S = 0.5
_CONNECTIONS_MOST = 1_000
_DESCRIPTORS = 100  # for all that is no connection of a client
_HANDSHAKE_MOST_S = 2.0  # at the shutdown
_SWEEP_S = 0.1
_INHERITED = 3  # the first descriptor that systemd passes: sd_listen_fds(3)
_RECEIVED = 65_536  # bytes of a client that the kernel keeps: the longest body
_UNSENT = 65_536  # bytes for a client that does not read
_SWITCH_S = 0.0001  # how long a search may keep the interpreter from the event loop


@dataclass(frozen=True, slots=True)
class _Sockets:
    """The listening sockets of a service. kept: whether the parent keeps them open."""

    http: socket.socket
    resp: socket.socket | None
    kept: bool = False

    def close(self) -> None:
        """Close them in this process."""
        self.http.close()
        if self.resp is not None:
            self.resp.close()


class _Server(uvicorn.Server):
    """The HTTP server of one process.

    kept: whether another process keeps the listening socket open. stop_socket: becomes readable
    when all workers stop, or their parent has died. on_start: called when requests are accepted and
    signals are handled. reread: returns the settings as they are now in their file.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        app: App,
        sockets: _Sockets,
        stop_socket: socket.socket | None,
        on_start: Callable[[], None],
        reread: Callable[[], Settings],
    ) -> None:
        super().__init__(config)
        self._app = app
        self._sockets = sockets
        self._stop_socket = stop_socket
        self._on_start = on_start
        self._reread = reread

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        del sockets  # the acceptor has them
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        release_signals()  # uvicorn handles the others from here on
        await super().startup(sockets=[])
        if not self.started:
            return
        settings = self._app.state.settings
        tls = None if settings.tls is None else settings.tls.context()
        state = {"server_state": self.server_state, "app_state": self.lifespan.state}
        protocol: Any = self.config.http_protocol_class
        make = partial(protocol, config=self.config, **state)
        timeout_s = settings.client_timeout_us / 1e6
        self._acceptor = Acceptor(self._sockets.http, make, tls, timeout_s)
        self._sweeping = loop.create_task(self._sweep())
        if self._stop_socket is not None:
            loop.add_reader(self._stop_socket, self._on_stop)
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        del sockets
        self._app.stop()
        await asyncio.sleep(_DRAIN_S)
        if self._sockets.kept:
            self._acceptor.stop()
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(_HANDSHAKE_MOST_S):
                    await self._acceptor.close()
        await super().shutdown()
        self._sweeping.cancel()

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_SWEEP_S)
            sweep(self.server_state.connections, loop.time())

    def _reload(self) -> None:
        """Use new tokens, quotas, namespaces and certificates; an invalid file changes nothing."""
        try:
            settings = self._reread()
            tls = None if settings.tls is None else settings.tls.context()
            self._app.reload(settings, tls)
        except FrazilError as error:
            logs.LOGGER.warning("not reloaded", extra={"facts": {"why": str(error)}})
            return
        if (tls is None) == (self._acceptor.tls is None):
            self._acceptor.tls = tls
        logs.event("reloaded", tokens=len(settings.tokens))

    def _on_stop(self) -> None:
        assert self._stop_socket is not None
        asyncio.get_running_loop().remove_reader(self._stop_socket)
        self.should_exit = True


def serve(settings: Settings, reread: Callable[[], Settings] | None = None) -> None:
    """Run the service until a signal. On SIGHUP it uses what ``reread`` returns.

    Raises ConfigError for an address that is not available, and for a namespace whose layout
    differs from its record.
    """
    logs.set_up()
    settings.check()
    check_layouts(settings)
    hold_signals()
    try:
        _open_and_serve(settings, reread or (lambda: settings))
    finally:
        release_signals()


def _open_and_serve(settings: Settings, reread: Callable[[], Settings]) -> None:
    sockets = _open(settings)
    log_addresses = partial(_log_addresses, settings, sockets)
    if settings.workers == 1:
        _serve(settings, sockets, reread, on_start=log_addresses)
        return
    stats = WorkerStats(settings.workers)
    current = settings

    def work(index: int, stop_socket: socket.socket) -> None:
        _serve(current, sockets, reread, (stats, index), stop_socket)

    def reload() -> None:
        nonlocal current  # for workers that replace others
        with suppress(FrazilError):  # the workers log it
            current = replace(reread(), workers=settings.workers)

    Supervisor(settings.workers, work, log_addresses, sockets.close, reload).run()


def _open(settings: Settings) -> _Sockets:
    """Open both sockets, or none; or use those of the parent, as systemd passes them."""
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        count = int(os.environ.get("LISTEN_FDS", "1"))
        passed = [_prepared(socket.socket(fileno=_INHERITED + n)) for n in range(min(count, 2))]
        return _Sockets(passed[0], passed[1] if count > 1 else None, kept=True)
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
    reread: Callable[[], Settings],
    worker: tuple[WorkerStats, int] | None = None,
    stop_socket: socket.socket | None = None,
    on_start: Callable[[], None] = lambda: None,
) -> None:
    """Serve in this process until a signal."""
    sys.setswitchinterval(_SWITCH_S)
    app = App(settings, resp=sockets.resp, worker=worker, layouts_checked=True)
    config = uvicorn.Config(
        app,
        http=http_protocol(app, settings.client_timeout_us / 1e6, _connections(sockets)),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
    with sockets.http, suppress(SystemExit):  # a failed start; the log has the reason
        _Server(config, app, sockets, stop_socket, on_start, reread).run()


def _connections(sockets: _Sockets) -> int:
    """Return how many HTTP connections there may be, with the descriptors of this process."""
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _DESCRIPTORS
    return max(10, min(_CONNECTIONS_MOST, descriptors // (1 if sockets.resp is None else 2)))


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
    return _prepared(listener)


def _prepared(listener: socket.socket) -> socket.socket:
    """Set what the connections of a listening socket inherit."""
    # asyncio sets it only on sockets that name their protocol, and the second packet of a reply
    # would wait up to 40 ms for the acknowledgement of the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
    return listener
