"""The console: the web page at ``/``.

It is plain HTML, CSS and ES modules without a build step: the reviewed files are those that run.
It loads nothing from other hosts, so it also works without internet access. All data come from
``/v1``, with the token that the user entered.

A content security policy (``_POLICY``) allows only what the page needs. The modules insert text as
text nodes, never as HTML, and the policy enforces it: pasted text and host names cannot run code.

Files are read once, at the start. Their ETag is a hash of the content, and browsers revalidate on
each request, so the page always matches the version of the service. Each has a fixed path in a
dictionary. No request path becomes a file name, so path traversal is impossible.
"""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files

from frazil.layout.drawing import COLOURS
from frazil.service.http import asgi
from frazil.service.http.asgi import Receive, Scope, Send

FOLDER = "/console/"  # the folder of all files except the page itself
_TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}

_POLICY = (
    b"default-src 'none'; "
    b"script-src 'self'; "
    b"style-src 'self'; "
    b"img-src 'self'; "
    b"connect-src 'self'; "
    b"base-uri 'none'; "
    b"form-action 'none'; "
    b"frame-ancestors 'none'; "
    b"require-trusted-types-for 'script'; "
    b"trusted-types 'none'"
)

_SAFE: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-cache"),
    (b"content-security-policy", _POLICY),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)


class Page:
    """One file at one path."""

    def __init__(self, media_type: bytes, body: bytes) -> None:
        self.media_type = media_type
        self.body = body
        self.tag = b'"%b"' % urlsafe_b64encode(sha256(body).digest()[:18])

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> int:
        asgi.refuse_method(scope, "GET, HEAD")
        head = [(b"etag", self.tag), *_SAFE]
        if self.tag in asgi.header(scope, b"if-none-match"):
            await send({"type": "http.response.start", "status": 304, "headers": head})
            await send({"type": "http.response.body", "body": b""})
            return 304
        await asgi.send_whole(send, 200, self.media_type, self.body, head)
        return 200


def pages() -> Mapping[str, Page]:
    """Return each page by its path."""
    found = {FOLDER + "colours.css": Page(_TYPES[".css"], _colours().encode())}
    for file in files("frazil.service.console").iterdir():
        media_type = _TYPES.get(file.name[file.name.rfind(".") :])
        if media_type is not None:
            address = "/" if file.name == "index.html" else FOLDER + file.name
            found[address] = Page(media_type, file.read_bytes())
    return found


def _colours() -> str:
    """Return the field colours of the drawings as CSS variables, and a class for each role."""
    light, dark = (
        "\n".join(f"  --field-{name}: {pair[i]};" for name, pair in COLOURS.items()) for i in (0, 1)
    )
    roles = "".join(f".role-{name} {{ --field: var(--field-{name}); }}\n" for name in COLOURS)
    return f':root {{\n{light}\n}}\n:root[data-theme="dark"] {{\n{dark}\n}}\n{roles}'
