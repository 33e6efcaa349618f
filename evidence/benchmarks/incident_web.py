"""The two web programs of ``evidence.benchmarks.incidents``, written as the pages say.

``gunicorn 'evidence.benchmarks.incident_web:threads()'`` has threads and ``frazil.open``, ``uvicorn
--factory evidence.benchmarks.incident_web:tasks`` has tasks and ``frazil.aio.open``. FRAZIL_URL
names the store, SCHEME the layout, and BLOCK how many values of a counter are claimed at a time.
LOG is the file of the log, one JSON object a line. With EACH=1 a request opens a generator of its
own, which is the mistake that ``waits.md`` asks for.
"""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

from prometheus_client import generate_latest

import frazil
import frazil.aio
from frazil.errors import TryLater

__all__ = ["tasks", "threads"]

_OPTIONS: dict[str, Any] = {
    "namespace": "orders",
    "scheme": os.environ.get("SCHEME", "icicle"),
    "timeout": "2s",
    "block": int(os.environ["BLOCK"]) if "BLOCK" in os.environ else None,
}


class _Json(logging.Formatter):
    """One JSON object a record, as a collector of logs wants it."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        facts = {name: value for name, value in vars(record).items() if name.startswith("frazil_")}
        at = {"time": record.created, "level": record.levelname, "message": record.getMessage()}
        return json.dumps(at | facts)


def _log() -> None:
    handler = logging.FileHandler(os.environ["LOG"])
    handler.setFormatter(_Json())
    logging.getLogger("frazil").addHandler(handler)
    logging.getLogger("frazil").setLevel(logging.INFO)
    frazil.metrics.prometheus()


def _status(ids: Any) -> bytes:
    return json.dumps(asdict(ids.status()), default=str).encode()


def threads() -> Callable[..., Iterable[bytes]]:
    """The program with threads, for WSGI."""
    _log()
    ids = frazil.open(**_OPTIONS)

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        status, body = "200 OK", b""
        match environ["PATH_INFO"]:
            case "/orders":
                try:
                    body = str(_one(ids)).encode()
                except TryLater as error:
                    status, body = "503 Service Unavailable", str(error).encode()
            case "/readyz":
                why = frazil.readiness.why_unready(ids)
                status, body = ("503 Service Unavailable" if why else status), why.encode()
            case "/status":
                body = _status(ids)
            case _:
                body = generate_latest()
        start(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
        return [body]

    return answer


def _one(ids: frazil.Generator) -> int:
    if "EACH" not in os.environ:
        return ids()
    with frazil.open(**_OPTIONS) as own:
        return own()


def tasks() -> Any:
    """The program with tasks, for ASGI."""
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    _log()
    ids = frazil.aio.open(**_OPTIONS)

    async def orders(_request: Any) -> Response:
        try:
            if "EACH" not in os.environ:
                return Response(str(await ids()))
            async with frazil.aio.open(**_OPTIONS) as own:
                return Response(str(await own()))
        except TryLater as error:
            return Response(str(error), 503)

    async def status(_request: Any) -> Response:
        return Response(_status(ids))

    async def metrics(_request: Any) -> Response:
        return Response(await asyncio.to_thread(generate_latest), media_type="text/plain")

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await ids.aclose()

    routes = [
        Route("/orders", orders, methods=["POST"]),
        Route("/status", status),
        Route("/metrics", metrics),
        Route("/readyz", frazil.readiness.ReadyApp(ids)),
    ]
    return Starlette(routes=routes, lifespan=lifespan)
