"""The meaning of a reply of a service: IDs, "try later", or an error that a retry does not change.

A status alone is not enough. A gateway may answer 200 with a page of its own, and a service with a
new configuration may issue IDs of another scheme. So a valid reply names the namespace, the scheme
and its fingerprint, and has the requested number of packed IDs. It also repeats the nonce of the
request: the IDs of a repeated reply would be duplicates.

    200                        IDs, if the reply is valid
    429, 503 "try-later"       try later; Retry-After says when
    500 "internal", 502, 504   try later: the service or a gateway has a problem
    503 "stopped"              this namespace issues no more IDs
    3xx, other 4xx and 5xx     the URL, the token or the configuration is wrong
"""

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from frazil.errors import ConfigError, FrazilError, PoolExhausted, RegistryUnavailable, Stopped
from frazil.remote.http.config import NONCE, ServiceConfig

_WORDS_MOST = 300
_PAGE_MOST = 65_536  # bytes of a reply without IDs
_NOT_NOW = {429, 502, 503, 504}
_RETRY_MOST_S = 3_600.0
_INVALID = {"InvalidURL", "InvalidUrlClientError"}  # of http.client and of aiohttp


class Gathered:
    """A reply that is being received: call ``feed`` with each part, then ``ids``."""

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
        """Store a part. Raises ConfigError for more data than requested."""
        self._come += len(part)
        if self._come > (self._size if self._status == 200 else _PAGE_MOST):
            raise self._stranger("it sends more than was requested")
        self._parts.append(part)

    def ids(self) -> bytes:
        """Return the packed IDs. Raises the error that the reply contains instead."""
        body = b"".join(self._parts)
        if self._status != 200:
            raise self._refusal(body)
        if len(body) < self._size:
            raise RegistryUnavailable(
                f"{self._config.name}: the reply is incomplete", outcome_known=False
            )
        return body

    def _check(self) -> None:
        """Raise an error for a reply without IDs of this namespace and scheme."""
        config, told, scheme = self._config, self._headers, self._config.request.scheme
        if told.get("frazil-namespace", "") != config.namespace or not told.get(
            "content-type", ""
        ).startswith("application/octet-stream"):
            raise self._stranger("this URL is not one of a frazil service")
        name = told.get("frazil-scheme", "")
        if name != scheme.name:
            raise ConfigError(
                f"{config.name} issues IDs of {_plain(name)!r} and was opened as "
                f"{scheme.name!r}; open it with scheme={_plain(name)!r}",
                scheme=name,
            )
        if told.get("frazil-fingerprint", "") != scheme.fingerprint:
            raise ConfigError(
                f"{config.name} has another {name!r} than this program (its epoch or its fields); "
                "open it with the scheme that GET /v1/layouts shows",
                scheme=name,
            )
        if told.get(NONCE, "") != self._nonce:
            raise RegistryUnavailable(
                f"{config.name}: this is the reply to another request, or its header Frazil-Nonce "
                "was dropped; check the caches and proxies on the way",
                outcome_known=False,
            )

    def _refusal(self, body: bytes) -> FrazilError:
        """Return the error of an unsuccessful reply."""
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
                404: "; check the path and the namespace of the URL",
            }.get(status, "" if words else "; check the URL")
            return ConfigError(told + hint, status=status)
        later = PoolExhausted if status == 429 or kind == "try-later" else RegistryUnavailable
        return later(told, outcome_known=True, retry_after_s=self._retry_after_s())

    def _retry_after_s(self) -> float:
        text = self._headers.get("retry-after", "")
        return min(float(text), _RETRY_MOST_S) if text.isascii() and text.isdigit() else 0.0

    def _stranger(self, why: str) -> ConfigError:
        return ConfigError(f"{self._config.name}: {why}; check the URL", status=self._status)


@contextmanager
def in_words(config: ServiceConfig, patience_s: float, *drivers: type[Exception]) -> Iterator[None]:
    """Translate the errors of a driver during an attempt, of these classes."""
    try:
        yield
    except TimeoutError:
        raise RegistryUnavailable(
            f"{config.name}: no complete reply within {patience_s:.1f} s", outcome_known=False
        ) from None
    except drivers as error:
        raise _explained(config, error) from None


def _explained(config: ServiceConfig, error: Exception) -> FrazilError:
    """Return the error of an attempt that ended without a reply."""
    what = f"{type(error).__name__} {_plain(str(error))}".strip()
    cause: BaseException | None = error
    while cause is not None:
        if type(cause) is ssl.SSLCertVerificationError:  # not aiohttp's, which has no message
            return ConfigError(
                f"{config.name}: its certificate is not trusted ({cause.verify_message}); "
                "SSL_CERT_FILE names the authorities to trust"
            )
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, UnicodeError) or type(error).__name__ in _INVALID:
        return ConfigError(f"{config.name}: {what}; check the URL")
    return RegistryUnavailable(f"{config.name}: {what}", outcome_known=False)


def _problem(body: bytes) -> tuple[str, str]:
    """Return the kind and the words of a problem, or two empty strings for another body."""
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
    """Return foreign text as one short printable line."""
    return "".join(c if c.isprintable() else " " for c in words[:_WORDS_MOST]).strip()
