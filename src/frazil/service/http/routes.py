"""The routes that make no IDs: inspection, time windows, plans, claims, state, health.

The console uses only these routes, so a script can get everything that the console shows. The token
is checked before the namespace is looked up, so a caller without access to a namespace does not
learn whether it exists. Claims and errors name hosts, so they require a token with scope ``admin``.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

from frazil.claims.claim import Snapshot
from frazil.claims.fleet import fleet_of
from frazil.claims.holder import Holder
from frazil.claims.holding import NodeHolding, node_holdings
from frazil.errors import CodecError, FrazilError, LayoutError, Misuse
from frazil.layout.layout import Layout
from frazil.reading.capacity import Need, Plan, plan_of, proposals
from frazil.schemes.presets import PRESETS
from frazil.schemes.scheme import epoch_us
from frazil.service import logs
from frazil.service.http import asgi
from frazil.service.http.asgi import Receive, Reply, Scope, Send, as_json
from frazil.service.http.openapi import document
from frazil.service.inspection import TEXT_MOST, facts_of, findings_of
from frazil.service.namespace import ServedNamespace
from frazil.service.problems import Problem, busy, misuse, no_id, refused, unknown_namespace
from frazil.service.state import State, figures_of, overview
from frazil.service.tokens import SCOPES, Refusal
from frazil.service.tokens import Scope as Right
from frazil.service.worker_stats import MEDIA_TYPE, Metrics
from frazil.system.clock import moment_text

SLOTS_MOST = 1_000  # the most slots that are reported; held slots come first
_SEARCHES_MOST = 10  # of which one runs: it slows down the event loop, as both need the interpreter
_LAYOUT_MOST = 2_000
_PIECE = ("name", "label", "role", "bits", "low", "reversed")
_STATES = ("held", "idle", "free")


class _Asked(NamedTuple):
    """A request, its query, and the last part of its path where that is an ID."""

    scope: Scope
    receive: Receive
    query: Mapping[str, str]
    text: str


class _Route(NamedTuple):
    """A path: its methods, the right that it needs, what answers, and its query parameters.

    right: "any" is that of any token, and "" needs none. handler: gets the namespace of the path,
    if it has one; None where an endpoint answers for each namespace. query: None allows any.
    """

    methods: str
    right: Right | Literal["any", ""]
    handler: Callable[..., Awaitable[Reply]] | None
    query: tuple[str, ...] | None = ()


class Routes:
    """An endpoint for all paths of ``table``."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._searches = ThreadPoolExecutor(1, "frazil-find")
        self._searching: list[Future[list[dict[str, Any]]]] = []
        read = "GET, HEAD"
        self.table = {
            "/v1/{ns}/id": _Route("GET", "issue", None),
            "/v1/{ns}/ids": _Route("POST", "issue", None),
            "/v1/{ns}/inspect/{id}": _Route(read, "inspect", self._inspect, ("encoding",)),
            "/v1/{ns}/window": _Route(read, "inspect", self._window, ("from", "to")),
            "/v1/{ns}/find": _Route("POST", "inspect", self._find),
            "/v1/{ns}/claims": _Route(read, "admin", self._claims),
            "/v1/{ns}/status": _Route(read, "admin", self._status),
            "/v1/layouts": _Route(read, "any", self._layouts),
            "/v1/plan": _Route("POST", "any", self._plan),
            "/v1/overview": _Route(read, "admin", self._overview),
            "/openapi.json": _Route(read, "", self._openapi),
            "/livez": _Route(read, "", self._livez, None),
            "/readyz": _Route(read, "", self._readyz, None),
            "/metrics": _Route(read, "admin", self._metrics, None),
        }

    def find(self, path: str) -> tuple[str, list[str]]:
        """The path of ``table`` that a path matches, or "", and its values of {ns} and {id}."""
        parts = path.split("/")
        values: list[str] = []
        if parts[1:2] == ["v1"] and ("{" in path or path not in self.table):
            values = [*parts[2:3], *parts[4:]]
            parts[2:3], parts[4:] = ["{ns}"], ["{id}"] * len(parts[4:])
        template = "/".join(parts)
        return (template, values) if template in self.table and all(values) else ("", [])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> int:
        template, names = self.find(scope["path"])
        if not template:
            raise Problem("not-found", "GET /openapi.json lists the paths")
        route = self.table[template]
        asgi.refuse_method(scope, route.methods)
        try:
            reply = await self._answer(route, scope, receive, *names)
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

    async def _answer(
        self, route: _Route, scope: Scope, receive: Receive, namespace: str = "", text: str = ""
    ) -> Reply:
        if route.right:
            right = None if route.right == "any" else route.right
            refusal = self._refusal(scope, right, namespace or None)
            if refusal is not None:
                raise refused(refusal)
        served = self.state.namespaces.get(namespace)
        if route.handler is None or (namespace and served is None):
            raise unknown_namespace(namespace)
        query = {} if route.query is None else asgi.parameters(scope, *route.query)
        asked = _Asked(scope, receive, query, text)
        return await (route.handler(asked) if served is None else route.handler(served, asked))

    async def _inspect(self, served: ServedNamespace, asked: _Asked) -> Reply:
        try:
            facts = facts_of(served, asked.text, asked.query.get("encoding", ""))
        except CodecError as error:
            step = (
                f"Send an ID of scheme {served.scheme.name}, or name its encoding (?encoding=). "
                "POST /v1/{ns}/find reads IDs of any scheme."
            )
            raise misuse(error, step, **served.names) from None
        except Misuse as error:
            raise misuse(error, **served.names) from None
        return _answer(served, facts)

    async def _window(self, served: ServedNamespace, asked: _Asked) -> Reply:
        scheme = served.scheme
        first, end = (_moment_us(asked.query, name, served) for name in ("from", "to"))
        try:
            found = scheme.window(first, end)
        except Misuse as error:
            raise misuse(error, **served.names) from None
        answer: dict[str, Any] = {"from": moment_text(first), "to": moment_text(end)}
        for name, at in (("first", 0), ("last", -1)):
            answer[name] = scheme.format(found[at]) if found else None
            answer[f"{name}_number"] = str(found[at]) if found else None
        return _answer(served, answer)

    async def _find(self, served: ServedNamespace, asked: _Asked) -> Reply:
        """Find the IDs in a text.

        The text is in the body, not in the URL, because proxies log URLs.
        """
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

    async def _claims(self, served: ServedNamespace, _asked: _Asked) -> Reply:
        snapshot = await served.record.read()
        return as_json({**served.names, **_record(served, snapshot)})

    async def _status(self, served: ServedNamespace, _asked: _Asked) -> Reply:
        """Return the state of a namespace in the process that answers."""
        status, here = served.status(), Holder.here()
        why = await served.unready()
        facts = {"host": here.host, "process": int(here.process), "ready": not why}
        return as_json({**served.names, **facts, "why": why or None, **figures_of(status)})

    async def _layouts(self, asked: _Asked) -> Reply:
        """List the named schemes, and the namespaces that the token allows."""
        mine = [
            {"namespace": name, "scheme": served.scheme.name, "layout": str(served.scheme.layout)}
            for name, served in self.state.namespaces.items()
            if any(self._refusal(asked.scope, right, name) is None for right in SCOPES)
        ]
        plans = [_planned(plan_of(name)) for name in PRESETS]
        return as_json({"namespaces": mine, "layouts": plans})

    async def _plan(self, asked: _Asked) -> Reply:
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
        return as_json(await overview(self.state, self._administered(asked)))

    async def _openapi(self, _asked: _Asked) -> Reply:
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
        namespaces = self.state.namespaces
        schemes = {name: namespaces[name].scheme.name for name in self._administered(asked)}
        return Reply(Metrics(schemes, self.state.reports()).text(), MEDIA_TYPE)

    def _administered(self, asked: _Asked) -> list[str]:
        names = list(self.state.namespaces)
        return [name for name in names if self._refusal(asked.scope, "admin", name) is None]

    def _refusal(self, scope: Scope, right: Right | None, name: str | None) -> Refusal | None:
        return self.state.guard.refusal(asgi.bearer(scope), right, name)


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
        detail = f"?{name}={text[:40]!r} is not a time; {words}"
        raise Problem("bad-request", detail, None, field=name, **served.names) from None


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
