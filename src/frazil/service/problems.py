"""Problems: every error of the HTTP door as RFC 9457 has it, with the next step in ``detail``.

Two kinds of errors meet here. What a caller did wrong is told in frazil's own words, which name the
value and the limit. What went wrong behind the door is told in words without names of hosts, URLs
or files; those are the operator's, and go to the log, with passwords struck out.

A problem has a ``type`` that programs can tell apart (``urn:frazil:problem:...``), a ``title`` that
is always the same for it, the ``status``, and where they are known ``namespace`` and ``scheme``.
"""

import json
from math import ceil, isinf
from typing import Any

from frazil.errors import (
    ClockError,
    Closed,
    FrazilError,
    LayoutExhausted,
    Misuse,
    PoolExhausted,
    RegistryUnavailable,
    TryLater,
)
from frazil.service.tokens import OverQuota, Refusal

__all__ = [
    "MEDIA_TYPE",
    "TITLES",
    "Problem",
    "behind",
    "busy",
    "misuse",
    "over_quota",
    "refused",
]

MEDIA_TYPE = "application/problem+json"

TITLES: dict[str, tuple[int, str]] = {
    "bad-request": (400, "The request cannot be answered as it stands"),
    "unauthorized": (401, "A token is needed"),
    "forbidden": (403, "This token may not do that"),
    "not-found": (404, "There is nothing at this address"),
    "unknown-namespace": (404, "No namespace of that name is served here"),
    "method-not-allowed": (405, "This address knows other methods"),
    "not-acceptable": (406, "IDs are not written like that"),
    "too-large": (413, "The request is too large"),
    "too-slow": (408, "The request did not come to its end in time"),
    "wrong-host": (421, "This service does not go by that name"),
    "misconfigured": (500, "The service is not set up for its registry"),
    "internal": (500, "A bug in frazil"),
    "over-quota": (429, "This token has had its IDs for now"),
    "busy": (503, "The service has too much to do at this moment"),
    "try-later": (503, "No ID at this moment"),
    "stopped": (503, "This namespace issues no more IDs"),
}
"""Each problem by the last part of its type: its status and its title."""

_REFUSALS = {
    "missing": ("unauthorized", "send one as 'Authorization: Bearer frazil_...'"),
    "wrong": ("unauthorized", "the token that was sent is not known here"),
    "expired": ("unauthorized", "the token that was sent has expired; ask for a new one"),
    "forbidden": ("forbidden", "its scopes or its namespaces do not cover this"),
}


class Problem(Exception):
    """An answer that is no success. ``kind`` is a key of TITLES; ``more`` are further members."""

    def __init__(
        self, kind: str, detail: str, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.status, self.title = TITLES[kind]
        self.headers = headers or {}
        self.more = more

    def body(self) -> bytes:
        """The problem as JSON."""
        members = {
            "type": f"urn:frazil:problem:{self.kind}",
            "title": self.title,
            "status": self.status,
            "detail": str(self),
            **self.more,
        }
        return json.dumps(members, ensure_ascii=False).encode()


def misuse(error: Misuse, **more: Any) -> Problem:
    """The problem of a value in a request that frazil refused."""
    told = {name: error.facts.get(name) for name in ("field", "limit")}
    facts: dict[str, Any] = {name: str(fact) for name, fact in told.items() if fact is not None}
    if "position" in error.facts:
        facts["position"] = error.facts["position"]
    return Problem("bad-request", str(error), **{**facts, **more})


def refused(refusal: Refusal, **more: Any) -> Problem:
    """The problem of a request without the right to it."""
    kind, detail = _REFUSALS[refusal]
    headers = {"www-authenticate": 'Bearer realm="frazil"'} if kind == "unauthorized" else {}
    return Problem(kind, detail, headers, **more)


def busy(**more: Any) -> Problem:
    """The problem of a request for which there is no room now."""
    detail = "as many such requests wait as may; ask again in a moment"
    return Problem("busy", detail, {"retry-after": "1"}, **more)


def over_quota(error: OverQuota, **more: Any) -> Problem:
    """The problem of a token that has had its IDs."""
    if isinf(error.wait_s):
        return Problem("too-large", f"{error}, and at once", limit=str(error.most), **more)
    headers = {"retry-after": str(ceil(error.wait_s))}
    return Problem("over-quota", f"{error}; ask again later", headers, **more)


def behind(error: FrazilError, **more: Any) -> Problem:
    """The problem of an ID that was asked for rightly and could not be had."""
    if isinstance(error, TryLater):
        words = {
            RegistryUnavailable: "the registry does not answer; IDs go on when it does",
            PoolExhausted: "everything that may be issued is in use; ask again",
        }
        detail = words.get(type(error), "ask again in a moment")
        retry_s = max(1, round(error.facts.get("retry_after_s", 1)))
        return Problem("try-later", detail, {"retry-after": str(retry_s)}, **more)
    if isinstance(error, Closed):
        detail = "the service is being stopped; ask another member"
        return Problem("try-later", detail, {"retry-after": "1"}, **more)
    if isinstance(error, Misuse):
        return Problem("misconfigured", "the operator finds the reason in the log", **more)
    if isinstance(error, LayoutExhausted):
        return Problem("stopped", "the layout has run out; its IDs are used up", **more)
    if isinstance(error, ClockError):
        return Problem("stopped", "a clock cannot be believed; the log says more", **more)
    return Problem("internal", "please report it with what stands in the log", **more)
