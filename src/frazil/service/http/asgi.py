"""ASGI helpers for the endpoints: headers, complete replies, limits on input.

Source: the ASGI specification, HTTP & WebSocket message format 2.x.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl

from frazil.service.problems import Problem
from frazil.service.settings import is_loopback

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Endpoint: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[int]]
Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

FRESH = (b"cache-control", b"no-store")
"""A header of every reply: an ID from a cache would be a duplicate."""

SAFE: tuple[tuple[bytes, bytes], ...] = (FRESH, (b"x-content-type-options", b"nosniff"))
"""Headers of all replies except a single ID, where each costs a tenth of an empty request."""

BODY_MOST = 65_536
PROBLEM = b"application/problem+json"
BROWSER = b"Mozilla/"  # how the User-Agent of every browser starts, and of hardly another program
_BODY_TIMEOUT_S = 10.0
_PARAMETERS_MOST = 16


class Reply(NamedTuple):
    """A complete reply. headers: beside its type and length, and those of every reply."""

    body: bytes
    media_type: bytes
    status: int = 200
    headers: Headers = ()


def as_json(members: Mapping[str, Any], status: int = 200, headers: Headers = ()) -> Reply:
    """Return a reply in JSON."""
    text = json.dumps(members, ensure_ascii=False, separators=(",", ":"))
    return Reply(text.encode(), b"application/json", status, headers)


def header(scope: Scope, name: bytes) -> bytes:
    """Return a header by its name in lower case, or b"". Several are one list: RFC 9110, 5.2."""
    return b",".join([value for key, value in scope["headers"] if key == name])


def bearer(scope: Scope) -> bytes:
    """Return the token of the Authorization header, or b"". RFC 6750, 2.1."""
    kind, _, secret = header(scope, b"authorization").partition(b" ")
    return secret.strip() if kind.lower() == b"bearer" else b""


def parameters(scope: Scope, *known: str) -> Mapping[str, str]:
    """Return the query parameters. Raises Problem for unknown and repeated ones."""
    text = scope["query_string"].decode("latin-1")
    if not text:
        return {}
    try:
        pairs = parse_qsl(
            text, keep_blank_values=True, max_num_fields=_PARAMETERS_MOST, errors="strict"
        )
    except ValueError:
        raise Problem("bad-request", "the query is not a list of name=value in UTF-8") from None
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in known:
            raise Problem(
                "bad-request",
                f"?{name[:40]}= is not a parameter here; known: {', '.join(known) or 'none'}",
            )
        if name in found:
            raise Problem("bad-request", f"?{name}= is given twice; give it once")
        found[name] = value
    return found


def refuse_method(scope: Scope, allowed: str) -> None:
    """Raise Problem for a method that is none of these."""
    if scope["method"] not in allowed.split(", "):
        raise Problem("method-not-allowed", f"use {allowed}", {"allow": allowed})


def has_body(scope: Scope) -> bool:
    """Return whether a body follows the head of a request."""
    length = header(scope, b"content-length")
    return bool(header(scope, b"transfer-encoding")) or length not in {b"", b"0"}


def too_large() -> Problem:
    """Return the problem for a body over the limit."""
    return Problem("too-large", f"a body has at most {BODY_MOST} bytes; send less")


async def body_of(receive: Receive) -> bytes:
    """Return the body of a request. Raises Problem if it is too large or too slow."""
    body = b""
    try:
        async with asyncio.timeout(_BODY_TIMEOUT_S):
            while True:
                message = await receive()
                part: bytes = message.get("body", b"")
                body += part
                if len(body) > BODY_MOST:
                    raise too_large()
                if not message.get("more_body", False):
                    return body
    except TimeoutError:
        raise Problem("too-slow", f"send the body within {_BODY_TIMEOUT_S:g} s") from None


def members(body: bytes, *known: str) -> dict[str, Any]:
    """Return the members of a JSON object. Raises Problem for other values and unknown members."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Problem("bad-request", f'send a JSON object, like {{"{known[0]}": "..."}}')
    strange = sorted(found.keys() - set(known))
    if strange:
        raise Problem(
            "bad-request", f"{strange[0][:40]!r} is not a known member; known: {', '.join(known)}"
        )
    return found


def refuse_strange_host(scope: Scope) -> None:
    """Raise Problem for a request to loopback under a foreign host name.

    A web page can make its own host name resolve to 127.0.0.1 and so reach a service that trusts
    loopback (DNS rebinding). The Host header shows it.
    """
    if not is_local(header(scope, b"host")):
        raise Problem("wrong-host", "use localhost or 127.0.0.1 as host, or configure tokens")


def refuse_disguise(scope: Scope) -> None:
    """Raise Problem for a path with unnecessary percent-encoding.

    ``/%6Detrics`` is ``/metrics`` here, but a gateway that blocks ``/metrics`` may let it pass.
    Only the text of an ID may need percent-encoding.
    """
    raw = bytes(scope["raw_path"])
    if b"%" in raw.rpartition(b"/")[0] or b"/inspect/" not in raw:
        raise Problem("not-found", "write the path without percent-encoding")


@lru_cache(256)
def is_local(host: bytes) -> bool:
    """Return whether a Host header names loopback, or nothing."""
    text = host.decode("latin-1")
    name = text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]
    return not name or is_loopback(name.lower())


def start(status: int, media_type: bytes, headers: Headers = ()) -> dict[str, Any]:
    """Return the message that starts a reply, with exactly these headers."""
    return {
        "type": "http.response.start",
        "status": status,
        "headers": [(b"content-type", media_type), *headers],
    }


async def send_whole(
    send: Send, status: int, media_type: bytes, body: bytes, headers: Headers = ()
) -> None:
    """Send a complete reply."""
    length = (b"content-length", str(len(body)).encode())
    await send(start(status, media_type, (length, *headers)))
    await send({"type": "http.response.body", "body": body})
