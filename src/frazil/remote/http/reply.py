"""What a reply of a service means: IDs, "not now", or a mistake that waiting does not change.

A status alone is not believed. A gateway that shows a page of its own answers 200 too, and a
service that was set up anew may issue IDs of another scheme. So a good reply has to name the
namespace, the scheme and its fingerprint, be packed IDs, and be as long as was asked for. And it
has to name the request's nonce: IDs of a reply that comes twice would come twice.

    200                        IDs, if all of that is so
    429, 503 "try-later"       not now; Retry-After says when
    500 "internal", 502, 504   not now: it, or what stands before it, is not well
    503 "stopped"              this namespace issues no more
    3xx, other 4xx and 5xx     the address, the token or the set-up is wrong
"""

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from frazil.errors import ConfigError, FrazilError, PoolExhausted, RegistryUnavailable, Stopped
from frazil.generator.complaints import closed
from frazil.remote.http.config import NONCE, ServiceConfig

if TYPE_CHECKING:
    import httpx

__all__ = ["Gathered", "in_words"]

_WORDS_MOST = 300
_PAGE_MOST = 65_536  # bytes of a reply that is no IDs
_NOT_NOW = {429, 502, 503, 504}
_RETRY_MOST_S = 3_600.0


class Gathered:
    """A reply as it comes in: ``feed`` it parts, then ask for its ``ids``."""

    def __init__(
        self, config: ServiceConfig, n: int, nonce: str, status: int, headers: Mapping[str, str]
    ) -> None:
        self._config = config
        self._nonce = nonce
        self._size = n * config.width
        self._status = status
        self._headers = headers
        self._parts: list[bytes] = []
        self._come = 0
        if status == 200:
            self._check()

    def feed(self, part: bytes) -> None:
        """Take in a part. Raises ConfigError for more than was asked for."""
        self._come += len(part)
        if self._come > (self._size if self._status == 200 else _PAGE_MOST):
            raise self._stranger("it sends more than it was asked for")
        self._parts.append(part)

    def ids(self) -> bytes:
        """The packed IDs, all there. Raises what the reply says instead."""
        body = b"".join(self._parts)
        if self._status != 200:
            raise self._refusal(body)
        if len(body) < self._size:
            raise RegistryUnavailable(
                f"{self._config.name}: the reply was broken off", outcome_known=False
            )
        return body

    def _check(self) -> None:
        """ConfigError for a reply that does not hold IDs of this namespace and scheme."""
        config, told = self._config, self._headers
        if told.get("frazil-namespace", "") != config.namespace or not told.get(
            "content-type", ""
        ).startswith("application/octet-stream"):
            raise self._stranger("what answers there is no frazil service")
        name = told.get("frazil-scheme", "")
        if name != config.scheme.name:
            raise ConfigError(
                f"{config.name} issues IDs of {_plain(name)!r} and was opened as "
                f"{config.scheme.name!r}; open it with scheme={_plain(name)!r}",
                scheme=name,
            )
        if told.get("frazil-fingerprint", "") != config.scheme.fingerprint:
            raise ConfigError(
                f"{config.name} has another {name!r} than this program (its epoch or its fields); "
                "open it with the scheme that GET /v1/layouts shows",
                scheme=name,
            )
        if told.get(NONCE, "") != self._nonce:
            raise RegistryUnavailable(
                f"{config.name}: this is the reply to another request, or its header Frazil-Nonce "
                "was dropped; see what stands between here and there (a cache, a proxy)",
                outcome_known=False,
            )

    def _refusal(self, body: bytes) -> FrazilError:
        """The error of a reply that is no success."""
        kind, words = _problem(body)
        status = self._status
        told = f"{self._config.name} answers {status}{': ' * bool(words)}{words}"
        if kind == "stopped":
            return Stopped(told)
        if status == 500 and kind == "internal":
            return RegistryUnavailable(told, outcome_known=True, retry_after_s=1.0)
        if status not in _NOT_NOW:
            hint = {
                401: "; set FRAZIL_TOKEN, or pass token=",
                404: "; look at the path and the namespace of the URL",
            }.get(status, "" if words else "; look at the URL")
            return ConfigError(told + hint, status=status)
        later = PoolExhausted if status == 429 or kind == "try-later" else RegistryUnavailable
        return later(told, outcome_known=True, retry_after_s=self._retry_after_s())

    def _retry_after_s(self) -> float:
        text = self._headers.get("retry-after", "")
        return min(float(text), _RETRY_MOST_S) if text.isascii() and text.isdigit() else 0.0

    def _stranger(self, why: str) -> ConfigError:
        return ConfigError(f"{self._config.name}: {why}; look at the URL", status=self._status)


@contextmanager
def in_words(
    config: ServiceConfig, patience_s: float, is_closed: Callable[[], bool]
) -> Iterator[None]:
    """Around an attempt: what the driver raises, in frazil's words.

    is_closed: whether the generator was closed, by another thread or task, which the driver has no
    error of its own for.
    """
    import httpx

    try:
        yield
    except TimeoutError:
        raise RegistryUnavailable(
            f"{config.name}: no whole reply within {patience_s:.1f} s", outcome_known=False
        ) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _explained(config, error) from None
    except RuntimeError:
        if is_closed():
            raise closed() from None
        raise


def _explained(config: ServiceConfig, error: "httpx.HTTPError | httpx.InvalidURL") -> FrazilError:
    """The error of an attempt that ended without a reply."""
    import httpx

    what = f"{type(error).__name__} {_plain(str(error))}".strip()
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ConfigError(
                f"{config.name}: its certificate is not trusted ({cause.verify_message}); "
                "SSL_CERT_FILE names the authorities to trust"
            )
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return ConfigError(f"{config.name}: {what}; look at the URL")
    return RegistryUnavailable(f"{config.name}: {what}", outcome_known=False)


def _problem(body: bytes) -> tuple[str, str]:
    """The kind of a problem of the service, and its words; two empty texts for anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return "", ""
    if not isinstance(found, dict):
        return "", ""
    kind = str(found.get("type", "")).removeprefix("urn:frazil:problem:")
    words = [found[name] for name in ("title", "detail") if isinstance(found.get(name), str)]
    return kind, _plain("; ".join(words))


def _plain(words: str) -> str:
    """Words of somebody else, fit for a line of a log."""
    return "".join(c if c.isprintable() else " " for c in words[:_WORDS_MOST]).strip()
