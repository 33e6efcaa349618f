"""Routes for people: claims, status, and the IDs in a text.

The console uses only these routes and those in ``routes``, so a script can get everything that the
console shows. Claims name hosts and processes, so they require a token with scope ``admin``.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from frazil.claims.claim import Snapshot
from frazil.claims.fleet import fleet_of
from frazil.claims.holder import Holder
from frazil.claims.holding import NodeHolding, node_holdings
from frazil.errors import LayoutError, Misuse
from frazil.layout.layout import Layout
from frazil.service.http import asgi
from frazil.service.inspection import findings_of
from frazil.service.namespace import ServedNamespace
from frazil.service.problems import Problem, busy, misuse
from frazil.service.side_threads import BusyError, SideThreads
from frazil.service.tokens import Scope
from frazil.system.clock import moment_text

__all__ = ["SLOTS_MOST", "TEXT_MOST", "AdminRoutes"]

SLOTS_MOST = 1_000
"""The most slots that are reported; held slots come first."""

TEXT_MOST = 4_000
"""The most characters in a text to search."""

_SEARCHES_AT_ONCE = 1  # each slows down the event loop, which shares the interpreter lock
_SEARCHES_WAITING = 9

_GAUGES = ("issued", "waits", "failures", "lead_s", "claim_left_s", "trouble_s", "exhausted_in_s")
_STATES = ("held", "idle", "free")

Allowed = Callable[[Request, Scope], ServedNamespace]


class AdminRoutes:
    """The admin routes. ``allowed`` returns the namespace of a request, or raises Problem."""

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._searches = SideThreads("find", _SEARCHES_AT_ONCE, _SEARCHES_WAITING)

    def all(self) -> list[Route]:
        """Return all routes."""
        return [
            Route("/v1/{ns}/find", self.find, methods=["POST"]),
            Route("/v1/{ns}/claims", self.claims, methods=["GET"]),
            Route("/v1/{ns}/status", self.status, methods=["GET"]),
        ]

    async def find(self, request: Request) -> Response:
        """Find the IDs in a text.

        The text is in the body, not in the URL, because proxies log URLs.
        """
        served = self._allowed(request, "inspect")
        asgi.parameters(request.scope)
        asked = asgi.members(await asgi.body_of(request.receive), "text", "scheme")
        text, spec = asked.get("text"), asked.get("scheme", "")
        if not isinstance(text, str) or not 0 < len(text.strip()) <= TEXT_MOST:
            raise Problem(
                "bad-request", f"text: an ID, or a text with IDs, from 1 to {TEXT_MOST} characters"
            )
        if not isinstance(spec, str):
            raise Problem("bad-request", "scheme: the name of a scheme, or omit it")
        try:
            found = await self._searches.call(findings_of, served, text, spec)
        except BusyError:
            raise busy(**served.names) from None
        except Misuse as error:
            raise misuse(error, **served.names) from None
        return JSONResponse({**served.names, "found": found})

    async def claims(self, request: Request) -> Response:
        """Return the claims by slot."""
        served = self._allowed(request, "admin")
        asgi.parameters(request.scope)
        snapshot = await served.record.read()
        return JSONResponse({**served.names, **_record(served, snapshot)})

    async def status(self, request: Request) -> Response:
        """Return the state of a namespace in the process that answers."""
        served = self._allowed(request, "admin")
        asgi.parameters(request.scope)
        gauge, here = served.gauge(), Holder.here()
        why = await served.unready()
        return JSONResponse(
            {
                **served.names,
                "host": here.host,
                "process": int(here.process),
                "ready": not why,
                "why": why or None,
                **{name: getattr(gauge, name) for name in _GAUGES},
            }
        )


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
