"""URLs: parsed once, into a value, and strictly.

Python's own parsers are lenient: ``int`` accepts the digits of every script, ``urlsplit`` drops
tabs and everything after a ``#``, and a password whose ``@`` was forgotten looks like a host. A
setting that is silently ignored is worse than an error, so all of these are errors here. A URL that
is not valid may contain a password, so it is not shown.
"""

import os
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from frazil.errors import ConfigError, brief
from frazil.inputs.arguments import expect
from frazil.inputs.duration import duration_us
from frazil.inputs.kinds import Kind, kind_of, kinds
from frazil.inputs.masking import masked
from frazil.system.imports import load

if TYPE_CHECKING:
    from ssl import SSLContext

UrlInput: TypeAlias = str | os.PathLike[str]

_MOST = 1_000_000_000  # the largest value of a number option
_SHOWN = 40
_PORT_MOST = 65_535
_SECURE = {"etcds", "mariadbs", "mysqls", "zookeepers"}  # by TLS
_CONTROL = re.compile(r"[\0-\x1f\x7f-\x9f]")  # urlsplit drops some of them
_HOST = re.compile(r"(?:\[(?P<ip>[^\[\]@\s]+)\]|(?P<name>[^:\[\]@\s]*))(?::(?P<port>[^:]*))?")


def whole(text: str, most: int, least: int = 0) -> int | None:
    """The number in decimal digits if it is from ``least`` to ``most``; else None.

    ``int`` reads the digits of every script, and raises for thousands of them.
    """
    if re.fullmatch(r"[0-9]{1,18}", text) and least <= int(text) <= most:
        return int(text)
    return None


def host_port(text: str, usual: int) -> tuple[str, int] | None:
    """The host and the port of ``host``, ``host:port`` or ``[IPv6]:port``; None if it is invalid.

    The host may be "". A password whose ``@`` was forgotten is not part of a host.
    """
    found = _HOST.fullmatch(text)
    if not found:
        return None
    if found["ip"]:
        from ipaddress import AddressValueError, IPv6Address

        try:
            IPv6Address(found["ip"])
        except AddressValueError:
            return None
    port = whole(found["port"], _PORT_MOST, 1) if found["port"] else usual
    return None if port is None else (found["ip"] or found["name"] or "", port)


@dataclass(frozen=True, slots=True)  # no tuple: tools that record variables would list its password
class Url:
    """A URL and its parts. ``str()`` of it is ``shown``.

    text: the URL with its password. shown: the URL as the caller wrote it, with the password
    masked. kind: the part before the colon, and opened_by what it means. netloc, path: as in RFC
    3986, not decoded. query: names and values, decoded; each name occurs once.
    """

    text: str = field(repr=False)
    shown: str
    kind: str
    opened_by: Kind = field(repr=False)
    netloc: str = field(repr=False)
    path: str
    query: tuple[tuple[str, str], ...] = field(repr=False)

    def __str__(self) -> str:
        return self.shown

    @property
    def body(self) -> str:
        """The part between the colon and the question mark."""
        return self.text.partition(":")[2].partition("?")[0]

    @property
    def hosts(self) -> list[str]:
        """The hosts, each with its port if it has one."""
        return self.netloc.rpartition("@")[2].split(",")

    @property
    def user(self) -> tuple[str, str]:
        """The user's name and password; "" if not given."""
        from urllib.parse import unquote

        name, _, password = self.netloc.rpartition("@")[0].partition(":")
        return unquote(name), unquote(password)

    def at(self, place: str) -> str:
        """The URL with one host instead of all, masked."""
        user, at, _ = self.netloc.rpartition("@")
        return masked(self.text.replace(f"//{self.netloc}", f"//{user}{at}{place}", 1))

    def without(self, *names: str) -> str:
        """The URL's text without some options, for a driver that reads the rest."""
        base, _, query = self.text.partition("?")
        kept = [each for each in query.split("&") if each and each.partition("=")[0] not in names]
        return f"{base}?{'&'.join(kept)}" if kept else base

    def options(self) -> "Options":
        """Its options, to be read by name."""
        return Options(self)


