"""CORS: which web pages of elsewhere may ask, and read what is answered. None, unless told.

A browser sends a page's request and keeps the answer from it unless the answer names the page's
origin. So to a service with tokens nothing has to be refused, only said: who asks is known by a
token, which a page has to know itself. Where everybody is let in, a page of elsewhere could have
the browsers of its visitors use up IDs without reading them; there it is refused by what browsers
say of themselves.

Sources: the Fetch standard, "CORS protocol"; Fetch Metadata, "Sec-Fetch-Site".
"""

from frazil.service.http.asgi import Headers, Scope, Send, header
from frazil.service.problems import Problem

__all__ = ["Cors"]

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
    """The origins that may ask; "*" among them is any. on: whether there are some."""

    def __init__(self, origins: tuple[str, ...]) -> None:
        self.on = bool(origins)
        self._any = "*" in origins
        self._origins = {origin.encode() for origin in origins}

    def headers(self, scope: Scope) -> Headers:
        """What a reply to this request says besides."""
        origin = header(scope, b"origin")
        if self._any:
            return ((b"access-control-allow-origin", b"*"), _EXPOSED)
        vary = (b"vary", b"origin")
        if origin in self._origins:
            return ((b"access-control-allow-origin", origin), vary, _EXPOSED)
        return (vary,)

    def refuse_page(self, scope: Scope) -> None:
        """Problem for a request that a browser makes for a page of elsewhere. A link is none."""
        origin, site = header(scope, b"origin"), header(scope, b"sec-fetch-site")
        if not (origin or site) or self._any or origin in self._origins:
            return
        here = origin.partition(b"://")[2] == header(scope, b"host")
        link = scope["method"] == "GET" and header(scope, b"sec-fetch-mode") == b"navigate"
        if (origin and not here) or (site in {b"cross-site", b"same-site"} and not link):
            raise Problem(
                "forbidden", "a page of elsewhere asks; name its origin under cors in [server]"
            )

    async def answered(self, scope: Scope, send: Send) -> bool:
        """Answer a browser that asks whether it may ask; whether this was one."""
        if scope["method"] != "OPTIONS" or not header(scope, b"access-control-request-method"):
            return False
        said = [*self.headers(scope), *_ALLOWED]
        await send({"type": "http.response.start", "status": 204, "headers": said})
        await send({"type": "http.response.body", "body": b""})
        return True
