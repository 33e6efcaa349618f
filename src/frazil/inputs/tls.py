"""The options of a URL for TLS: ``?ca=``, ``?cert=`` and ``?key=``, paths of files."""

from typing import TYPE_CHECKING

from frazil.errors import ConfigError
from frazil.inputs.url import Options, Url

if TYPE_CHECKING:
    from ssl import SSLContext

_SECURE = {"etcds", "mariadbs", "mysqls", "zookeepers"}


def tls_files(url: Url, options: Options) -> dict[str, str] | None:
    """The files that a URL names; None if its kind has no TLS. Raises ConfigError."""
    found = {name: path for name in ("ca", "cert", "key") if (path := options.text(name))}
    if url.kind in _SECURE:
        return found
    if found:
        raise ConfigError(f"{url}: ca=, cert= and key= need {url.kind}s:", url=str(url))
    return None


def tls_context(url: Url, files: dict[str, str]) -> "SSLContext":
    """The context of a connection whose certificate and host name are verified."""
    from ssl import create_default_context  # slow to load

    try:
        context = create_default_context(cafile=files.get("ca"))
        if "cert" in files:
            context.load_cert_chain(files["cert"], files.get("key"))
    except OSError as error:
        raise ConfigError(f"{url}: ca=, cert= or key=: {error}", url=str(url)) from error
    return context
