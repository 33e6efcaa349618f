"""Problems: the errors of the HTTP API, in the format of RFC 9457.

``detail`` says what is wrong and what to do next. An error in the request is described with the
value and the limit. An error inside the service is described without names of hosts, URLs or files;
these go to the log, with passwords masked.

A problem has a ``type`` for programs (``urn:frazil:problem:...``), a fixed ``title`` per type, the
``status``, and if known ``namespace`` and ``scheme``.
"""

import json
from math import ceil, isinf
from typing import Any

from frazil import errors
from frazil.service.tokens import OverQuota, Reason, Refusal

TITLES: dict[str, tuple[int, str]] = {
    "bad-request": (400, "The request is not valid"),
    "unauthorized": (401, "A valid token is required"),
    "forbidden": (403, "The token does not allow this"),
    "not-found": (404, "There is nothing at this path"),
    "unknown-namespace": (404, "This namespace is not served here"),
    "method-not-allowed": (405, "This path does not allow this method"),
    "not-acceptable": (406, "No accepted media type is available"),
    "too-large": (413, "The request is too large"),
    "head-too-large": (431, "The head of the request is too large"),
    "too-slow": (408, "The request was not complete in time"),
    "wrong-host": (421, "This host name is not accepted"),
    "misconfigured": (500, "The configuration does not match the registry"),
    "internal": (500, "A bug in frazil"),
    "over-quota": (429, "The quota of this token is used up"),
    "http-version": (505, "This version of HTTP is not supported"),
    "busy": (503, "The service is overloaded"),
    "try-later": (503, "No ID is available now"),
    "stopped": (503, "This namespace issues no more IDs"),
}
"""Status and title of each problem, by the last part of its type."""

_REFUSALS: dict[Reason, tuple[str, str]] = {
    "missing": ("unauthorized", "send a token as 'Authorization: Bearer frazil_...'"),
    "wrong": ("unauthorized", "the token is not known here; check it, or request a new one"),
    "expired": ("unauthorized", "the token has expired; request a new one"),
}

_NAMES_MOST = 8  # namespaces of a token that an error lists

_CAUSES: tuple[tuple[type[errors.FrazilError], tuple[str, str]], ...] = (
    (errors.RegistryUnavailable, ("try-later", "the registry does not answer; retry")),
    (errors.PoolExhausted, ("try-later", "every slot is in use; retry")),
    (errors.TryLater, ("try-later", "retry in a moment")),
    (errors.Closed, ("try-later", "the service is stopping; use another instance")),
    (errors.Misuse, ("misconfigured", "the reason is in the log of the service")),
    (errors.LayoutExhausted, ("stopped", "the layout has no IDs left")),
    (
        errors.ClockError,
        ("try-later", "a clock is wrong; IDs continue when it is corrected; see the log"),
    ),
    (errors.FrazilError, ("internal", "report it with the traceback from the log")),
)


class Problem(Exception):
    """An error reply. ``kind`` is a key of TITLES; ``more`` holds additional members."""

    def __init__(
        self, kind: str, detail: str, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.status, self.title = TITLES[kind]
        self.headers = headers or {}
        self.more = more

    def body(self) -> bytes:
        """Return the problem as JSON."""
        members = {
            "type": f"urn:frazil:problem:{self.kind}",
            "title": self.title,
            "status": self.status,
            "detail": str(self),
            **self.more,
        }
        return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()


def misuse(error: errors.Misuse, step: str = "", **more: Any) -> Problem:
    """Return the problem for an invalid value in a request. step: what to do, after the error."""
    known = {name: error.facts.get(name) for name in ("field", "limit")}
    facts: dict[str, Any] = {name: str(fact) for name, fact in known.items() if fact is not None}
    if "position" in error.facts:
        facts["position"] = error.facts["position"]
    detail = f"{error}\n{step}" if step else str(error)
    return Problem("bad-request", detail, **{**facts, **more})


def refused(refusal: Refusal) -> Problem:
    """Return the problem for a request that its token does not allow."""
    if refusal.reason in _REFUSALS:
        kind, detail = _REFUSALS[refusal.reason]
        return Problem(kind, detail, {"www-authenticate": 'Bearer realm="frazil"'})
    has = ", ".join(refusal.has[:_NAMES_MOST]) + ", ..." * (len(refusal.has) > _NAMES_MOST)
    detail = (
        f"this needs the {refusal.reason} {refusal.needed[:64]!r}, and the token has "
        f"{has or 'none'}; send a token with that {refusal.reason}"
    )
    needed = {f"{refusal.reason}_needed": refusal.needed[:64]}
    return Problem("forbidden", detail, None, **needed, token_has=refusal.has)


def unknown_namespace(name: str) -> Problem:
    """Return the problem for a namespace that is not served."""
    return Problem("unknown-namespace", "GET /v1/layouts lists the namespaces", namespace=name[:64])


def busy(**more: Any) -> Problem:
    """Return the problem for a request that exceeds the queue."""
    detail = "too many such requests are waiting; retry in a moment"
    return Problem("busy", detail, {"retry-after": "1"}, **more)


def over_quota(error: OverQuota) -> Problem:
    """Return the problem for a token that exceeded its quota."""
    if isinf(error.wait_s):
        return Problem("too-large", str(error), limit=str(error.most))
    headers = {"retry-after": str(ceil(error.wait_s))}
    return Problem("over-quota", str(error), headers)


def no_id(error: errors.FrazilError) -> Problem:
    """Return the problem for a valid request that got no ID."""
    kind, detail = next(answer for cause, answer in _CAUSES if isinstance(error, cause))
    headers = {}
    if kind == "try-later":
        headers["retry-after"] = str(max(1, round(error.facts.get("retry_after_s", 1))))
    return Problem(kind, detail, headers)
