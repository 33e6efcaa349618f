"""OpenTelemetry: a span for each request of the HTTP API, by the semantic conventions for HTTP."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

import frazil
from frazil.service.http.asgi import Receive, Scope, Send, header

_SCHEMA = "https://opentelemetry.io/schemas/1.23.1"  # of the first stable conventions for HTTP
_METHODS = {"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}


class Traces:
    """A span for each request, if a tracer provider is configured.

    Only the API package is needed, and ``opentelemetry-instrument frazil serve`` configures a
    provider. The header ``traceparent`` sets the parent of a span. A span has every attribute that
    the conventions require or recommend for a server, and ``frazil.namespace``; but no query, no
    token and no ID. on: whether there is a provider; looked up once, at the start.

    Source: Semantic conventions for HTTP spans, "HTTP server span".
    """

    def __init__(self) -> None:
        self._tracer: Any = None
        try:
            from opentelemetry import trace
        except ImportError:
            self.on = False
            return
        self.on = not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
        if self.on:
            self._tracer = trace.get_tracer(
                "frazil.service", frazil.__version__, schema_url=_SCHEMA
            )

    async def call(
        self,
        app: Callable[[Scope, Receive, Send], Awaitable[None]],
        scope: Scope,
        receive: Receive,
        send: Send,
        route: tuple[str, list[str]],
    ) -> None:
        """Call an ASGI application inside a span. route: the template, and its values."""
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, Status, StatusCode

        template, _ = route
        method = scope["method"] if scope["method"] in _METHODS else "HTTP"
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        with self._tracer.start_as_current_span(
            f"{method} {template}".rstrip(),
            context=extract(headers),
            kind=SpanKind.SERVER,
            attributes=_attributes(scope, *route),
        ) as span:

            def fail(kind: str) -> None:
                span.set_attribute("error.type", kind)
                span.set_status(Status(StatusCode.ERROR))

            async def traced(message: MutableMapping[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        fail(str(message["status"]))
                await send(message)

            try:
                await app(scope, receive, traced)
            except BaseException as error:  # a task that is cancelled, too
                fail(f"{type(error).__module__}.{type(error).__qualname__}")
                raise


def _attributes(scope: Scope, template: str, values: list[str]) -> dict[str, str | int]:
    """What is known of a request before its answer."""
    path, method = scope["path"], scope["method"]
    found: dict[str, str | int] = {
        "http.request.method": method if method in _METHODS else "_OTHER",
        "url.path": path if len(values) < 2 else path.rpartition("/")[0] + "/REDACTED",
        "url.scheme": scope["scheme"],
        "network.protocol.version": scope["http_version"],
    }
    if method not in _METHODS:
        found["http.request.method_original"] = method
    if template:
        found["http.route"] = template
    if values:
        found["frazil.namespace"] = values[0]
    if agent := header(scope, b"user-agent"):
        found["user_agent.original"] = agent.decode("latin-1")
    if client := scope.get("client"):
        found["client.address"] = found["network.peer.address"] = client[0]
        found["network.peer.port"] = client[1]
    try:
        host = urlsplit("//" + header(scope, b"host").decode("latin-1"))
        address, port = host.hostname, host.port
    except ValueError:  # a header Host that is none; the request is refused
        return found
    if address:
        found["server.address"] = address
    if address and port is not None:
        found["server.port"] = port
    return found
