"""TLS of both doors: a certificate, its key, and whose certificates callers must show, if any.

A token that crosses a network in the clear is everybody's. What usually stands before a service
speaks TLS; where nothing does, the service can.
"""

import ssl
from dataclasses import dataclass

from frazil.errors import ConfigError
from frazil.service.toml_reader import Table

__all__ = ["Tls", "read_tls"]

_FILE = "the name of a PEM file"


@dataclass(frozen=True, slots=True)
class Tls:
    """Names of PEM files. client_ca: "" lets callers in without a certificate of their own."""

    cert: str
    key: str
    client_ca: str = ""

    def context(self) -> ssl.SSLContext:
        """What sockets need; raises ConfigError for files that cannot be read or do not fit."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        at = f"{self.cert} with {self.key}"
        try:
            context.load_cert_chain(self.cert, self.key, password=_no_password)
            if self.client_ca:
                at = self.client_ca
                context.load_verify_locations(self.client_ca)
                context.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ValueError) as error:  # of OpenSSL too
            raise ConfigError(
                f"TLS: {at}: {getattr(error, 'strerror', None) or error}; name PEM files, the key "
                "without a password"
            ) from None
        return context


def read_tls(server: Table) -> Tls | None:
    """The TLS keys of the table ``[server]``; None without them."""
    cert, key, client_ca = (
        server.take(name, str, "", _FILE) for name in ("tls_cert", "tls_key", "tls_client_ca")
    )
    if not (cert or key or client_ca):
        return None
    for name, value in (("tls_cert", cert), ("tls_key", key)):
        if not value:
            server.refuse(name, value, f"{_FILE}, beside the others")
    return Tls(cert, key, client_ca)


def _no_password() -> str:
    """Asked for by OpenSSL, which would otherwise ask whoever sits at the terminal."""
    raise ValueError("the key has a password")
