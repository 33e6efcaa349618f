"""TLS for both protocols: a certificate, its key, and optionally the CA of client certificates.

Usually a proxy in front of the service terminates TLS. Where there is none, the service does it, so
that tokens do not cross a network unencrypted.
"""

import ssl
from dataclasses import dataclass

from frazil.errors import ConfigError
from frazil.service.toml_reader import Table

__all__ = ["Tls", "read_tls"]

_FILE = "the name of a PEM file"


@dataclass(frozen=True, slots=True)
class Tls:
    """Names of PEM files. Without client_ca, clients need no certificate."""

    cert: str
    key: str
    client_ca: str = ""

    def context(self) -> ssl.SSLContext:
        """Return the SSL context. Raises ConfigError for files that do not load or match."""
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
                f"TLS: {at}: {getattr(error, 'strerror', None) or error}; use PEM files, and a key "
                "without a password"
            ) from None
        return context


def read_tls(server: Table) -> Tls | None:
    """Return the TLS settings of the table ``[server]``, or None."""
    cert, key, client_ca = (
        server.take(name, str, "", _FILE) for name in ("tls_cert", "tls_key", "tls_client_ca")
    )
    if not (cert or key or client_ca):
        return None
    for name, value in (("tls_cert", cert), ("tls_key", key)):
        if not value:
            server.refuse(name, value, f"{_FILE}, together with the other TLS keys")
    return Tls(cert, key, client_ca)


def _no_password() -> str:
    """Refuse; without this callback OpenSSL would prompt on the terminal."""
    raise ValueError("the key has a password")
