"""OpenTelemetry: a span for each request, if a tracer provider is configured.

Only the API package is needed. Without it, or without a provider, tracing is off and costs nothing.
``opentelemetry-instrument frazil serve`` configures a provider from the environment.

The header ``traceparent`` sets the parent of a span. A span holds the method, the path, the status
and the namespace, but no query, token or ID.

Source of the names: OpenTelemetry semantic conventions, HTTP spans.
"""

from collections.abc import MutableMapping
from typing import Any

from frazil.service.http.asgi import Receive, Scope, Send


class Traces:
    """``on``: whether a provider is configured. Checked once, at the start."""

    def __init__(self) -> None:
        self._tracer: Any = None
        try:
            from opentelemetry import trace
        except ImportError:
            self.on = False
            return
        self.on = not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
        if self.on:
            self._tracer = trace.get_tracer("frazil.service")

    async def call(self, app: Any, scope: Scope, receive: Receive, send: Send) -> None:
        """Call an ASGI application inside a span."""
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, Status, StatusCode

        headers = {
            key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]
        }
        parts = scope["path"].split("/")
        route = "/".join(parts[3:4])
        known = parts[1:2] == ["v1"] and route in {"id", "ids", "inspect", "window"}
        name = f"{scope['method']} /v1/{{ns}}/{route}" if known else scope["method"]
        with self._tracer.start_as_current_span(
            name,
            context=extract(headers),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": scope["method"], "url.path": scope["path"]},
        ) as span:
            if known:
                span.set_attribute("frazil.namespace", parts[2])

            async def traced(message: MutableMapping[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(Status(StatusCode.ERROR))
                await send(message)

            await app(scope, receive, traced)
