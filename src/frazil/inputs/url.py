"""What stands in a registry's URL: its options, its hosts, its numbers, each taken at its word.

Python's own readers are generous: ``int`` takes the digits of every script, ``urlsplit`` drops tabs
and whatever follows a ``#``, and a password with an ``@`` that was forgotten looks like a host. A
setting that is passed over without a word is worse than an error, so all of these are refused here.
What is refused may hold a password, and is not shown.
"""

import os
import re

from frazil.errors import ConfigError
from frazil.inputs.duration import duration_us
from frazil.inputs.masking import masked

__all__ = ["Options", "anchored", "host_port", "whole"]

_MOST = 1_000_000_000  # of an option that counts
_SHOWN = 40
_PORT_MOST = 65_535
_CONTROL = re.compile(r"[\0-\x1f\x7f-\x9f]")  # some would be passed over, and none is meant
_HOST = re.compile(r"(?:\[(?P<ip>[^\[\]@\s]+)\]|(?P<name>[^:\[\]@\s]*))(?::(?P<port>[^:]*))?")


def whole(text: str, most: int, least: int = 0) -> int | None:
    """The number that decimal digits write, if it is one from ``least`` to ``most``.

    ``int`` reads the digits of every script, and raises for thousands of them.
    """
    if not re.fullmatch(r"[0-9]{1,18}", text):
        return None
    number = int(text)
    return number if least <= number <= most else None


def host_port(text: str, usual: int) -> tuple[str, int] | None:
    """The host and the port of ``host``, ``host:port`` or ``[IPv6]:port``; None for what is none.

    The host may be "". A password whose ``@`` was forgotten is not taken for part of a host.
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


def anchored(url: str) -> str:
    """The URL with the path of its file made absolute, through links.

    A relative path means another file after a ``chdir``, and in another process.
    """
    from urllib.parse import quote, unquote

    kind, _, rest = url.partition(":")
    path, mark, query = rest.partition("?")
    if kind == "sqlite" and unquote(path).strip("/"):
        named = unquote(path.removeprefix("//"), errors="surrogateescape")
        path = "//" + quote(os.path.realpath(named), errors="surrogateescape")
    elif kind == "static":
        pairs = query.split("&")
        for at, pair in enumerate(pairs):
            name, _, value = pair.partition("=")
            if name == "state" and value not in ("", "none"):
                named = unquote(value.replace("+", " "), errors="surrogateescape")
                pairs[at] = "state=" + quote(os.path.realpath(named), errors="surrogateescape")
        query = "&".join(pairs)
    return f"{kind}:{path}{mark}{query}"


class Options:
    """The ``?name=value`` part of a registry URL, each taken once, by name and kind."""

    def __init__(self, url: str) -> None:
        self.url = masked(url)
        from urllib.parse import parse_qsl, unquote, urlsplit

        try:
            url.encode("utf-8", "surrogateescape")  # as every file's name and argument can be
            if _CONTROL.search(unquote(url)):
                raise ValueError("it holds a control character")
            parts = urlsplit(url)
            if parts.netloc.split() not in ([], [parts.netloc]):
                raise ValueError("a space in it is written %20")
            if parts.fragment:  # would be left out without a word, of a path or a password
                raise ValueError("a '#' in it is written %23")
            pairs = parse_qsl(parts.query, keep_blank_values=True)
        except ValueError as error:  # the text may hold a password, and is not shown
            kind = url.partition(":")[0]
            raise ConfigError(f"the URL that begins with {kind}: is none: {error}") from None
        self._left: dict[str, str] = dict(pairs)
        self._known: list[str] = []
        if len(self._left) < len(pairs):
            raise ConfigError(f"{self.url}: an option is given twice", url=self.url)

    def text(self, name: str, default: str | None = None) -> str | None:
        """The option as it stands."""
        self._known.append(name)
        return self._left.pop(name, default)

    def number(self, name: str, most: int = _MOST) -> int:
        """The option as a whole number, 0 where it is not given."""
        text = self.text(name, "0") or ""
        found = whole(text, most)
        if found is None:
            raise ConfigError(
                f"?{name}={text[:_SHOWN]} is no whole number from 0 to {most}", url=self.url
            )
        return found

    def yes(self, name: str) -> bool:
        """Whether a person says yes; what is neither yes nor no is refused."""
        text = self.text(name, "no") or ""
        if text not in {"no", "yes"}:
            raise ConfigError(f"?{name}={text[:_SHOWN]}: write yes or no", url=self.url)
        return text == "yes"

    def duration_us(self, name: str, default_us: int) -> int:
        """The option as a duration, in µs."""
        text = self.text(name)
        return default_us if text is None else duration_us(text, name=f"?{name}=")

    def finish(self) -> None:
        """Refuse what nobody took: a misspelt option must not be a silent default."""
        if self._left:
            raise ConfigError(
                f"{self.url}: unknown option {', '.join(sorted(self._left))}; "
                f"known here: {', '.join(sorted(self._known)) or 'none'}",
                url=self.url,
            )
