"""The routes that make no IDs: inspection, time windows, plans, claims, state, health.

The console uses only these routes, so a script can get everything that the console shows. The token
is checked before the namespace is looked up, so a caller without access to a namespace does not
learn whether it exists. Claims and errors name hosts, so they require a token with scope ``admin``.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from frazil.claims.claim import Snapshot
from frazil.claims.fleet import fleet_of
from frazil.claims.holder import Holder
from frazil.claims.holding import NodeHolding, node_holdings
from frazil.errors import CodecError, FrazilError, LayoutError, Misuse
from frazil.layout.layout import Layout
from frazil.reading.capacity import Plan, plan_of
from frazil.reading.proposals import Need, proposals
from frazil.schemes.presets import PRESETS
from frazil.schemes.scheme import epoch_us
from frazil.service import logs
from frazil.service.http import asgi
from frazil.service.http.asgi import Receive, Reply, Scope, Send, as_json
from frazil.service.http.openapi import document
from frazil.service.inspection import TEXT_MOST, facts_of, findings_of
from frazil.service.metrics import MEDIA_TYPE, Metrics
from frazil.service.namespace import ServedNamespace
from frazil.service.overview import overview
from frazil.service.problems import Problem, busy, misuse, no_id, refused, unknown_namespace
from frazil.service.state import State
from frazil.service.tokens import SCOPES, Refusal
from frazil.service.tokens import Scope as Right
from frazil.system.clock import moment_text

SLOTS_MOST = 1_000  # the most slots that are reported; held slots come first
_SEARCHES_MOST = 10  # of which one runs: it slows down the event loop, as both need the interpreter
_LAYOUT_MOST = 2_000
_PIECE = ("name", "label", "role", "bits", "low", "reversed")
_GAUGES = ("issued", "waits", "failures", "lead_s", "claim_left_s", "trouble_s", "exhausted_in_s")
_STATES = ("held", "idle", "free")


class _Asked(NamedTuple):
    """A request, and the parts of its path."""

    scope: Scope
    receive: Receive
    namespace: str = ""
    text: str = ""


_Handler = Callable[[_Asked], Awaitable[Reply]]


class Routes:
    """An endpoint for all paths of ``table``: the methods that each allows, and what answers."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._searches = ThreadPoolExecutor(1, "frazil-find")
        self._searching: list[Future[list[dict[str, Any]]]] = []
        self.table: dict[str, tuple[str, _Handler]] = {
            "/v1/{ns}/id": ("GET", self._unserved),
            "/v1/{ns}/ids": ("POST", self._unserved),
            "/v1/{ns}/inspect/{id}": ("GET, HEAD", self._inspect),
            "/v1/{ns}/window": ("GET, HEAD", self._window),
            "/v1/{ns}/find": ("POST", self._find),
            "/v1/{ns}/claims": ("GET, HEAD", self._claims),
            "/v1/{ns}/status": ("GET, HEAD", self._status),
            "/v1/layouts": ("GET, HEAD", self._layouts),
            "/v1/plan": ("POST", self._plan),
            "/v1/overview": ("GET, HEAD", self._overview),
            "/openapi.json": ("GET, HEAD", self._openapi),
            "/livez": ("GET, HEAD", self._livez),
            "/readyz": ("GET, HEAD", self._readyz),
            "/metrics": ("GET, HEAD", self._metrics),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> int:
        """Answer a request and return the status. Raises Problem."""
        path, parts = scope["path"], scope["path"].split("/")
        names: list[str] = []
        if path not in self.table and parts[1:2] == ["v1"]:
            names = [*parts[2:3], *parts[4:]]
            parts[2:3], parts[4:] = ["{ns}"], ["{id}"] * len(parts[4:])
        methods, handler = self.table.get("/".join(parts), ("", None))
        if handler is None or not all(names):
            raise Problem("not-found", "GET /openapi.json lists the paths")
        asgi.refuse_method(scope, methods)
        try:
            reply = await handler(_Asked(scope, receive, *names))
        except Problem:
            raise
        except FrazilError as error:
            logs.failure("", error)
            raise no_id(error) from None
        except Exception as error:  # noqa: BLE001 - after a bug too, the client gets a reply
            logs.bug(error)
            raise Problem("internal", "report it with the traceback from the log") from None
        headers = (*asgi.SAFE, *reply.headers)
        await asgi.send_whole(send, reply.status, reply.media_type, reply.body, headers)
        return reply.status

    async def _unserved(self, asked: _Asked) -> Reply:
        """Refuse IDs of a namespace that has no endpoint. A refused caller cannot tell the two."""
        self._allow(asked, "issue", asked.namespace)
        raise unknown_namespace(asked.namespace)

    async def _inspect(self, asked: _Asked) -> Reply:
        served = self._served(asked, "inspect")
        encoding = asgi.parameters(asked.scope, "encoding").get("encoding", "")
        try:
            facts = facts_of(served, asked.text, encoding)
        except CodecError as error:
            step = (
                f"Send an ID of scheme {served.scheme.name}, or name its encoding (?encoding=). "
                "POST /v1/{ns}/find reads IDs of any scheme."
            )
            raise misuse(error, step, **served.names) from None
        except Misuse as error:
            raise misuse(error, **served.names) from None
        return _answer(served, facts)

    async def _window(self, asked: _Asked) -> Reply:
        served = self._served(asked, "inspect")
        scheme = served.scheme
        query = asgi.parameters(asked.scope, "from", "to")
        first, end = (_moment_us(query, name, served) for name in ("from", "to"))
        try:
            found = scheme.window(first, end)
        except Misuse as error:
            raise misuse(error, **served.names) from None
        answer: dict[str, Any] = {"from": moment_text(first), "to": moment_text(end)}
        for name, at in (("first", 0), ("last", -1)):
            answer[name] = scheme.format(found[at]) if found else None
            answer[f"{name}_number"] = str(found[at]) if found else None
        return _answer(served, answer)

    async def _find(self, asked: _Asked) -> Reply:
        """Find the IDs in a text.

        The text is in the body, not in the URL, because proxies log URLs.
        """
        served = self._served(asked, "inspect")
        asgi.parameters(asked.scope)
        query = asgi.members(await asgi.body_of(asked.receive), "text", "scheme")
        text, spec = query.get("text"), query.get("scheme", "")
        if not isinstance(text, str) or not 0 < len(text.strip()) <= TEXT_MOST:
            raise Problem(
                "bad-request", f"text: an ID, or a text with IDs, from 1 to {TEXT_MOST} characters"
            )
        if not isinstance(spec, str):
            raise Problem("bad-request", "scheme: the name of a scheme, or omit it")
        # One goes on if its caller is cancelled.
        self._searching = [one for one in self._searching if not one.done()]
        if len(self._searching) >= _SEARCHES_MOST:
            raise busy(**served.names)
        self._searching.append(self._searches.submit(findings_of, served, text, spec))
        try:
            found = await asyncio.wrap_future(self._searching[-1])
        except Misuse as error:
            raise misuse(error, **served.names) from None
        return as_json({**served.names, "found": found})

    async def _claims(self, asked: _Asked) -> Reply:
        served = self._served(asked, "admin")
        asgi.parameters(asked.scope)
        snapshot = await served.record.read()
        return as_json({**served.names, **_record(served, snapshot)})

    async def _status(self, asked: _Asked) -> Reply:
        """Return the state of a namespace in the process that answers."""
        served = self._served(asked, "admin")
        asgi.parameters(asked.scope)
        gauge, here = served.gauge(), Holder.here()
        why = await served.unready()
        return as_json(
            {
                **served.names,
                "host": here.host,
                "process": int(here.process),
                "ready": not why,
                "why": why or None,
                **{name: getattr(gauge, name) for name in _GAUGES},
            }
        )

    async def _layouts(self, asked: _Asked) -> Reply:
        """List the named schemes, and the namespaces that the token allows."""
        asgi.parameters(asked.scope)
        self._allow(asked, None, None)
        mine = [
            {"namespace": name, "scheme": served.scheme.name, "layout": str(served.scheme.layout)}
            for name, served in self.state.namespaces.items()
            if any(self._refusal(asked, right, name) is None for right in SCOPES)
        ]
        plans = [_planned(plan_of(name)) for name in PRESETS]
        return as_json({"namespaces": mine, "layouts": plans})

    async def _plan(self, asked: _Asked) -> Reply:
        asgi.parameters(asked.scope)
        self._allow(asked, None, None)
        query = asgi.members(await asgi.body_of(asked.receive), "layout", "epoch", "bits", "need")
        if "need" in query:
            return _proposed(query)
        spec, epoch, bits = (query.get(name) for name in ("layout", "epoch", "bits"))
        if not isinstance(spec, str) or not 0 < len(spec) <= _LAYOUT_MOST:
            raise Problem(
                "bad-request", f"layout: a name or layout string of 1 to {_LAYOUT_MOST} characters"
            )
        if not isinstance(epoch, str | None):
            raise Problem("bad-request", "epoch: a time as a string, like '2025-01-01T00:00:00Z'")
        if not _is(bits, int | None):
            raise Problem("bad-request", "bits: an integer")
        try:
            return as_json(_planned(plan_of(spec, epoch, bits)))
        except Misuse as error:
            raise misuse(error) from None

    async def _overview(self, asked: _Asked) -> Reply:
        asgi.parameters(asked.scope)
        self._allow(asked, "admin", None)
        return as_json(await overview(self.state, self._administered(asked)))

    async def _openapi(self, asked: _Asked) -> Reply:
        asgi.parameters(asked.scope)
        return as_json(document(tokens=not self.state.guard.is_open))

    async def _livez(self, _asked: _Asked) -> Reply:
        """Report that the process runs; this does not depend on registries."""
        return as_json({"live": True})

    async def _readyz(self, asked: _Asked) -> Reply:
        """Report whether every namespace will still have IDs in a moment; 503 if not.

        Callers with scope admin get their namespaces and the reasons.
        """
        unready = await self.state.unready()
        answer: dict[str, Any] = {"ready": not unready}
        if mine := self._administered(asked):
            answer["namespaces"] = {name: unready.get(name, "ready") for name in mine}
        return as_json(answer, 503 if unready else 200)

    async def _metrics(self, asked: _Asked) -> Reply:
        self._allow(asked, "admin", None)
        namespaces = self.state.namespaces
        schemes = {name: namespaces[name].scheme.name for name in self._administered(asked)}
        return Reply(Metrics(schemes, self.state.reports()).text(), MEDIA_TYPE)

    def _administered(self, asked: _Asked) -> list[str]:
        names = list(self.state.namespaces)
        return [name for name in names if self._refusal(asked, "admin", name) is None]

    def _refusal(self, asked: _Asked, right: Right | None, name: str | None) -> Refusal | None:
        return self.state.guard.refusal(asgi.bearer(asked.scope), right, name)

    def _allow(self, asked: _Asked, right: Right | None, name: str | None) -> None:
        refusal = self._refusal(asked, right, name)
        if refusal is not None:
            raise refused(refusal)

    def _served(self, asked: _Asked, right: Right) -> ServedNamespace:
        self._allow(asked, right, asked.namespace)
        served = self.state.namespaces.get(asked.namespace)
        if served is None:
            raise unknown_namespace(asked.namespace)
        return served


def _answer(served: ServedNamespace, more: dict[str, Any]) -> Reply:
    headers = [(f"frazil-{name}".encode(), value.encode()) for name, value in served.names.items()]
    return as_json({**served.names, **more}, headers=headers)


def _moment_us(query: Mapping[str, str], name: str, served: ServedNamespace) -> int:
    """Return a time of the query. A date alone means midnight UTC; a time needs an offset."""
    text = query.get(name, "")
    try:
        return epoch_us(text)
    except Misuse:
        words = "write it like 2025-01-01T00:00:00Z (the '+' of an offset is %2B in a query)"
        error = Misuse(f"?{name}={text[:40]!r} is not a time; {words}", field=name)
        raise misuse(error, **served.names) from None


def _record(served: ServedNamespace, snapshot: Snapshot | None) -> dict[str, Any]:
    """Return a record as JSON. Field values are strings, since they may exceed 2**53."""
    slots = node_holdings(snapshot)
    count = Counter(slot.state for slot in slots)
    slots.sort(key=lambda slot: (_STATES.index(slot.state), slot.holding.slot))
    layout = served.scheme.layout if not slots else slots[0].layout
    return {
        "axis": layout.axis,
        "nodes": layout.nodes,
        "now": None if snapshot is None else moment_text(snapshot.now_us),
        "now_value": None if snapshot is None else _now_value(layout, snapshot.now_us),
        "fleet": fleet_of(slots, layout)._asdict(),
        "counts": {state: count[state] for state in _STATES},
        "away": 0 if snapshot is None else len(snapshot.away),
        "slots": [_slot(slot) for slot in slots[:SLOTS_MOST]],
    }


def _slot(slot: NodeHolding) -> dict[str, Any]:
    found = slot.as_json()
    found["constants"] = {name: str(value) for name, value in found["constants"].items()}
    return {**found, **{name: str(found[name]) for name in ("node", "start_value", "until_value")}}


def _now_value(layout: Layout, now_us: int) -> str | None:
    """Return the position of the registry's clock on the axis; None if the axis is not time."""
    if layout.tick_us is None:
        return None
    try:
        return str(layout.tick_at(now_us))
    except LayoutError:  # after its last tick
        return None


def _is(value: object, kind: Any) -> bool:
    """Whether a value of JSON has a type; a boolean is no number."""
    return isinstance(value, kind) and not isinstance(value, bool)


def _proposed(query: Mapping[str, Any]) -> Reply:
    """Answer the request of a need: nodes, IDs per second of each, and the last year."""
    need = query["need"]
    kinds = {"nodes": int, "rate_hz": int | float, "year": int}
    right = isinstance(need, dict) and need.keys() == kinds.keys() and len(query) == 1
    if not right or not all(_is(need[name], kind) for name, kind in kinds.items()):
        raise Problem(
            "bad-request", 'need: only {"nodes": 200, "rate_hz": 5000, "year": 2060}, all numbers'
        )
    try:
        plans = proposals(Need(need["nodes"], need["rate_hz"], need["year"]))
    except Misuse as error:
        raise misuse(error) from None
    return as_json({"proposals": [_planned(plan) for plan in plans]})


def _planned(plan: Plan) -> dict[str, Any]:
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
