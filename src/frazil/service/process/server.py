"""The server process: sockets, signals, graceful shutdown.

The sockets are opened before the application starts. So the log shows the port chosen for port 0, a
port in use is reported at once, and all workers share the sockets.

Shutdown, on SIGTERM or Ctrl-C, loses no request of a client that follows HTTP. First the service
reports that it is not ready, and each reply closes its connection, while new connections are still
accepted. Then it accepts the connections that wait at its socket, and closes it. The service
answers the requests of all its connections, and gives its claims back.
"""

import asyncio
import multiprocessing
import os
import resource
import shlex
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, NamedTuple
from urllib.parse import quote

import uvicorn

from frazil.errors import ConfigError, FrazilError
from frazil.service import logs
from frazil.service.acceptor import Acceptor, listen, prepared
from frazil.service.app import App
from frazil.service.http.timeouts import http_protocol
from frazil.service.process.workers import Supervisor, hold_signals, release_signals
from frazil.service.settings import Settings
from frazil.service.state import State
from frazil.service.worker_stats import WorkerStats

SHUTDOWN_MOST_S = 32  # the most seconds from the signal to the end of the process
_CHECK_MOST_S = 5.0
_SHUTDOWN_S = 30
_DRAIN_S = 0.5
_CONNECTIONS_MOST = 1_000
_DESCRIPTORS = 100  # for all that is no connection of a client
_HANDSHAKE_MOST_S = 2.0  # at the shutdown
_SWEEP_S = 0.1
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - to connect, not to bind
_INHERITED = 3  # the first descriptor that systemd passes: sd_listen_fds(3)
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


class _Task(NamedTuple):
    """What one process serves, until a signal.

    reread: returns the settings as they are now in their file. on_start: called when requests are
    accepted and signals are handled. stop_socket: becomes readable when all workers stop, or their
    parent has died.
    """

    settings: Settings
    sockets: _Sockets
    reread: Callable[[], Settings]
    on_start: Callable[[], None] = lambda: None
    worker: tuple[WorkerStats, int] | None = None
    stop_socket: socket.socket | None = None


class _Server(uvicorn.Server):
    """The HTTP server of one process."""

    def __init__(self, config: uvicorn.Config, app: App, task: _Task) -> None:
        super().__init__(config)
        self._app = app
        self._task = task

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        del sockets  # the acceptor has them
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        release_signals()  # uvicorn handles the others from here on
        await super().startup(sockets=[])
        if not self.started:
            return
        settings = self._task.settings
        state = {"server_state": self.server_state, "app_state": self.lifespan.state}
        protocol: Any = self.config.http_protocol_class
        make = partial(protocol, config=self.config, **state)
        timeout_s = settings.client_timeout_us / 1e6
        self._acceptor = Acceptor(self._task.sockets.http, make, settings.tls_context(), timeout_s)
        self._sweeping = loop.create_task(self._sweep())
        if self._task.stop_socket is not None:
            loop.add_reader(self._task.stop_socket, self._on_stop)
        self._task.on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        del sockets
        self._app.stop()
        await asyncio.sleep(_DRAIN_S)
        if self._task.sockets.kept:
            self._acceptor.stop()
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(_HANDSHAKE_MOST_S):
                    await self._acceptor.close()
        await super().shutdown()
        self._sweeping.cancel()

    async def _sweep(self) -> None:
        """Close the connections whose time is over, as long as the server runs."""
        connections: set[Any] = self.server_state.connections
        while True:
            await asyncio.sleep(_SWEEP_S)
            for one in tuple(connections):
                one.sweep(asyncio.get_running_loop().time())

    def _reload(self) -> None:
        """Use new tokens, quotas, namespaces and certificates; an invalid file changes nothing."""
        try:
            settings = self._task.reread()
            tls = settings.tls_context()
            self._app.reload(settings, tls)
        except FrazilError as error:
            logs.LOGGER.warning("not reloaded", extra={"facts": {"why": str(error)}})
            return
        self._acceptor.reload(tls)
        logs.event("reloaded", tokens=len(settings.tokens))

    def _on_stop(self) -> None:
        assert self._task.stop_socket is not None
        asyncio.get_running_loop().remove_reader(self._task.stop_socket)
        self.should_exit = True


def serve(settings: Settings, reread: Callable[[], Settings] | None = None) -> None:
    """Run the service until a signal. On SIGHUP it uses what ``reread`` returns.

    Raises ConfigError for an address that is not available, and for a namespace whose layout
    differs from its record.
    """
    logs.set_up()
    settings.check()
    settings.tls_context()  # raises before a worker starts
    _check_layouts(settings)
    hold_signals()
    try:
        _open_and_serve(settings, reread or (lambda: settings))
    finally:
        release_signals()


