"""What is asked by whoever watches: who holds what, how fast it goes, what is in this line.

Programs ask for IDs; people ask these. The console's pages are made of these answers and of those
in ``routes``, and of nothing else, so whatever it shows a script can have as well. Who holds what
names hosts and processes, so it is for tokens of scope ``admin``.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from frazil.claims.claim import Snapshot
from frazil.claims.holder import Holder
from frazil.claims.holding import NodeHolding, node_holdings
from frazil.errors import LayoutError, Misuse
from frazil.layout.layout import Layout
from frazil.service.http import asgi
from frazil.service.inspection import findings_of
from frazil.service.lookout import Lookout
from frazil.service.namespace import Issuer
from frazil.service.problems import Problem, busy, misuse
from frazil.service.side_threads import Aside, BusyError
from frazil.service.state import State
from frazil.service.tokens import Scope
from frazil.system.clock import moment_text

__all__ = ["SLOTS_MOST", "TEXT_MOST", "Views"]

SLOTS_MOST = 1_000
"""Slots that are told of; those that are held come first."""

TEXT_MOST = 4_000
"""Characters of a text that is searched for IDs."""

_FINDS_AT_ONCE = 2  # each slows down the loop, which has one interpreter with them
_FINDS_WAITING = 8

_STATES = ("held", "idle", "free")

Allowed = Callable[[Request, Scope], Issuer]


class Views:
    """The addresses. ``allowed`` finds the namespace of a request, or raises Problem."""

    def __init__(self, state: State, allowed: Allowed) -> None:
        self._allowed = allowed
        self._finds = Aside("find", _FINDS_AT_ONCE, _FINDS_WAITING)
        self._lookouts = {one.name: Lookout(one) for one in state.settings.namespaces}

    def all(self) -> list[Route]:
        """Every route."""
        return [
            Route("/v1/{ns}/find", self.find, methods=["POST"]),
            Route("/v1/{ns}/claims", self.claims, methods=["GET"]),
            Route("/v1/{ns}/status", self.status, methods=["GET"]),
        ]

    async def find(self, request: Request) -> Response:
        """The IDs in a text, and what stands around them.

        The text is the body, not a part of the address: lines of logs belong in nobody's log.
        """
        issuer = self._allowed(request, "inspect")
        asgi.parameters(request.scope)
        asked = asgi.members(await asgi.body_of(request.receive), "text", "scheme")
        text, spec = asked.get("text"), asked.get("scheme", "")
        if not isinstance(text, str) or not 0 < len(text.strip()) <= TEXT_MOST:
            raise Problem(
                "bad-request", f"text: an ID, or a text with IDs, of 1 to {TEXT_MOST} characters"
            )
        if not isinstance(spec, str):
            raise Problem("bad-request", "scheme: the name of a scheme, or leave it out")
        try:
            found = await self._finds.call(findings_of, issuer, text, spec)
        except BusyError:
            raise busy(**_names(issuer)) from None
        except Misuse as error:
            raise misuse(error, **_names(issuer)) from None
        return JSONResponse({**_names(issuer), "found": found})

    async def claims(self, request: Request) -> Response:
        """Who holds which slot."""
        issuer = self._allowed(request, "admin")
        asgi.parameters(request.scope)
        found = await self._lookouts[issuer.name].look()
        return JSONResponse({**_names(issuer), **_record(issuer, found)})

    async def status(self, request: Request) -> Response:
        """How a namespace stands in the process that answers."""
        issuer = self._allowed(request, "admin")
        asgi.parameters(request.scope)
        gauge, here = issuer.gauge(), Holder.here()
        why = await issuer.unready()
        return JSONResponse(
            {
                **_names(issuer),
                "host": here.host,
                "process": int(here.process),
                "ready": not why,
                "why": why or None,
                "issued": gauge.issued,
                "waits": gauge.waits,
                "failures": gauge.failures,
                "lead_s": gauge.lead_s,
                "claim_left_s": gauge.claim_left_s,
                "trouble_s": gauge.trouble_s,
                "exhausted_in_s": gauge.exhausted_in_s,
            }
        )


def _names(issuer: Issuer) -> dict[str, str]:
    return {"namespace": issuer.name, "scheme": issuer.scheme.name}


def _record(issuer: Issuer, found: Snapshot | None) -> dict[str, Any]:
    """A record as JSON; values of fields are texts, as everywhere: they may be above 2**53."""
    slots = node_holdings(found)
    count = Counter(slot.state for slot in slots)
    slots.sort(key=lambda slot: (_STATES.index(slot.state), slot.holding.slot))
    layout = issuer.scheme.layout if not slots else slots[0].layout
    return {
        "axis": layout.axis,
        "nodes": layout.nodes,
        "now": None if found is None else moment_text(found.now_us),
        "now_value": None if found is None else _now_value(layout, found.now_us),
        "counts": {state: count[state] for state in _STATES},
        "away": 0 if found is None else len(found.away),
        "slots": [_slot(slot) for slot in slots[:SLOTS_MOST]],
    }


def _slot(slot: NodeHolding) -> dict[str, Any]:
    told = slot.as_json()
    told["constants"] = {name: str(value) for name, value in told["constants"].items()}
    return {**told, **{name: str(told[name]) for name in ("node", "start_value", "until_value")}}


def _now_value(layout: Layout, now_us: int) -> str | None:
    """Where the registry's clock stands on the axis; None where that is not time."""
    if layout.tick_us is None:
        return None
    try:
        return str(layout.tick_at(now_us))
    except LayoutError:  # past its end
        return None
