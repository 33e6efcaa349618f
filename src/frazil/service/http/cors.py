"""CORS: which web pages of other origins may call the API. By default none.

Browsers let a page read a reply only if the reply names the origin of the page. A service with
tokens needs no more than that, because a page cannot call it without a token. Without tokens, a
page could make the browsers of its visitors use up IDs without reading them. So such requests are
refused by the headers that browsers send with them.

Sources: the Fetch standard, "CORS protocol"; Fetch Metadata, "Sec-Fetch-Site".
"""

from frazil.service.http.asgi import BROWSER, Headers, Receive, Scope, Send, header
from frazil.service.problems import Problem

_ALLOWED: tuple[tuple[bytes, bytes], ...] = (
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type"),
    (b"access-control-max-age", b"600"),
)
_EXPOSED = (
    b"access-control-expose-headers",
    b"frazil-namespace, frazil-scheme, frazil-fingerprint, retry-after",
)


class Cors:
    """The allowed origins; "*" allows any. on: whether there are any."""

    def __init__(self, origins: tuple[str, ...]) -> None:
        self.on = bool(origins)
        self._any = "*" in origins
        self._origins = {origin.encode() for origin in origins}

    def headers(self, scope: Scope) -> Headers:
        """Return the CORS headers of the reply to a request."""
        origin = header(scope, b"origin")
        if self._any:
            return ((b"access-control-allow-origin", b"*"), _EXPOSED)
        vary = (b"vary", b"origin")
        if origin in self._origins:
            return ((b"access-control-allow-origin", origin), vary, _EXPOSED)
        return (vary,)

    def refuse_page(self, scope: Scope) -> None:
        """Raise Problem for a request that a browser sends for a page of another origin."""
        origin, site = header(scope, b"origin"), header(scope, b"sec-fetch-site")
        if self._any or (origin and origin in self._origins):
            return
        host, referer = header(scope, b"host"), header(scope, b"referer")
        here = origin.partition(b"://")[2] == host
        link = scope["method"] == "GET" and header(scope, b"sec-fetch-dest") == b"document"
        foreign = (origin and not here) or (site in {b"cross-site", b"same-site"} and not link)
        # Over http, a browser sends Sec-Fetch only to loopback, and a page can omit Referer.
        if not site and header(scope, b"user-agent").startswith(BROWSER):
            near = referer.partition(b"://")[2].partition(b"/")[0] == host
            foreign = foreign or not (origin or near or not scope["path"].startswith("/v1/"))
        if foreign:
            raise Problem(
                "forbidden",
                "pages of this origin are not allowed; add the origin to cors in [server]",
            )


def is_preflight(scope: Scope) -> bool:
    """Whether a request asks what a page of another origin may send."""
    return scope["method"] == "OPTIONS" and bool(header(scope, b"access-control-request-method"))


async def preflight(_scope: Scope, _receive: Receive, send: Send) -> int:
    """Answer a preflight request, and return the status."""
    await send({"type": "http.response.start", "status": 204, "headers": list(_ALLOWED)})
    await send({"type": "http.response.body", "body": b""})
    return 204
