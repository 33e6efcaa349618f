"""What is asked now and then: what is in an ID, which IDs a time has, plans, health.

A door of the hot path has an address of its own for each namespace; here a namespace is part of the
address, and is found, or is not, after the token was looked at: whoever may not ask about a
namespace does not learn whether it exists.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from frazil.errors import Misuse
from frazil.reading.capacity import Plan, plan_of
from frazil.schemes.scheme import PRESETS
from frazil.service.http import asgi
from frazil.service.http.admin_routes import Views
from frazil.service.http.openapi import document
from frazil.service.inspection import facts_of
from frazil.service.namespace import Issuer
from frazil.service.problems import Problem, misuse, refused
from frazil.service.state import State
from frazil.service.tokens import SCOPES, Scope

__all__ = ["Routes"]

_TEXT_MOST = 2_000


class Routes:
    """The addresses of a service beside those of the hot path."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._views = Views(state, self._issuer)

    def all(self) -> list[Route]:
        """Every route; those of the hot path too, for namespaces that are not served."""
        return [
            Route("/v1/{ns}/id", self.no_namespace, methods=["GET"]),
            Route("/v1/{ns}/ids", self.no_namespace, methods=["POST"]),
            Route("/v1/{ns}/inspect/{id}", self.inspect, methods=["GET"]),
            Route("/v1/{ns}/window", self.window, methods=["GET"]),
            *self._views.all(),
            Route("/v1/layouts", self.layouts, methods=["GET"]),
            Route("/v1/plan", self.plan, methods=["POST"]),
            Route("/openapi.json", self.openapi, methods=["GET"]),
            Route("/livez", self.livez, methods=["GET"]),
            Route("/readyz", self.readyz, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
        ]

    async def no_namespace(self, request: Request) -> Response:
        """An ID of a namespace that is not served."""
        self._issuer(request, "issue")
        raise Problem("not-found", "there is nothing here")

    async def inspect(self, request: Request) -> Response:
        """What is in an ID."""
        issuer = self._issuer(request, "inspect")
        encoding = asgi.parameters(request.scope, "encoding").get("encoding", "")
        try:
            facts = facts_of(issuer, request.path_params["id"], encoding)
        except Misuse as error:
            raise misuse(error, **_names(issuer)) from None
        return _answer(issuer, facts)

    async def window(self, request: Request) -> Response:
        """The IDs of a stretch of time."""
        issuer = self._issuer(request, "inspect")
        scheme = issuer.scheme
        asked = asgi.parameters(request.scope, "from", "to")
        first, end = (_moment(asked, name, issuer) for name in ("from", "to"))
        try:
            found = scheme.window(first, end)
        except Misuse as error:
            raise misuse(error, **_names(issuer)) from None
        ends = (found[0], found[-1]) if found else (None, None)
        return _answer(
            issuer,
            {
                "from": first.isoformat(),
                "to": end.isoformat(),
                "first": None if ends[0] is None else scheme.format(ends[0]),
                "last": None if ends[1] is None else scheme.format(ends[1]),
                "first_number": None if ends[0] is None else str(ends[0]),
                "last_number": None if ends[1] is None else str(ends[1]),
            },
        )

    async def layouts(self, request: Request) -> Response:
        """The schemes that have names, and the namespaces that the caller's token is for."""
        asgi.parameters(request.scope)
        self._allow(request, None, None)
        mine = [
            {"namespace": name, "scheme": issuer.scheme.name, "layout": str(issuer.scheme.layout)}
            for name, issuer in self.state.issuers.items()
            if any(self._refusal(request, scope, name) is None for scope in SCOPES)
        ]
        plans = [_planned(plan_of(name)) for name in PRESETS]
        return JSONResponse({"namespaces": mine, "layouts": plans})

    async def plan(self, request: Request) -> Response:
        """How long a layout lasts, and how much it carries."""
        asgi.parameters(request.scope)
        self._allow(request, None, None)
        asked = asgi.members(await asgi.body_of(request.receive), "layout", "epoch", "bits")
        spec, epoch, bits = (asked.get(name) for name in ("layout", "epoch", "bits"))
        if not isinstance(spec, str) or not 0 < len(spec) <= _TEXT_MOST:
            raise Problem(
                "bad-request", f"layout: a scheme's name or a layout text of 1 to {_TEXT_MOST}"
            )
        if not isinstance(epoch, str | None):
            raise Problem("bad-request", "epoch: a moment as text, like '2025-01-01T00:00:00Z'")
        if not isinstance(bits, int | None) or isinstance(bits, bool):
            raise Problem("bad-request", "bits: a whole number")
        try:
            return JSONResponse(_planned(plan_of(spec, epoch, bits)))
        except Misuse as error:
            raise misuse(error) from None

    async def openapi(self, request: Request) -> Response:
        """What this service answers, for programs."""
        asgi.parameters(request.scope)
        return JSONResponse(document(tokens=not self.state.guard.is_open))

    async def livez(self, _request: Request) -> Response:
        """That the process runs; nothing to do with its registries."""
        return JSONResponse({"live": True})

    async def readyz(self, request: Request) -> Response:
        """Whether every namespace will still have IDs in a moment; 503 if one will not.

        Which one, and why, is told to tokens of scope admin.
        """
        unready = await self.state.unready()
        answer: dict[str, Any] = {"ready": not unready}
        if self._refusal(request, "admin", None) is None:
            answer["namespaces"] = {name: unready.get(name, "ready") for name in self.state.issuers}
        return JSONResponse(answer, 503 if unready else 200)

    async def metrics(self, request: Request) -> Response:
        """What Prometheus reads."""
        self._allow(request, "admin", None)
        return Response(self.state.metrics.text(), media_type=self.state.metrics.media_type)

    def _refusal(self, request: Request, scope: Any, namespace: str | None) -> Any:
        return self.state.guard.refusal(asgi.bearer(request.scope), scope, namespace)

    def _allow(self, request: Request, scope: Scope | None, namespace: str | None) -> None:
        refusal = self._refusal(request, scope, namespace)
        if refusal is not None:
            raise refused(refusal)

    def _issuer(self, request: Request, scope: Scope) -> Issuer:
        """The namespace of the address; Problem for one that is not served, or not allowed."""
        name = request.path_params["ns"]
        self._allow(request, scope, name)
        issuer = self.state.issuers.get(name)
        if issuer is None:
            raise Problem(
                "unknown-namespace", "GET /v1/layouts lists the namespaces", namespace=name[:64]
            )
        return issuer


def _names(issuer: Issuer) -> dict[str, str]:
    return {"namespace": issuer.name, "scheme": issuer.scheme.name}


def _answer(issuer: Issuer, more: dict[str, Any]) -> Response:
    headers = {"frazil-namespace": issuer.name, "frazil-scheme": issuer.scheme.name}
    return JSONResponse({**_names(issuer), **more}, headers=headers)


def _moment(asked: Mapping[str, str], name: str, issuer: Issuer) -> datetime:
    """A moment of the query. A date alone is midnight in UTC; a time needs its offset."""
    text = asked.get(name, "")
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
            f"?{name}={text[:40]!r} is no moment; write it like 2025-01-01T00:00:00Z (a '+' of an "
            "offset is %2B in a query)",
            field=name,
        ),
        **_names(issuer),
    )


def _planned(plan: Plan) -> dict[str, Any]:
    """A plan with its fields, most significant piece first, and the end of its text."""
    tick, _, epoch = str(plan.layout).partition(" @")[2].partition(" since ")
    return {
        **plan.as_json(),
        "unsorted": plan.unsorted or None,
        "tick": tick or None,
        "epoch": epoch or None,
        "pieces": [
            {
                "name": piece.name,
                "label": piece.label,
                "role": piece.role,
                "bits": piece.bits,
                "low": piece.low,
                "reversed": piece.reversed,
                "value": None if piece.value is None else str(piece.value),
            }
            for piece in plan.layout.pieces
        ],
    }
