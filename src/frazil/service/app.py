"""The HTTP door as one ASGI application.

A request finds its door by its path: those where IDs are asked for are in a dictionary, all other
paths are Starlette's. What is the same for every request stands here: who may speak to it at all,
the headers of every reply, what an error looks like, and that the claims are given back at the end.

Any ASGI server runs it: ``App(read_settings(path))``.
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
from frazil.service.http.id_endpoints import ManyDoor, OneDoor
from frazil.service.http.routes import Routes
from frazil.service.http.traces import Traces
from frazil.service.problems import MEDIA_TYPE, Problem, behind
from frazil.service.redis.server import RespServer
from frazil.service.settings import Settings
from frazil.service.state import State
from frazil.service.worker_stats import Board

__all__ = ["App"]

_BY_STATUS = {404: "not-found", 405: "method-not-allowed"}


class App:
    """The application of some settings; raises ConfigError for them. Nothing is contacted.

    resp: a socket for Redis clients, which is otherwise opened at the start. seat: the board of
    several workers, and which of them this is. compared: whether the layouts of the namespaces
    have been compared with their records; they are otherwise compared at the start.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        resp: socket.socket | None = None,
        seat: tuple[Board, int] | None = None,
        compared: bool = False,
    ) -> None:
        self.state = state = State(settings, seat)
        self._resp_socket = resp
        self._compared = compared
        self._trusting = state.guard.is_open and not settings.without_tokens
        self._cors = Cors(settings.cors)
        self._traces = Traces()
        self._hot: dict[str, tuple[str, asgi.Door]] = {}
        for path, page in pages().items():
            self._hot[path] = "console", page
        for name, issuer in state.issuers.items():
            self._hot[f"/v1/{name}/id"] = "id", OneDoor(issuer, state.guard, logs.failure)
            self._hot[f"/v1/{name}/ids"] = "ids", ManyDoor(issuer, state.guard, logs.failure)
        self._rest = Starlette(
            routes=Routes(state).all(),
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
        elif self._traces.on:
            await self._traces.call(self._answer, scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.state.going:
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
        found = self._hot.get(scope["path"])
        if found is not None:
            name, door = found
            self.state.requests[name, await door(scope, receive, send)] += 1
            return
        await self._rest(scope, receive, _adding(send, asgi.SAFE, self._count))

    def _refuse(self, scope: Scope) -> None:
        """Problem for a request that is not even looked at."""
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
        if not self._compared:
            await state.begin()
        if state.settings.resp_port is not None:
            resp = RespServer(state.issuers, state.guard, state.settings)
            await resp.begin(self._resp_socket)
        tasks = [asyncio.create_task(one) for one in (state.post(), state.look_again())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            if resp is not None:
                await resp.end()
            await state.close()
            logs.event("stopped", issued={n: one.issued for n, one in state.issuers.items()})


def _adding(
    send: Send, headers: asgi.Headers, tell: Callable[[int], None] = lambda _: None
) -> Send:
    """A ``send`` whose replies have these headers too; ``tell`` is told their status."""

    async def adding(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *headers]
            tell(message["status"])
        await send(message)

    return adding


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
