"""``http://``: the URL of a service, and what cannot go with it.

``http://host[:port][/path]/namespace[?prefetch=N]``. The last part of the path is the namespace;
without a path it is the one of the argument. A token is never part of the URL: URLs are printed,
logged and committed. It comes from the environment's FRAZIL_TOKEN or an argument.
"""

import os
import re
from dataclasses import dataclass, field

from frazil.errors import ConfigError
from frazil.generator.request import Request
from frazil.inputs.url import Url, host_port
from frazil.schemes.scheme import Scheme

__all__ = [
    "NONCE",
    "ServiceConfig",
    "configure_service",
]

NONCE = "frazil-nonce"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TOKEN = re.compile(r"[!-~]{1,512}")
_PREFETCH_MOST = 100_000


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """A request to a service. base: the URL before ``/v1``. token: "" for none."""

    request: Request
    base: str
    namespace: str
    prefetch: int
    token: str = field(default="", repr=False)

    @property
    def scheme(self) -> Scheme:
        """The scheme of the namespace."""
        return self.request.scheme

    @property
    def name(self) -> str:
        """The namespace and where it is, for messages."""
        return f"{self.base}/{self.namespace}"

    @property
    def width(self) -> int:
        """Bytes of an ID on the wire."""
        return (self.scheme.bits + 7) // 8

    def asking(self, n: int) -> tuple[str, dict[str, str]]:
        """The URL and the headers of a POST that asks for ``n`` IDs.

        Also for one: what stands between may repeat a GET, or answer it from a cache. The reply
        names the nonce, so one that is repeated is not taken for the answer to the next request.
        """
        headers = {
            "Accept": "application/octet-stream",
            "Accept-Encoding": "identity",
            NONCE: os.urandom(8).hex(),
        }
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return f"{self.base}/v1/{self.namespace}/ids?n={n}", headers


def configure_service(request: Request) -> ServiceConfig:
    """What a request asks of a service. Contacts nothing. Raises ConfigError."""
    request.refuse(
        "a service takes no {}=; it is set up there, in its configuration",
        lead=request.lead_us != 0,
        sequence_start=request.scattered,
        block=request.block is not None,
    )
    netloc = _place(request.url)
    options = request.url.options()
    prefetch = options.number("prefetch", _PREFETCH_MOST)
    options.finish()
    path, _, last = request.url.path.rstrip("/").rpartition("/")
    if last and request.namespace not in {"default", last}:
        raise ConfigError(
            f"the URL names the namespace {last!r}, and namespace={request.namespace!r}; "
            "name one of them",
            namespace=request.namespace,
        )
    name = last or request.namespace
    if not _NAME.fullmatch(name):
        raise ConfigError(f"namespace {name!r}: 1 to 64 letters, digits, '.', '_' and '-'")
    token = request.token or os.environ.get("FRAZIL_TOKEN") or ""
    if token and not _TOKEN.fullmatch(token):
        raise ConfigError("the token holds what no token has; give it as it was made, alone")
    return ServiceConfig(
        request=request,
        base=f"{request.url.kind}://{netloc}{path}",
        namespace=name,
        prefetch=prefetch,
        token=token,
    )


def _place(url: Url) -> str:
    """Where the service listens. A URL that is refused is not shown: it may hold a secret."""
    if "@" in url.netloc:
        raise ConfigError(
            "a service's URL has no user and password; set FRAZIL_TOKEN, or pass token="
        )
    place = host_port(url.netloc, 1)
    if place is None or not place[0]:
        raise ConfigError("write the service's URL like http://host:8080/namespace")
    return url.netloc