def _open_and_serve(settings: Settings, reread: Callable[[], Settings]) -> None:
    sockets = _open(settings)
    log_addresses = partial(_log_addresses, settings, sockets)
    if settings.workers == 1:
        _serve(_Task(settings, sockets, reread, log_addresses))
        return
    stats = WorkerStats(settings.workers)
    current = settings

    def work(index: int, stop_socket: socket.socket) -> None:
        worker = stats, index
        _serve(_Task(current, sockets, reread, worker=worker, stop_socket=stop_socket))

    def reload() -> None:
        nonlocal current  # for workers that replace others
        with suppress(FrazilError):  # the workers log it
            current = replace(reread(), workers=settings.workers)

    Supervisor(settings.workers, work, log_addresses, sockets.close, reload).run()


def _check_layouts(settings: Settings) -> None:
    """Raise ConfigError if the layout of a namespace differs from that of its record.

    A registry that does not answer is skipped; ``State.recheck`` checks it later. The check needs
    connections and threads, and workers that are forked later must inherit neither. So it runs in a
    child process that has ended before the service starts.
    """
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_check, args=(settings, writer), daemon=True)
    process.start()
    writer.close()
    error: FrazilError | None = None
    try:
        if reader.poll(_CHECK_MOST_S):
            error = reader.recv()
    except EOFError:  # the child died; the service itself repeats the check
        pass
    finally:
        process.kill()
        process.join()
        reader.close()
    if error is not None:
        raise error


def _check(settings: Settings, writer: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C the parent kills this process
    # A memory: registry is created by the process that serves it.
    kept = tuple(one for one in settings.namespaces if one.url.kind != "memory")
    try:
        asyncio.run(State(replace(settings, namespaces=kept)).check_layouts())
    except FrazilError as error:
        writer.send(error)
    else:
        writer.send(None)


def _open(settings: Settings) -> _Sockets:
    """Open both sockets, or none; or use those of the parent, as systemd passes them."""
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        count = int(os.environ.get("LISTEN_FDS", "1"))
        passed = [prepared(socket.socket(fileno=_INHERITED + n)) for n in range(min(count, 2))]
        return _Sockets(passed[0], passed[1] if count > 1 else None, kept=True)
    http = listen(settings.host, settings.port, "--host or --port")
    if settings.resp_port is None:
        return _Sockets(http, None)
    try:
        return _Sockets(http, listen(settings.host, settings.resp_port))
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
        namespaces=sorted(one.namespace for one in settings.namespaces),
        tokens=len(settings.tokens),
        workers=settings.workers,
    )
    if sockets.resp is not None:
        host, port = sockets.resp.getsockname()[:2]
        logs.event("listening for redis clients", host=host, port=port)


def greeting(settings: Settings, port: int, resp_port: int | None) -> str:
    """Return what a terminal shows: where the service is, and what to try next."""
    host = _ANYWHERE.get(settings.host, settings.host)
    shown = f"[{host}]" if ":" in host else host
    url = f"{'http' if settings.tls is None else 'https'}://{shown}:{port}/"
    # A counter may need frazil init first, so a namespace with time is the better example.
    first = min((not one.scheme.layout.tick_us, one.namespace) for one in settings.namespaces)[1]
    curl, redis = ["curl"], ["redis-cli", "-h", host, "-p", str(resp_port)]
    if settings.tls is not None:
        certificate = shlex.quote(settings.tls.cert)
        curl += ["--cacert", certificate]
        redis += ["--tls", "--cacert", certificate]
    if settings.tokens:
        curl += ["-H", '"Authorization: Bearer $FRAZIL_TOKEN"']
        redis += ["-a", '"$FRAZIL_TOKEN"']
    curl.append(shlex.quote(f"{url}v1/{quote(first, safe='')}/id"))
    rows = [("Console", url), ("Next, try", " ".join(curl))]
    if resp_port is not None:
        rows.append(("Redis clients", " ".join([*redis, "FRAZIL.ID", shlex.quote(first)])))
    rows.append(("Stop", "Ctrl-C"))
    names = ", ".join(sorted(one.namespace for one in settings.namespaces))
    width = max(len(name) for name, _ in rows)
    lines = [f"  {name:{width}}  {text}" for name, text in rows]
    return "\n".join([f"frazil serves {names}.", "", *lines, "", ""])


def _serve(task: _Task) -> None:
    sys.setswitchinterval(_SWITCH_S)
    settings, sockets = task.settings, task.sockets
    app = App(settings, resp=sockets.resp, worker=task.worker, layouts_checked=True)
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
        _Server(config, app, task).run()


def _connections(sockets: _Sockets) -> int:
    """Return how many HTTP connections there may be, with the descriptors of this process."""
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _DESCRIPTORS
    return max(10, min(_CONNECTIONS_MOST, descriptors // (1 if sockets.resp is None else 2)))
