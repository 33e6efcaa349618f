"""What ``open`` was told of a service, and the reading of its URL.

``http://host[:port][/path]/namespace[?prefetch=N]``. The last part of the path is the namespace;
without a path it is the one of the argument. A token is never part of the URL: URLs are printed,
logged and committed. It comes from the environment's FRAZIL_TOKEN or an argument.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from frazil.errors import ConfigError
from frazil.generator.generator import Duration, refuse_given
from frazil.inputs.duration import duration_us
from frazil.inputs.url import Options
from frazil.schemes.scheme import Scheme, scheme

__all__ = ["NONCE", "ServiceConfig", "configure_service"]

NONCE = "frazil-nonce"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TOKEN = re.compile(r"[!-~]{1,512}")
_PREFETCH_MOST = 100_000


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """All that ``open`` was told. base: the URL before ``/v1``. token: "" for none."""

    base: str
    namespace: str
    scheme: Scheme
    timeout_us: int
    prefetch: int
    token: str = field(default="", repr=False)

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


def configure_service(
    url: str,
    scheme_: str | Scheme = "icicle",
    *,
    namespace: str = "default",
    fields: Mapping[str, int] | None = None,
    lead: Duration = 0,
    timeout: Duration = 10,
    sequence_start: int | str = 0,
    block: int | None = None,
    token: str | None = None,
) -> ServiceConfig:
    """Check what ``open`` was told. Contacts nothing. Raises ConfigError."""
    refuse_given(
        "a service takes no {}=; it is set up there, in its configuration",
        lead=lead != 0,
        sequence_start=sequence_start != 0,
        block=block is not None,
    )
    parts = _parts(url)
    options = Options(url)
    prefetch = options.number("prefetch", _PREFETCH_MOST)
    options.finish()
    path, _, last = parts.path.rstrip("/").rpartition("/")
    if last and namespace not in {"default", last}:
        raise ConfigError(
            f"the URL names the namespace {last!r}, and namespace={namespace!r}; name one of them",
            namespace=namespace,
        )
    name = last or namespace
    if not _NAME.fullmatch(name):
        raise ConfigError(f"namespace {name!r}: 1 to 64 letters, digits, '.', '_' and '-'")
    if token and not _TOKEN.fullmatch(token):
        raise ConfigError("the token holds what no token has; give it as it was made, alone")
    return ServiceConfig(
        base=f"{parts.scheme}://{parts.netloc}{path}",
        namespace=name,
        scheme=scheme(scheme_, fields=fields),
        timeout_us=duration_us(timeout, name="timeout"),
        prefetch=prefetch,
        token=token or "",
    )


def _parts(url: str) -> SplitResult:
    """The parts of the URL. One that is refused is not shown: it may hold a secret."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"the service's URL is none: {error}") from None
    if "@" in parts.netloc:
        raise ConfigError(
            "a service's URL has no user and password; set FRAZIL_TOKEN, or pass token="
        )
    if not parts.hostname or port == 0 or parts.fragment:
        raise ConfigError("write the service's URL like http://host:8080/namespace")
    return parts
