"""The HTTP API as an ASGI application.

A dictionary maps the paths of the ID endpoints and of the console's files to their endpoints.
Starlette routes all other paths. This module handles what all requests have in common: which
callers are refused, the headers of every reply, error replies, and giving back claims at the end.

Any ASGI server can run it: ``App(read_settings(path))``.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from frazil.errors import FrazilError
from frazil.service import logs
from frazil.service.console import pages
from frazil.service.http import asgi
from frazil.service.http.asgi import Receive, Scope, Send
from frazil.service.http.cors import Cors
from frazil.service.http.id_endpoints import BatchEndpoint, SingleIdEndpoint, unknown_endpoint
from frazil.service.http.routes import Routes
from frazil.service.http.traces import Traces
from frazil.service.problems import MEDIA_TYPE, Problem, no_id
from frazil.service.redis.server import RespServer
from frazil.service.settings import Settings
from frazil.service.state import State
from frazil.service.worker_stats import WorkerStats

__all__ = ["App"]


class App:
    """The application for ``settings``. Raises ConfigError if they are unsafe. Opens no connection.

    resp: a listening socket for Redis clients; without it, one is opened at the start. worker: the
    statistics that several workers share, and the index of this worker. layouts_checked: whether
    the layouts were compared with the records before; otherwise they are compared at the start.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        resp: socket.socket | None = None,
        worker: tuple[WorkerStats, int] | None = None,
        layouts_checked: bool = False,
    ) -> None:
        self.state = state = State(settings, worker)
        self._resp_socket = resp
        self._layouts_checked = layouts_checked
        self._trusting = state.guard.is_open and not settings.without_tokens
        self._cors = Cors(settings.cors)
        self._traces = Traces()
        self._endpoints: dict[str, tuple[str, asgi.Endpoint]] = {}
        for path, page in pages().items():
            self._endpoints[path] = "console", page
        for name, served in state.namespaces.items():
            self._endpoints[f"/v1/{name}/id"] = "id", SingleIdEndpoint(served, state.guard)
            self._endpoints[f"/v1/{name}/ids"] = "ids", BatchEndpoint(served, state.guard)
        self._rest = Starlette(
            routes=Routes(state).all(),
            exception_handlers=dict.fromkeys(
                (Problem, HTTPException, FrazilError, Exception), _on_error
            ),
            lifespan=self._lifespan,
        )
        self._rest.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an ASGI event."""
        if scope["type"] != "http":
            await self._rest(scope, receive, send)
        elif self._traces.on:
            await self._traces.call(self._answer, scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.state.stopping:
            send = _adding(send, ((b"connection", b"close"),))
        try:
            self._refuse(scope)
        except Problem as problem:
            await asgi.send_problem(send, problem)
            self.state.requests["other", problem.status] += 1
            return
        if self._cors.on:
            if await self._cors.answered(scope, send):
                self.state.requests["other", 204] += 1
                return
            send = _adding(send, self._cors.headers(scope))
        found = self._endpoints.get(scope["path"])
        if found is not None:
            name, endpoint = found
            self.state.requests[name, await endpoint(scope, receive, send)] += 1
            return
        unknown = unknown_endpoint(scope["path"], self.state.guard)
        if unknown is not None:
            self._count(await unknown(scope, receive, send))
            return
        await self._rest(scope, receive, _adding(send, asgi.SAFE, self._count))

    def _refuse(self, scope: Scope) -> None:
        """Raise Problem for a request that must not reach an endpoint."""
        if b"%" in (scope.get("raw_path") or b""):
            asgi.refuse_disguise(scope)
        if self._trusting:
            asgi.refuse_strange_host(scope)
        if self.state.guard.is_open:
            self._cors.refuse_page(scope)

    def _count(self, status: int) -> None:
        self.state.requests["other", status] += 1

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        state, resp = self.state, None
        if not self._layouts_checked:
            await state.check_layouts()
        if state.settings.resp_port is not None:
            resp = RespServer(state)
            await resp.start(self._resp_socket)
        tasks = [asyncio.create_task(one) for one in (state.publish(), state.recheck())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            if resp is not None:
                await resp.stop()
            await state.close()
            logs.event("stopped", issued={n: one.issued for n, one in state.namespaces.items()})


def _adding(
    send: Send, headers: asgi.Headers, on_status: Callable[[int], None] = lambda _: None
) -> Send:
    """Return a ``send`` that adds headers to each reply and passes its status to ``on_status``."""

    async def adding(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *headers]
            on_status(message["status"])
        await send(message)

    return adding


async def _on_error(_request: Request, error: Exception) -> Response:
    problem = _problem(error)
    return Response(problem.body(), problem.status, problem.headers, MEDIA_TYPE)


def _problem(error: Exception) -> Problem:
    """Return the problem for an exception of a route, and log those that are not the caller's."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        headers = dict(error.headers or {})
        if error.status_code == 404:
            return Problem("not-found", "GET /openapi.json lists the paths", headers)
        if error.status_code == 405:
            return Problem("method-not-allowed", f"use {headers.get('Allow', 'another')}", headers)
        return Problem("bad-request", error.detail, headers)
    if isinstance(error, FrazilError):
        logs.failure("", error)
        return no_id(error)
    logs.bug(error)
    return Problem("internal", "report it with the traceback from the log")
