"""The HTTP door as one ASGI application.

A request finds its door by its path: those where IDs are asked for are in a dictionary, all other
paths are Starlette's. What is the same for every request stands here: who may speak to it at all,
the headers of every reply, what an error looks like, and that the claims are given back at the end.

Any ASGI server runs it: ``App(read_settings(path))``.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from frazil.errors import FrazilError
from frazil.service import asgi, logs
from frazil.service.asgi import Receive, Scope, Send
from frazil.service.board import Board, Report
from frazil.service.console import pages
from frazil.service.cors import Cors
from frazil.service.doors import ManyDoor, OneDoor
from frazil.service.issuer import Issuer
from frazil.service.metrics import Metrics
from frazil.service.problems import MEDIA_TYPE, Problem, behind
from frazil.service.resp_server import RespServer
from frazil.service.routes import Routes
from frazil.service.settings import Settings
from frazil.service.tokens import Guard
from frazil.service.traces import Traces

__all__ = ["App"]

_POST_EVERY_S = 1.0
_BY_STATUS = {404: "not-found", 405: "method-not-allowed"}


class App:
    """The application of some settings; raises ConfigError for them. Nothing is contacted.

    issuers: by namespace. requests: counts of replies by door and status. going: whether the end
    has been announced. resp: a socket for Redis clients, which is otherwise opened at the start.
    seat: the board of several workers, and which of them this is.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        resp: socket.socket | None = None,
        seat: tuple[Board, int] | None = None,
    ) -> None:
        settings.check()
        self.settings = settings
        self.going = False
        self._resp_socket = resp
        self._board: Board | None = None
        self._worker = 0
        if seat is not None:
            self._board, self._worker = seat
        self.guard = Guard(settings.tokens, None if seat is None else seat[0].buckets)
        self.issuers = {one.name: Issuer(one) for one in settings.namespaces}
        self.requests: Counter[tuple[str, int]] = Counter()
        schemes = {name: issuer.scheme.name for name, issuer in self.issuers.items()}
        self.metrics = Metrics(schemes, self.reports)
        self._trusting = self.guard.is_open and not settings.without_tokens
        self._cors = Cors(settings.cors)
        self._traces = Traces()
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
        elif self._traces.on:
            await self._traces.call(self._answer, scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._refuse(scope)
        except Problem as problem:
            await asgi.send_problem(send, problem)
            self.requests["other", problem.status] += 1
            return
        if self.going:
            send = _adding(send, ((b"connection", b"close"),))
        if self._cors.on:
            if await self._cors.answered(scope, send):
                self.requests["other", 204] += 1
                return
            send = _adding(send, self._cors.headers(scope))
        found = self._hot.get(scope["path"])
        if found is not None:
            name, door = found
            self.requests[name, await door(scope, receive, send)] += 1
            return
        await self._rest(scope, receive, _adding(send, asgi.SAFE, self._count))

    def reports(self) -> list[Report]:
        """What each worker knows, this one as of now."""
        mine = self._report({})
        others = [] if self._board is None else self._board.reports()
        return sorted(
            [mine, *(one for one in others if one.worker != self._worker)],
            key=lambda report: report.worker,
        )

    async def unready(self) -> dict[str, str]:
        """Why namespaces may be without IDs in a moment, in any of the workers."""
        if self.going:
            return dict.fromkeys(self.issuers, "the service is being stopped")
        names = list(self.issuers)
        reasons = await asyncio.gather(*(self.issuers[name].unready() for name in names))
        found = {name: why for report in self.reports() for name, why in report.unready.items()}
        return found | {name: why for name, why in zip(names, reasons, strict=True) if why}

    def _report(self, unready: dict[str, str]) -> Report:
        gauges = {name: issuer.gauge() for name, issuer in self.issuers.items()}
        return Report(self._worker, gauges, dict(self.requests), unready)

    async def _post(self, board: Board) -> None:
        """Keep what this worker knows on the board."""
        while True:
            shorts = {name: issuer.short() for name, issuer in self.issuers.items()}
            board.post(self._report({name: why for name, why in shorts.items() if why}))
            await asyncio.sleep(_POST_EVERY_S)

    def _refuse(self, scope: Scope) -> None:
        """Problem for a request that is not even looked at."""
        if b"%" in (scope.get("raw_path") or b""):
            asgi.refuse_disguise(scope)
        if self._trusting:
            asgi.refuse_strange_host(scope)
        if self.guard.is_open:
            self._cors.refuse_page(scope)

    def _count(self, status: int) -> None:
        self.requests["other", status] += 1

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        resp = None
        if self.settings.resp_port is not None:
            resp = RespServer(self.issuers, self.guard, self.settings)
            await resp.begin(self._resp_socket)
        posting = None
        if self._board is not None:
            posting = asyncio.create_task(self._post(self._board))
        try:
            yield
        finally:
            if posting is not None:
                posting.cancel()
            if resp is not None:
                await resp.end()
            await asyncio.gather(*(issuer.close() for issuer in self.issuers.values()))
            if self._board is not None:
                self._board.post(self._report({}))
            logs.event("stopped", issued={n: one.issued for n, one in self.issuers.items()})


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