def url_of(given: UrlInput | None) -> Url:
    """The URL that a caller gave: a text, a path of a file of claims, or None for the default.

    The path of its file becomes absolute, with links resolved: a relative one names another file
    after a ``chdir``, and in another process.
    """
    from urllib.parse import quote, unquote, urlencode

    if given is None:
        text = load("frazil.system.host").default_url()
    elif isinstance(given, str):
        text = given
        if not text.strip():
            raise ConfigError("url= is empty; leave it out for the default, or name a registry")
    else:
        expect("url=", given, os.PathLike, "a string like 'redis://host', or a Path")
        path = str(load("pathlib").Path(given).absolute())
        # A URL gives these characters another meaning.
        text = "sqlite://" + re.sub("[ #%?]", lambda found: f"%{ord(found[0]):02X}", path)
    try:
        url = parse_url(text)
    except ConfigError as error:
        if given is not None:
            raise
        raise ConfigError(f"FRAZIL_URL: {error}", **error.facts) from None
    named = unquote(url.netloc + url.path, errors="surrogateescape")
    options = dict(url.query)
    if url.kind == "sqlite" and named.strip("/"):
        path = quote(os.path.realpath(named), errors="surrogateescape")
        _, mark, query = url.text.partition("?")
        return replace(url, text=f"sqlite://{path}{mark}{query}", netloc="", path=path)
    if url.kind == "static" and options.get("state") not in (None, "", "none"):
        options["state"] = os.path.realpath(options["state"])
        text = f"static:{url.body}?{urlencode(options, errors='surrogateescape')}"
        return replace(url, text=text, query=tuple(options.items()))
    return url


@lru_cache(maxsize=64)  # for a child process that lives for one ID
def parse_url(text: str) -> Url:
    """Parse a URL. Raises ConfigError if it is invalid, or of an unknown kind."""
    from urllib.parse import parse_qsl, unquote, urlsplit

    kind, colon, _ = text.partition(":")
    opened_by = kind_of(kind) if colon else None
    if opened_by is None:
        from difflib import get_close_matches  # slow to import, and only errors need it

        near = get_close_matches(kind, kinds(), 1)
        hint = f"write one like redis://localhost; known: {', '.join(kinds())}"
        if near:
            hint = f"did you mean {near[0]}: ?"
        if not colon and "/" in text and "\0" not in text:
            hint = f"a file's URL begins with sqlite:, like sqlite://{os.path.realpath(text)}"
        raise ConfigError(f"no registry is called {brief(masked(text))}; {hint}", url=masked(text))
    try:
        text.encode("utf-8", "surrogateescape")  # an argument may have bytes that are not UTF-8
        if _CONTROL.search(unquote(text)):
            raise ValueError("it contains a control character")
        parts = urlsplit(text)
        if parts.netloc.split() not in ([], [parts.netloc]):
            raise ValueError("a space in it is written %20")
        if parts.fragment:  # the rest of a path or of a password
            raise ValueError("a '#' in it is written %23")
        pairs = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError as error:  # the text may contain a password, and is not shown
        raise ConfigError(f"the URL that begins with {kind}: is invalid: {error}") from None
    if len(dict(pairs)) < len(pairs):
        raise ConfigError(f"{masked(text)}: an option is given twice", url=masked(text))
    return Url(text, masked(text), kind, opened_by, parts.netloc, parts.path, tuple(pairs))


class Options:
    """The ``?name=value`` part of a URL; each option is read once, by name and type."""

    def __init__(self, url: Url) -> None:
        self.url = url.shown
        self._usual_horizon_us = url.opened_by.horizon_us
        self._left: dict[str, str] = dict(url.query)
        self._known: list[str] = []

    def text(self, name: str, default: str | None = None) -> str | None:
        """The option as a string."""
        self._known.append(name)
        return self._left.pop(name, default)

    def number(self, name: str, most: int = _MOST) -> int:
        """The option as a whole number; 0 if it is not given."""
        text = self.text(name, "0") or ""
        found = whole(text, most)
        if found is None:
            raise ConfigError(
                f"?{name}={text[:_SHOWN]} is not a whole number from 0 to {most}", url=self.url
            )
        return found

    def yes(self, name: str) -> bool:
        """The option as yes or no; no if it is not given."""
        text = self.text(name, "no") or ""
        if text not in {"no", "yes"}:
            raise ConfigError(f"?{name}={text[:_SHOWN]}: write yes or no", url=self.url)
        return text == "yes"

    def duration_us(self, name: str, default_us: int) -> int:
        """The option as a duration, in µs."""
        text = self.text(name)
        return default_us if text is None else duration_us(text, name=f"?{name}=")

    def horizon_us(self) -> int:
        """The option ``horizon``, in µs; the default is that of the kind."""
        return self.duration_us("horizon", self._usual_horizon_us)

    def finish(self) -> None:
        """Raise ConfigError for an option that was not read: it may be misspelt."""
        if self._left:
            raise ConfigError(
                f"{self.url}: unknown option {masked(', '.join(sorted(self._left)))}; "
                f"known here: {', '.join(sorted(self._known)) or 'none'}",
                url=self.url,
            )


def tls_files(url: Url, options: Options) -> dict[str, str] | None:
    """The files of ``?ca=``, ``?cert=``, ``?key=``; None for a kind without TLS. Or ConfigError."""
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
