"""The query and the Accept header of a request: each is followed, or refused with 4xx."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from frazil.service.http.asgi import parameters
from frazil.service.http.formats import JSON, PACKED, chosen
from frazil.service.problems import Problem

__all__ = ["check_accept", "check_query"]

_KNOWN = ("n", "number", "from", "to")


def check_query(data: bytes) -> None:
    """Only known parameters are returned, and encoded again they mean the same."""
    found = _answer(400, parameters, {"query_string": data}, *_KNOWN)
    if found is not None:
        assert found.keys() <= set(_KNOWN)
        assert parameters({"query_string": urlencode(found).encode()}, *_KNOWN) == found


def check_accept(data: bytes) -> None:
    """The chosen format was requested, and JSON comes first."""
    text = data.decode("latin-1")
    assert chosen(f"{JSON},{text}") == JSON
    best = _answer(406, chosen, text)
    if best is not None and text.strip():
        assert best in {JSON, "text/plain", PACKED}
        assert best in text.lower() or "*" in text


def _answer(status: int, read: Callable[..., Any], *arguments: Any) -> Any:
    """What ``read`` returns, or None if it refuses, which must be with that status."""
    try:
        return read(*arguments)
    except Problem as problem:
        if problem.status != status:
            raise
        return None
