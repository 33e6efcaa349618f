"""The HTTP door as one ASGI application.

A request finds its door by its path: those where IDs are asked for are in a dictionary, all other
paths are Starlette's. What is the same for every request stands here: who may speak to it at all,
the headers of every reply, what an error looks like, and that the claims are given back at the end.

Any ASGI server runs it: ``create_app(read_settings(path))``.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from frazil.errors import ConfigError, FrazilError
from frazil.service import asgi, logs
from frazil.service.asgi import Receive, Scope, Send
from frazil.service.console import pages
from frazil.service.doors import ManyDoor, OneDoor
from frazil.service.issuer import Issuer
from frazil.service.metrics import Metrics
from frazil.service.problems import MEDIA_TYPE, Problem, behind
from frazil.service.resp import RespServer
from frazil.service.routes import Routes
from frazil.service.settings import Settings
from frazil.service.tokens import Guard

__all__ = ["App", "create_app"]

_BY_STATUS = {404: "not-found", 405: "method-not-allowed"}


class App:
    """The application.

    issuers: by namespace. requests: counts of replies by door and status. complaint: why it could
    not start, for whoever ran the server.
    """

    def __init__(self, settings: Settings) -> None:
        settings.check()
        self.settings = settings
        self.complaint: ConfigError | None = None
        self.guard = Guard(settings.tokens)
        self.issuers = {one.name: Issuer(one) for one in settings.namespaces}
        self.requests: Counter[tuple[str, int]] = Counter()
        self.metrics = Metrics(self.issuers, self.requests)
        self._trusting = self.guard.is_open and not settings.without_tokens
        self._hot: dict[str, tuple[str, asgi.Door]] = {}
        for path, page in pages().items():
            self._hot[path] = "console", page
        for name, issuer in self.issuers.items():
            self._hot[f"/v1/{name}/id"] = "id", OneDoor(issuer, self.guard, logs.failure)
            self._hot[f"/v1/{name}/ids"] = "ids", ManyDoor(issuer, self.guard, logs.failure)
        self._rest = Starlette(
            routes=Routes(self).all(),
            exception_handlers={
                Problem: _on_problem,
                HTTPException: _on_http,
                FrazilError: _on_error,
                Exception: _on_bug,
            },
            lifespan=self._lifespan,
        )
        self._rest.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._rest(scope, receive, send)
            return
        if self._trusting:
            try:
                asgi.refuse_strange_host(scope)
            except Problem as problem:
                await asgi.send_problem(send, problem)
                self.requests["other", problem.status] += 1
                return
        found = self._hot.get(scope["path"])
        if found is not None:
            name, door = found
            self.requests[name, await door(scope, receive, send)] += 1
            return

        async def safely(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *asgi.SAFE]
                self.requests["other", message["status"]] += 1
            await send(message)

        await self._rest(scope, receive, safely)

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        settings = self.settings
        resp = None
        if settings.resp_port is not None:
            resp = RespServer(self.issuers, self.guard, settings.host, settings.resp_port)
            try:
                host, port = await resp.begin()
            except OSError as error:
                self.complaint = ConfigError(
                    f"{settings.host}:{settings.resp_port}: {error.strerror or error}; choose "
                    "another port for Redis clients (--resp)"
                )
                raise self.complaint from None
            logs.event("listening for redis clients", host=host, port=port)
        try:
            yield
        finally:
            if resp is not None:
                await resp.end()
            await asyncio.gather(*(issuer.close() for issuer in self.issuers.values()))
            logs.event("stopped", issued={n: one.issued for n, one in self.issuers.items()})


def create_app(settings: Settings) -> App:
    """The application of these settings; raises ConfigError. Nothing is contacted."""
    return App(settings)


def _response(problem: Problem) -> Response:
    return Response(problem.body(), problem.status, problem.headers, MEDIA_TYPE)


async def _on_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return _response(error)


async def _on_http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _BY_STATUS.get(error.status_code, "bad-request")
    detail = {
        "not-found": "GET /openapi.json lists what there is",
        "method-not-allowed": f"use {(error.headers or {}).get('Allow', 'another')}",
    }.get(kind, error.detail)
    return _response(Problem(kind, detail, dict(error.headers or {})))


async def _on_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, FrazilError)
    logs.failure("", error)
    return _response(behind(error))


async def _on_bug(_request: Request, error: Exception) -> Response:
    logs.bug(error)
    return _response(Problem("internal", "please report it with what stands in the log"))
