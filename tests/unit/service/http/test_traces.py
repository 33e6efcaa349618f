"""Traces: a span for each request if a provider is configured, and no secret in it."""

import asyncio

import httpx
import pytest

from frazil.service.app import App, Traces
from frazil.service.settings import read_settings
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


def ask(*paths):
    async def all_of_them():
        app = App(read_settings(url="memory:"))
        transport = httpx.ASGITransport(app)
        headers = {"traceparent": PARENT, "authorization": "Bearer frazil_x"}
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            found = [await client.get(path, headers=headers) for path in paths]
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
    assert live.name == "GET"
    assert bad.attributes["http.response.status_code"] == 404
    assert "frazil_" not in "".join(span.to_json() for span in (good, live, bad))


def test_nothing_is_done_without_a_provider():
    assert not Traces().on
    (reply,) = ask("/v1/default/id")
    assert reply.status_code == 200
