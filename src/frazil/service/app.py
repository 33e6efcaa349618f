"""The HTTP API as an ASGI application.

A dictionary maps the paths of the ID endpoints and of the console's files to their endpoints;
``Routes`` answers all others. This module handles what all requests have in common: which callers
are refused, the headers of a reply, its count, and giving back claims at the end.

Any ASGI server can run it: ``App(read_settings(path))``.
"""

import asyncio
import socket
import traceback
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from ssl import SSLContext
from typing import Any

from frazil.service import logs
from frazil.service.acceptor import listen
from frazil.service.console import pages
from frazil.service.http import asgi
from frazil.service.http.asgi import BROWSER, Headers, Receive, Scope, Send, header
from frazil.service.http.id_endpoints import BatchEndpoint, SingleIdEndpoint
from frazil.service.http.routes import Routes
from frazil.service.namespace import ServedNamespace
from frazil.service.problems import Problem
from frazil.service.redis.server import RespServer
from frazil.service.settings import Settings
from frazil.service.state import State
from frazil.service.traces import Traces
from frazil.service.worker_stats import WorkerStats


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
        self._cors = Cors(settings.cors)
        self._traces = Traces()
        self._endpoints: dict[str, tuple[str, asgi.Endpoint]] = {}
        self.at_once: dict[bytes, Callable[[Mapping[bytes, bytes]], bytes | None]] = {}
        self._resp: RespServer | None = None
        for path, page in pages().items():
            self._endpoints[path] = "console", page
        for served in state.namespaces.values():
            self._serve(served)
        self._routes = Routes(state)

    def _serve(self, served: ServedNamespace) -> None:
        path, guard = f"/v1/{served.name}/id", self.state.guard
        single = SingleIdEndpoint(served, guard, self.state.requests)
        self._endpoints[path] = "id", single
        self._endpoints[f"{path}s"] = "ids", BatchEndpoint(served, guard)
        if not (self._traces.on or self._cors.on):
            self.at_once[path.encode()] = single.at_once

    def reload(self, settings: Settings, tls: SSLContext | None) -> None:
        """Use the tokens, quotas and new namespaces of other settings, and a new certificate.

        Raises ConfigError if the settings are unsafe, and changes nothing then. All else needs a
        restart.
        """
        for served in self.state.reload(settings):
            self._serve(served)
        if self._resp is not None:
            self._resp.acceptor.reload(tls)

    def stop(self) -> None:
        """Report that the service stops; each connection is closed with its next reply."""
        self.state.stopping = True
        self.at_once.clear()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live_on(receive, send)
        elif self._traces.on:
            route = self._route(scope["path"])
            await self._traces.call(self._answer, scope, receive, send, route)
        else:
            await self._answer(scope, receive, send)

    def _route(self, path: str) -> tuple[str, list[str]]:
        """The route of a path, and its values: a file of the console, or one of ``Routes``."""
        if path in self._endpoints and self._endpoints[path][0] == "console":
            return path, []
        return self._routes.find(path)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = "other"
        try:
            self._refuse(scope)
            name, endpoint = self._endpoints.get(scope["path"], (name, self._routes))
            if self._cors.on:
                send = _adding(send, self._cors.headers(scope))
                if is_preflight(scope):
                    name, endpoint = "other", preflight
            status = await endpoint(scope, receive, send)
        except Problem as problem:
            status = problem.status
            if status == 401 and asgi.has_body(scope):
                problem.headers["connection"] = "close"  # so nothing of the body is read
            own = [(k.encode(), v.encode("latin-1")) for k, v in problem.headers.items()]
            await asgi.send_whole(send, status, asgi.PROBLEM, problem.body(), (*asgi.SAFE, *own))
        self.state.requests[name, status] += 1

    def _refuse(self, scope: Scope) -> None:
        """Raise Problem for a request that must not reach an endpoint."""
        if problem := scope.get("problem"):
            raise problem
        if b"%" in (scope.get("raw_path") or b""):
            asgi.refuse_disguise(scope)
        if self.state.guard.trusting:
            asgi.refuse_strange_host(scope)
        if self.state.guard.is_open:
            self._cors.refuse_page(scope)

    async def _live_on(self, receive: Receive, send: Send) -> None:
        """Start before the first request, and stop after the last one."""
        await receive()
        step = "startup"
        try:
            async with self._running():
                await send({"type": "lifespan.startup.complete"})
                step = "shutdown"
                await receive()
        except Exception:
            await send({"type": f"lifespan.{step}.failed", "message": traceback.format_exc()})
            raise
        await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        state = self.state
        if not self._layouts_checked:
            await state.check_layouts()
        settings = state.settings
        if settings.resp_port is not None:
            listener = self._resp_socket or listen(settings.host, settings.resp_port)
            self._resp = RespServer(state, listener)
        tasks = [asyncio.create_task(one) for one in (state.publish(), state.recheck())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            if self._resp is not None:
                await self._resp.stop()
            await state.close()
            logs.event("stopped", issued={n: one.issued for n, one in state.namespaces.items()})


def _adding(send: Send, headers: asgi.Headers) -> Send:
    async def adding(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *headers]
        await send(message)

    return adding


_ALLOWED: tuple[tuple[bytes, bytes], ...] = (
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type"),
    (b"access-control-max-age", b"600"),
)
_EXPOSED = (
    b"access-control-expose-headers",
    b"frazil-namespace, frazil-scheme, frazil-fingerprint, retry-after",
)


class Cors:
    """CORS: which web pages of other origins may call the API. By default none.

    Browsers let a page read a reply only if the reply names the origin of the page. A service with
    tokens needs no more than that, because a page cannot call it without a token. Without tokens, a
    page could make the browsers of its visitors use up IDs without reading them. So such requests
    are refused by the headers that browsers send with them. "*" allows any origin. on: whether any
    is allowed.

    Sources: the Fetch standard, "CORS protocol"; Fetch Metadata, "Sec-Fetch-Site".
    """

    def __init__(self, origins: tuple[str, ...]) -> None:
        self.on = bool(origins)
        self._any = "*" in origins
        self._origins = {origin.encode() for origin in origins}

    def headers(self, scope: Scope) -> Headers:
        """Return the CORS headers of the reply to a request."""
        origin = header(scope, b"origin")
        if self._any:
            return ((b"access-control-allow-origin", b"*"), _EXPOSED)
        vary = (b"vary", b"origin")
        if origin in self._origins:
            return ((b"access-control-allow-origin", origin), vary, _EXPOSED)
        return (vary,)

    def refuse_page(self, scope: Scope) -> None:
        """Raise Problem for a request that a browser sends for a page of another origin."""
        origin, site = header(scope, b"origin"), header(scope, b"sec-fetch-site")
        if self._any or (origin and origin in self._origins):
            return
        host, referer = header(scope, b"host"), header(scope, b"referer")
        here = origin.partition(b"://")[2] == host
        link = scope["method"] == "GET" and header(scope, b"sec-fetch-dest") == b"document"
        foreign = (origin and not here) or (site in {b"cross-site", b"same-site"} and not link)
        # Over http, a browser sends Sec-Fetch only to loopback, and a page can omit Referer.
        if not site and header(scope, b"user-agent").startswith(BROWSER):
            near = referer.partition(b"://")[2].partition(b"/")[0] == host
            foreign = foreign or not (origin or near or not scope["path"].startswith("/v1/"))
        if foreign:
            raise Problem(
                "forbidden",
                "pages of this origin are not allowed; add the origin to cors in [server]",
            )


def is_preflight(scope: Scope) -> bool:
    """Whether a request asks what a page of another origin may send."""
    return scope["method"] == "OPTIONS" and bool(header(scope, b"access-control-request-method"))


async def preflight(_scope: Scope, _receive: Receive, send: Send) -> int:
    """Answer a preflight request, and return the status."""
    await send({"type": "http.response.start", "status": 204, "headers": list(_ALLOWED)})
    await send({"type": "http.response.body", "body": b""})
    return 204
