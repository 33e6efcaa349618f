"""The greeting of a service that was started on a terminal: where it is, and what to try next.

It replaces the log line with the addresses, which programs read.
"""

import shlex
from urllib.parse import quote

from frazil.service.settings import Settings

__all__ = ["greeting"]

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - to connect, not to bind


def greeting(settings: Settings, port: int, resp_port: int | None) -> str:
    """Return the greeting. port and resp_port: those that were opened."""
    host = _ANYWHERE.get(settings.host, settings.host)
    shown = f"[{host}]" if ":" in host else host
    url = f"{'http' if settings.tls is None else 'https'}://{shown}:{port}/"
    # A counter may need frazil init first, so a namespace with time is the better example.
    first = min((not one.scheme.layout.tick_us, one.name) for one in settings.namespaces)[1]
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
    names = ", ".join(sorted(one.name for one in settings.namespaces))
    width = max(len(name) for name, _ in rows)
    lines = [f"  {name:{width}}  {text}" for name, text in rows]
    return "\n".join([f"frazil serves {names}.", "", *lines, "", ""])
