"""The process: sockets, signals, and an orderly end.

The socket is opened here and handed to the server, so that a port of 0 is known before the first
line of the log says where to connect. At SIGTERM or Ctrl-C the server stops accepting, answers what
it has begun, and then the application gives its claims back.
"""

import socket
from contextlib import suppress

import uvicorn

from frazil.errors import ConfigError
from frazil.service import logs
from frazil.service.app import App
from frazil.service.patience import HEAD_MOST, patient
from frazil.service.settings import Settings

__all__ = ["serve"]

_FAREWELL_S = 30
_AT_ONCE_MOST = 1_000  # connections
_IDLE_S = 30  # an idle connection is kept so long


def serve(settings: Settings) -> None:
    """Serve until a signal. Raises ConfigError for an address that cannot be listened on."""
    logs.set_up()
    app = App(settings)
    context = None if settings.tls is None else settings.tls.context()
    listener = _listen(settings.host, settings.port)
    host, port = listener.getsockname()[:2]
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
        h11_max_incomplete_event_size=HEAD_MOST,
    )
    config.load()
    config.ssl = context
    shown = f"[{host}]" if ":" in host else host
    scheme = "http" if context is None else "https"
    logs.event(
        "listening",
        url=f"{scheme}://{shown}:{port}",
        namespaces=sorted(app.issuers),
        tokens=len(settings.tokens),
    )
    with listener, suppress(SystemExit):  # of a start that failed; the application knows why
        uvicorn.Server(config).run(sockets=[listener])
    if app.complaint is not None:
        raise app.complaint


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise ConfigError(
            f"{host}:{port}: {error.strerror or error}; choose another --host or --port",
            host=host,
            port=port,
        ) from None
    # Inherited by its connections. The loop sets it only on sockets that name their protocol,
    # and a reply in two parts would wait 40 ms for the client's acknowledgement of the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
