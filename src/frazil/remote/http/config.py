"""The URL of a service, and the options that it allows.

``http://host[:port][/path]/namespace[?prefetch=N]``. The last part of the path is the namespace;
without a path it is the argument. A token is never part of the URL, because URLs are printed,
logged and committed. It is the argument ``token``, or the environment variable FRAZIL_TOKEN.
"""

import os
import re
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from frazil.errors import ConfigError
from frazil.generator.request import KEEP_US, OpenRequest
from frazil.inputs.url import Url, host_port

NONCE = "frazil-nonce"

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
NAME_RULE = "1 to 64 letters, digits, '.', '_' and '-'"
_TOKEN = re.compile(r"[!-~]{1,512}")
_PREFETCH_MOST = 100_000


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """How to call a service. base: the URL before ``/v1``. token: "" if there is none."""

    request: OpenRequest
    base: str
    namespace: str
    prefetch: int
    token: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The namespace with the URL of the service, for messages."""
        return f"{self.base}/{self.namespace}"

    @property
    def width(self) -> int:
        """Bytes of an ID on the wire."""
        return (self.request.scheme.bits + 7) // 8

    def asking(self, n: int) -> tuple[str, dict[str, str]]:
        """Return the URL and the headers of a POST for ``n`` IDs.

        A single ID uses POST too, since a proxy may repeat a GET or answer it from a cache. The
        reply contains the nonce, so a repeated reply is not taken for that of the next request.
        """
        headers = {
            "Accept": "application/octet-stream",
            "Accept-Encoding": "identity",
            NONCE: os.urandom(8).hex(),
        }
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return f"{self.base}/v1/{self.namespace}/ids?n={n}", headers


def configure_service(request: OpenRequest) -> ServiceConfig:
    """Return the configuration for a request. Contacts nothing. Raises ConfigError."""
    request.refuse(
        "a service takes no {}=; set it in the configuration of the service",
        lead=request.lead_us != 0,
        sequence_start=request.scattered,
        block=request.block is not None,
        keep=request.keep_us != KEEP_US,
    )
    netloc = _place(request.url)
    options = request.url.options()
    prefetch = options.number("prefetch", _PREFETCH_MOST)
    options.finish()
    path, _, last = request.url.path.rstrip("/").rpartition("/")
    if last and request.namespace not in {"default", last}:
        raise ConfigError(
            f"the URL names the namespace {last!r}, and the argument is "
            f"namespace={request.namespace!r}; pass one of them",
            namespace=request.namespace,
        )
    name = last or request.namespace
    if not NAME.fullmatch(name):
        raise ConfigError(f"namespace {name!r}: {NAME_RULE}")
    token = request.token or os.environ.get("FRAZIL_TOKEN") or ""
    if token and not _TOKEN.fullmatch(token):
        raise ConfigError(
            "the token has characters that a token never has; pass it exactly as it was created"
        )
    return ServiceConfig(
        request=request,
        base=f"{request.url.kind}://{netloc}{path}",
        namespace=name,
        prefetch=prefetch,
        token=token,
    )


def proxy_of(config: ServiceConfig) -> tuple[tuple[str, int], dict[str, str]] | None:
    """Return the proxy that the environment names for a service, and what it is sent, or None."""
    scheme, _, rest = config.base.partition("://")
    netloc, found = rest.partition("/")[0], getproxies()
    text = found.get(scheme) or found.get("all")
    if not text or proxy_bypass(netloc):
        return None
    proxy = urlsplit(text if "://" in text else f"http://{text}")
    place = host_port(proxy.netloc.rpartition("@")[2], 80)
    if proxy.scheme != "http" or place is None:
        raise ConfigError(
            f"the environment names a proxy of the kind {proxy.scheme}://; use one of http://, or "
            "add the service's host to NO_PROXY"
        )
    if proxy.username is None:
        return place, {}
    user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return place, {"Proxy-Authorization": f"Basic {b64encode(user.encode()).decode()}"}


def _place(url: Url) -> str:
    """Return host and port. Errors do not show the URL, since it may contain a secret."""
    if "@" in url.netloc:
        raise ConfigError(
            "a service's URL has no user and password; set FRAZIL_TOKEN, or pass token="
        )
    place = host_port(url.netloc, 1)
    if place is None or not place[0]:
        raise ConfigError("write the service's URL like http://host:8080/namespace")
    return url.netloc
