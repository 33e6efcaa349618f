"""Routes for all other requests: inspection, time windows, plans, health.

The token is checked before the namespace is looked up, so a caller without access to a namespace
does not learn whether it exists.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from frazil.errors import CodecError, Misuse
from frazil.reading.capacity import Plan, plan_of
from frazil.reading.proposals import Need, proposals
from frazil.schemes.scheme import PRESETS
from frazil.service.http import asgi
from frazil.service.http.admin_routes import AdminRoutes
from frazil.service.http.openapi import document
from frazil.service.inspection import facts_of
from frazil.service.namespace import ServedNamespace
from frazil.service.overview import overview
from frazil.service.problems import Problem, misuse, refused, unknown_namespace
from frazil.service.state import State
from frazil.service.tokens import SCOPES, Scope

__all__ = ["Routes"]

_TEXT_MOST = 2_000
_PIECE = ("name", "label", "role", "bits", "low", "reversed")


class Routes:
    """All routes except the ID endpoints."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._admin = AdminRoutes(self._served)

    def all(self) -> list[Route]:
        """Return all routes."""
        return [
            Route("/v1/{ns}/inspect/{id}", self.inspect, methods=["GET"]),
            Route("/v1/{ns}/window", self.window, methods=["GET"]),
            *self._admin.all(),
            Route("/v1/layouts", self.layouts, methods=["GET"]),
            Route("/v1/plan", self.plan, methods=["POST"]),
            Route("/v1/overview", self.overview, methods=["GET"]),
            Route("/openapi.json", self.openapi, methods=["GET"]),
            Route("/livez", self.livez, methods=["GET"]),
            Route("/readyz", self.readyz, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
        ]

    async def inspect(self, request: Request) -> Response:
        """Decode an ID."""
        served = self._served(request, "inspect")
        encoding = asgi.parameters(request.scope, "encoding").get("encoding", "")
        try:
            facts = facts_of(served, request.path_params["id"], encoding)
        except CodecError as error:
            step = (
                f"Send an ID of scheme {served.scheme.name}, or name its encoding (?encoding=). "
                "POST /v1/{ns}/find reads IDs of any scheme."
            )
            raise misuse(error, step, **served.names) from None
        except Misuse as error:
            raise misuse(error, **served.names) from None
        return _answer(served, facts)

    async def window(self, request: Request) -> Response:
        """Return the range of IDs of a time window."""
        served = self._served(request, "inspect")
        scheme = served.scheme
        query = asgi.parameters(request.scope, "from", "to")
        first, end = (_moment(query, name, served) for name in ("from", "to"))
        try:
            found = scheme.window(first, end)
        except Misuse as error:
            raise misuse(error, **served.names) from None
        answer: dict[str, Any] = {"from": _utc_text(first), "to": _utc_text(end)}
        for name, at in (("first", 0), ("last", -1)):
            answer[name] = scheme.format(found[at]) if found else None
            answer[f"{name}_number"] = str(found[at]) if found else None
        return _answer(served, answer)

    async def layouts(self, request: Request) -> Response:
        """List the named schemes, and the namespaces that the token allows."""
        asgi.parameters(request.scope)
        self._allow(request, None, None)
        mine = [
            {"namespace": name, "scheme": served.scheme.name, "layout": str(served.scheme.layout)}
            for name, served in self.state.namespaces.items()
            if any(self._refusal(request, scope, name) is None for scope in SCOPES)
        ]
        plans = [_planned(plan_of(name)) for name in PRESETS]
        return JSONResponse({"namespaces": mine, "layouts": plans})

    async def plan(self, request: Request) -> Response:
        """Compute the lifetime and capacity of a layout, or propose layouts for a need."""
        asgi.parameters(request.scope)
        self._allow(request, None, None)
        query = asgi.members(await asgi.body_of(request.receive), "layout", "epoch", "bits", "need")
        if "need" in query:
            return _proposed(query)
        spec, epoch, bits = (query.get(name) for name in ("layout", "epoch", "bits"))
        if not isinstance(spec, str) or not 0 < len(spec) <= _TEXT_MOST:
            raise Problem(
                "bad-request", f"layout: a name or layout string of 1 to {_TEXT_MOST} characters"
            )
        if not isinstance(epoch, str | None):
            raise Problem("bad-request", "epoch: a time as a string, like '2025-01-01T00:00:00Z'")
        if not isinstance(bits, int | None) or isinstance(bits, bool):
            raise Problem("bad-request", "bits: an integer")
        try:
            return JSONResponse(_planned(plan_of(spec, epoch, bits)))
        except Misuse as error:
            raise misuse(error) from None

    async def overview(self, request: Request) -> Response:
        """Return what is known of all namespaces that the token may administer."""
        asgi.parameters(request.scope)
        self._allow(request, "admin", None)
        return JSONResponse(await overview(self.state, self._administered(request)))

    async def openapi(self, request: Request) -> Response:
        """Return the OpenAPI document."""
        asgi.parameters(request.scope)
        return JSONResponse(document(tokens=not self.state.guard.is_open))

    async def livez(self, _request: Request) -> Response:
        """Report that the process runs; this does not depend on registries."""
        return JSONResponse({"live": True})

    async def readyz(self, request: Request) -> Response:
        """Report whether every namespace will still have IDs in a moment; 503 if not.

        Callers with scope admin get their namespaces and the reasons.
        """
        unready = await self.state.unready()
        answer: dict[str, Any] = {"ready": not unready}
        if mine := self._administered(request):
            answer["namespaces"] = {name: unready.get(name, "ready") for name in mine}
        return JSONResponse(answer, 503 if unready else 200)

    async def metrics(self, request: Request) -> Response:
        """Return the Prometheus metrics of the namespaces that the token allows."""
        self._allow(request, "admin", None)
        text = self.state.metrics.text(self._administered(request))
        return Response(text, media_type=self.state.metrics.media_type)

    def _administered(self, request: Request) -> list[str]:
        """Return the namespaces whose state a caller may see."""
        names = list(self.state.namespaces)
        return [name for name in names if self._refusal(request, "admin", name) is None]

    def _refusal(self, request: Request, scope: Any, namespace: str | None) -> Any:
        return self.state.guard.refusal(asgi.bearer(request.scope), scope, namespace)

    def _allow(self, request: Request, scope: Scope | None, namespace: str | None) -> None:
        refusal = self._refusal(request, scope, namespace)
        if refusal is not None:
            raise refused(refusal)

    def _served(self, request: Request, scope: Scope) -> ServedNamespace:
        """Return the namespace of a path. Raises Problem if it is unknown or not allowed."""
        name = request.path_params["ns"]
        self._allow(request, scope, name)
        served = self.state.namespaces.get(name)
        if served is None:
            raise unknown_namespace(name)
        return served


def _answer(served: ServedNamespace, more: dict[str, Any]) -> Response:
    headers = {f"frazil-{name}": value for name, value in served.names.items()}
    return JSONResponse({**served.names, **more}, headers=headers)


def _utc_text(when: datetime) -> str:
    """A time of UTC, as all times of the service are written."""
    return when.isoformat().replace("+00:00", "Z")


def _moment(query: Mapping[str, str], name: str, served: ServedNamespace) -> datetime:
    """Return a time of the query. A date alone means midnight UTC; a time needs an offset."""
    text = query.get(name, "")
    try:
        when = datetime.fromisoformat(text)
        if len(text) == len("2025-01-01"):
            return when.replace(tzinfo=UTC)
        if when.tzinfo is not None:
            return when.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise misuse(
        Misuse(
            f"?{name}={text[:40]!r} is not a time; write it like 2025-01-01T00:00:00Z (the '+' "
            "of an offset is %2B in a query)",
            field=name,
        ),
        **served.names,
    )


def _proposed(query: Mapping[str, Any]) -> Response:
    """Answer the request of a need: nodes, IDs per second of each, and the last year."""
    need = query["need"]
    kinds = {"nodes": int, "rate_hz": int | float, "year": int}
    if (
        len(query) > 1
        or not isinstance(need, dict)
        or need.keys() != kinds.keys()
        or not all(isinstance(need[name], kind) for name, kind in kinds.items())
        or any(isinstance(value, bool) for value in need.values())
    ):
        raise Problem(
            "bad-request", 'need: only {"nodes": 200, "rate_hz": 5000, "year": 2060}, all numbers'
        )
    try:
        plans = proposals(Need(need["nodes"], need["rate_hz"], need["year"]))
    except Misuse as error:
        raise misuse(error) from None
    return JSONResponse({"proposals": [_planned(plan) for plan in plans]})


def _planned(plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON, with its pieces from the most significant, tick and epoch."""
    tick, _, epoch = str(plan.layout).partition(" @")[2].partition(" since ")
    return {
        **plan.as_json(),
        "unsorted": plan.unsorted or None,
        "tick": tick or None,
        "epoch": epoch or None,
        "pieces": [
            {name: getattr(piece, name) for name in _PIECE}
            | {"value": None if piece.value is None else str(piece.value)}
            for piece in plan.layout.pieces
        ],
    }
