"""Traces: a span for each request if a provider is configured, and no secret in it."""

import asyncio

import httpx
import pytest

from frazil.service.app import App
from frazil.service.settings import read_settings
from frazil.service.traces import Traces
from tests.needs import needs

needs("opentelemetry", "traces")

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans(monkeypatch):
    """The spans of a provider for this test."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield exporter
    provider.shutdown()


def ask(*paths, method="GET"):
    async def all_of_them():
        app = App(read_settings(url="memory:"))
        transport = httpx.ASGITransport(app)
        headers = {"traceparent": PARENT, "authorization": "Bearer frazil_x"}
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:81") as client:
            found = [await client.request(method, path, headers=headers) for path in paths]
        for served in app.state.namespaces.values():
            await served.close()
        return found

    return asyncio.run(all_of_them())


def test_a_span_for_each_request(spans):
    ask("/v1/default/id", "/livez", "/v1/nope/id?x=frazil_secret")
    good, live, bad = spans.get_finished_spans()
    assert good.name == "GET /v1/{ns}/id"
    assert good.attributes["http.response.status_code"] == 200
    assert good.attributes["frazil.namespace"] == "default"
    assert f"{good.context.trace_id:032x}" == PARENT.split("-")[1]
    assert f"{good.parent.span_id:016x}" == PARENT.split("-")[2]
    assert live.name == "GET /livez"
    assert bad.attributes["http.response.status_code"] == 404
    assert "frazil_" not in "".join(span.to_json() for span in (good, live, bad))


def test_the_attributes_of_the_semantic_conventions(spans):
    """All that the conventions require or recommend for a server's span, without the query."""
    (reply,) = ask("/v1/default/id")
    number = reply.json()["id"] if reply.text.startswith("{") else reply.text.strip()
    ask(f"/v1/default/inspect/{number}?encoding=decimal")
    span = spans.get_finished_spans()[-1]
    assert span.name == "GET /v1/{ns}/inspect/{id}"
    assert span.kind.name == "SERVER"
    assert span.status.status_code.name == "UNSET"
    agent = span.attributes["user_agent.original"]
    assert agent.startswith("python-httpx/")
    assert dict(span.attributes) == {
        "client.address": "127.0.0.1",
        "frazil.namespace": "default",
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "http.route": "/v1/{ns}/inspect/{id}",
        "network.peer.address": "127.0.0.1",
        "network.peer.port": 123,
        "network.protocol.version": "1.1",
        "server.address": "localhost",
        "server.port": 81,
        "url.path": "/v1/default/inspect/REDACTED",
        "url.scheme": "http",
        "user_agent.original": agent,
    }
    assert span.instrumentation_scope.schema_url.startswith("https://opentelemetry.io/schemas/")


def test_a_method_that_is_not_known(spans):
    ask("/v1/default/id", method="BREW")
    (span,) = spans.get_finished_spans()
    assert span.name == "HTTP /v1/{ns}/id"
    assert span.attributes["http.request.method"] == "_OTHER"
    assert span.attributes["http.request.method_original"] == "BREW"


def test_a_path_without_a_route_is_not_in_the_name(spans):
    ask("/nothing/1425150623912820736", "/v1//id")
    assert [span.name for span in spans.get_finished_spans()] == ["GET", "GET"]
    assert not any("http.route" in span.attributes for span in spans.get_finished_spans())


@pytest.mark.parametrize(
    ("error", "kind"),
    [(KeyError("x"), "builtins.KeyError"), (asyncio.CancelledError(), "CancelledError")],
)
def test_what_fails_has_a_type(spans, error, kind):
    async def fails(_scope, _receive, _send):
        raise error

    async def answers(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 503})

    async def send(_message):
        pass

    scope = {"path": "/", "method": "GET", "headers": [], "scheme": "http", "http_version": "1.1"}
    with pytest.raises(type(error)):
        asyncio.run(Traces().call(fails, scope, None, send, ("/", [])))
    asyncio.run(Traces().call(answers, scope, None, send, ("/", [])))
    failed, refused = spans.get_finished_spans()
    assert failed.attributes["error.type"].endswith(kind)
    assert refused.attributes["error.type"] == "503"
    assert failed.status.status_code.name == refused.status.status_code.name == "ERROR"


def test_nothing_is_done_without_a_provider():
    assert not Traces().on
    (reply,) = ask("/v1/default/id")
    assert reply.status_code == 200
