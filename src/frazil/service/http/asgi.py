"""The few words of ASGI that the doors speak: headers, whole replies, limits on what is read.

Source: the ASGI specification, HTTP & WebSocket message format 2.x.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from frazil.service.problems import MEDIA_TYPE, Problem

__all__ = [
    "BODY_MOST",
    "FRESH",
    "SAFE",
    "Door",
    "Headers",
    "Receive",
    "Scope",
    "Send",
    "bearer",
    "body_of",
    "header",
    "members",
    "parameters",
    "refuse_body",
    "refuse_disguise",
    "refuse_strange_host",
    "send_problem",
    "send_whole",
    "start",
]

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Door: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[int]]
Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

FRESH = (b"cache-control", b"no-store")
"""A header of every reply: an ID that a cache gives out twice is a duplicate."""

SAFE: tuple[tuple[bytes, bytes], ...] = (FRESH, (b"x-content-type-options", b"nosniff"))
"""Headers of every reply but the hot one, where each costs a tenth of an empty request."""

BODY_MOST = 65_536
_BODY_PATIENCE_S = 10.0
_PARAMETERS_MOST = 16


def header(scope: Scope, name: bytes) -> bytes:
    """The first header of that name (in lower case); empty if there is none."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""


def bearer(scope: Scope) -> bytes:
    """The token in the Authorization header; empty if there is none. RFC 6750, 2.1."""
    kind, _, secret = header(scope, b"authorization").partition(b" ")
    return secret.strip() if kind.lower() == b"bearer" else b""


def parameters(scope: Scope, *known: str) -> Mapping[str, str]:
    """The query's parameters; Problem for one that is unknown or comes twice."""
    text = scope["query_string"].decode("latin-1")
    if not text:
        return {}
    try:
        pairs = parse_qsl(
            text, keep_blank_values=True, max_num_fields=_PARAMETERS_MOST, errors="strict"
        )
    except ValueError:
        raise Problem("bad-request", "the query is no list of name=value in UTF-8") from None
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in known:
            raise Problem(
                "bad-request",
                f"?{name[:40]}= is no parameter here; known: {', '.join(known) or 'none'}",
            )
        if name in found:
            raise Problem("bad-request", f"?{name}= is given twice; give it once")
        found[name] = value
    return found


def refuse_body(scope: Scope) -> None:
    """Problem for a request that brings a body where none is read."""
    if header(scope, b"transfer-encoding") or header(scope, b"content-length") not in {b"", b"0"}:
        raise Problem("too-large", "this request has no body; leave it out")


async def body_of(receive: Receive) -> bytes:
    """The body of a request, which has to be short and come soon."""
    body = b""
    try:
        async with asyncio.timeout(_BODY_PATIENCE_S):
            while True:
                message = await receive()
                part: bytes = message.get("body", b"")
                body += part
                if len(body) > BODY_MOST:
                    raise Problem("too-large", f"a body has at most {BODY_MOST} bytes here")
                if not message.get("more_body", False):
                    return body
    except TimeoutError:
        raise Problem("too-slow", f"a body comes within {_BODY_PATIENCE_S:g} s") from None


def members(body: bytes, *known: str) -> dict[str, Any]:
    """The members of a JSON object; Problem for what is none, and for a member that is unknown."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Problem("bad-request", f'the body is a JSON object, like {{"{known[0]}": "..."}}')
    strange = sorted(found.keys() - set(known))
    if strange:
        raise Problem(
            "bad-request", f"{strange[0][:40]!r} is no member here; known: {', '.join(known)}"
        )
    return found


def refuse_strange_host(scope: Scope) -> None:
    """Problem for a request to loopback under a name of elsewhere.

    A web page may have its own name resolve to 127.0.0.1 and so speak to a service that trusts
    loopback; its Host header gives it away.
    """
    if not _is_local(header(scope, b"host")):
        raise Problem("wrong-host", "without tokens it answers to localhost and 127.0.0.1 only")


def refuse_disguise(scope: Scope) -> None:
    """Problem for a path with percent signs where they say nothing.

    ``/%6Detrics`` is ``/metrics`` here and something else to a gateway that keeps callers from it.
    Only the text of an ID may need them.
    """
    raw = bytes(scope["raw_path"])
    if b"%" in raw.rpartition(b"/")[0] or b"/inspect/" not in raw:
        raise Problem("not-found", "write the path as it is, without percent signs")


@lru_cache(256)
def _is_local(host: bytes) -> bool:
    text = host.decode("latin-1")
    name = text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name.lower() in {"", "localhost"}


def start(status: int, media_type: bytes, headers: Headers = ()) -> dict[str, Any]:
    """The message that begins a reply, with these headers and no others."""
    return {
        "type": "http.response.start",
        "status": status,
        "headers": [(b"content-type", media_type), *headers],
    }


async def send_whole(
    send: Send, status: int, media_type: bytes, body: bytes, headers: Headers = ()
) -> None:
    """Send a reply that is all there."""
    length = (b"content-length", str(len(body)).encode())
    await send(start(status, media_type, (length, *headers)))
    await send({"type": "http.response.body", "body": body})


async def send_problem(send: Send, problem: Problem, headers: Headers = ()) -> None:
    """Send a problem, with its own headers and these."""
    own = (*SAFE, *((k.encode(), v.encode("latin-1")) for k, v in problem.headers.items()))
    await send_whole(send, problem.status, MEDIA_TYPE.encode(), problem.body(), (*own, *headers))
