"""The settings of a service: namespaces, addresses, tokens.

Without a file, the service has one namespace, ``default``, in the SQLite registry of this host. It
listens on loopback and needs no token. A file, ``frazil.toml``, defines others; its keys are in
docs/reference/configuration.md.

Reading the settings checks everything and opens no connection. Errors name the file, the key and
the allowed values. Keys that were not read are refused at the end, with the known names, so a
misspelt key never becomes a silent default. Errors go to a log, so they show numbers, booleans and
times, but no other value: it may be a URL with its password at a wrong place.
"""

import re
import ssl
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NoReturn, TypeVar, Unpack

from frazil.errors import ConfigError, LayoutExhausted, Misuse
from frazil.generator.request import OpenRequest, make_request, refuse_full
from frazil.inputs.duration import duration_us
from frazil.inputs.keys import read_keys
from frazil.inputs.masking import masked
from frazil.opening import OpenOptions
from frazil.remote.http.config import NAME, NAME_RULE
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as make_scheme
from frazil.service.tokens import ANYWHERE, SCOPES, Token, is_hash
from frazil.system.clock import to_us
from frazil.system.host import default_url

Kind = TypeVar("Kind")

_PASSWORD = re.compile(r"(?<=:)(?!//)[^/?#\s]+(?=@)|(?<=password=)[^\s&]+")  # in no valid URL too
_KINDS = {str: "a string", bool: "true or false", list: "a list", dict: "a table"}


class Table:
    """One table of a TOML file. ``place`` is its dotted name; "" is the whole file."""

    def __init__(self, file: str, place: str, values: Mapping[str, Any]) -> None:
        self.file = file
        self.place = place
        self._values = dict(values)
        self._known: list[str] = []

    def take(
        self,
        key: str,
        kind: type[Kind],
        default: Any,
        allowed: str = "",
        valid: Callable[[Kind], bool] = lambda _: True,
    ) -> Any:
        """Return the value of a key, or the default. Raises ConfigError for another type.

        An empty string is refused if it is not the default: it would turn something off in silence.
        allowed: the allowed values in words, for the message; valid: whether a value is one.
        """
        self._known.append(key)
        if key not in self._values:
            return default
        value = self._values.pop(key)
        boolean = kind is int and isinstance(value, bool)
        if not isinstance(value, kind) or boolean or value == "" != default or not valid(value):
            self.refuse(key, value, allowed or _KINDS.get(kind, kind.__name__))
        return value

    def need(self, key: str, allowed: str, valid: Callable[[str], bool] = bool) -> str:
        """Return the value of a key that must be there, a string."""
        found: str | None = self.take(key, str, None, allowed, valid)
        return self.refuse(key, "", allowed) if found is None else found

    def texts(
        self, key: str, allowed: str, among: Collection[str] = (), *, needed: bool = True
    ) -> tuple[str, ...]:
        """Return the value of a key, a list of strings; if ``needed``, it must not be empty.

        among: the strings that are allowed; by default any.
        """
        found = self.take(key, list, [], allowed)
        if needed and not found:
            self.refuse(key, found, allowed)
        for at, one in enumerate(found, 1):
            if not isinstance(one, str) or (among and one not in among):
                near = get_close_matches(str(one), among, 1)
                hint = f" (did you mean {near[0]}?)" if near else ""
                raise self._error(key, f": entry {at} is wrong{hint}; it must be {allowed}")
        return tuple(found)

    def table(self, key: str) -> "Table":
        """Return the table with that name below this one, or an empty one."""
        found = self.take(key, dict, {}, f"a table, [{self._name(key)}]")
        return Table(self.file, self._name(key), found)

    def tables(self, key: str) -> "Iterator[Table]":
        """Return the tables of an array, ``[[key]]``."""
        allowed = f"tables, each under [[{self._name(key)}]]"
        found = self.take(key, list, [], allowed)
        if not all(isinstance(one, dict) for one in found):
            self.refuse(key, found, allowed)
        return (Table(self.file, f"{self._name(key)}[{i}]", one) for i, one in enumerate(found))

    def items(self) -> list[tuple[str, Any]]:
        """Return all remaining keys and values, for a table whose keys are names."""
        left, self._values = list(self._values.items()), {}
        return left

    def finish(self) -> None:
        """Raise ConfigError for a key that was not read."""
        for key in self._values:
            near = get_close_matches(key, self._known, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            known = ", ".join(sorted(self._known))
            raise self._error(key, f" is not a known key; {hint}known keys: {known}")

    def refuse(self, key: str, value: object, allowed: str) -> NoReturn:
        """Raise ConfigError for a value. allowed: the allowed values, in words."""
        harmless = isinstance(value, int | float | date | time)
        shown = value if harmless else _KINDS[type(value)] if value else "empty"
        raise self._error(key, f" is {shown}; it must be {allowed}")

    def error_at(self, key: str, error: object) -> ConfigError:
        """Return an error caused by a value as ConfigError, with the file and the key."""
        return self._error(key, f": {error}")

    def _error(self, key: str, words: str) -> ConfigError:
        name, words = (_PASSWORD.sub("***", masked(text)) for text in (self._name(key), words))
        return ConfigError(f"{self.file}: {name}{words}", file=self.file, key=name)

    def _name(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key


def read_table(path: Path) -> Table:
    """Read a TOML file. Raises ConfigError, with the line, if that fails."""
    try:
        with path.open("rb") as file:
            return Table(str(path), "", tomllib.load(file))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; pass a file with --config") from None
    except (ValueError, RecursionError) as error:  # numbers that are too long, or nested too deep
        raise ConfigError(f"{path} is not valid TOML: {error}", file=str(path)) from None


WORKERS_MOST = 64
_FOR_ONE = {"memory", "static"}
_DURATION_LONGEST = 32
_DURATION = "a duration with its unit, like '200ms'"
_URL = "a URL, like 'redis://cache:6379/0'"
_PEM = "the name of a PEM file"
_PORT = "a port from 0 to 65535"
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+")
_ORIGINS = "a list of origins, like ['https://app.example'], or ['*']"


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


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a service. ``host`` and ``port`` are for HTTP; port 0 selects a free port.

    A layout may be full: a worker that begins after its end serves the other namespaces.
    """

    namespaces: tuple[OpenRequest, ...]
    host: str = "127.0.0.1"
    port: int = 8080
    resp_port: int | None = None
    tokens: tuple[Token, ...] = ()
    without_tokens: bool = False
    tls: Tls | None = None
    cors: tuple[str, ...] = ()
    client_timeout_us: int = 10_000_000
    workers: int = 1

    def tls_context(self) -> ssl.SSLContext | None:
        """Return the TLS context of the listening sockets. Raises ConfigError."""
        return None if self.tls is None else self.tls.context()

    def check(self) -> None:
        """Raise ConfigError if the service would be open to a network by accident, or repeat IDs.

        Each worker would count on its own in a registry that exists in one process.
        """
        for one in self.namespaces:
            if self.workers > 1 and one.url.kind in _FOR_ONE:
                raise ConfigError(
                    f"namespace {one.namespace!r}: a {one.url.kind}: registry serves one process, "
                    f"and there are {self.workers} workers; use another registry, or --workers 1",
                    namespace=one.namespace,
                )
        if not (is_loopback(self.host) or self.tokens or self.without_tokens):
            raise ConfigError(
                f"{masked(self.host)} is reachable from other hosts, and no token is configured: "
                "any caller could use up IDs. Add [[tokens]] to the configuration (frazil serve "
                "--new-token creates one), listen on 127.0.0.1, or pass --without-tokens",
                host=self.host,
            )


def read_settings(path: Path | None = None, url: str | None = None) -> Settings:
    """Read the settings from a file; without a file, return those of one namespace ``default``.

    url: the registry of namespaces that name none; by default that of ``frazil.open``. Raises
    ConfigError, which names the file and the key.
    """
    if path is None:
        return Settings((_connected(url or default_url(), make_scheme()),))
    file = read_table(path)
    server = _server(file.table("server"))
    names = file.table("namespaces")
    namespaces = tuple(_namespace(names, name, values, url) for name, values in names.items())
    if not namespaces:
        namespaces = (_connected(url or default_url(), make_scheme()),)
    known = {namespace.namespace for namespace in namespaces}
    tokens = tuple(_token(table, known) for table in file.tables("tokens"))
    by_hash: dict[bytes, Token] = {}
    for token in tokens:
        first = by_hash.setdefault(token.digest, token)
        if first is not token:
            same = f"{first.name!r} and {token.name!r} have the same hash"
            raise file.error_at("tokens", f"{same}; frazil serve --new-token creates another token")
    file.finish()
    return Settings(namespaces, tokens=tokens, **server)


def is_loopback(host: str) -> bool:
    """Return whether a listening address is reachable from this host only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _server(table: Table) -> dict[str, Any]:
    """Return the settings of the table [server], by their names in ``Settings``."""
    cors = table.texts("cors", _ORIGINS, needed=False)
    if not all(origin == "*" or _ORIGIN.fullmatch(origin) for origin in cors):
        table.refuse("cors", list(cors), _ORIGINS)
    most = WORKERS_MOST
    processes = f"a number of processes from 1 to {most}"
    found = {
        "host": table.take("host", str, "127.0.0.1", "an address to listen on"),
        "port": table.take("port", int, 8080, _PORT, _is_port),
        "resp_port": table.take("resp_port", int, None, _PORT, _is_port),
        "tls": _tls(table),
        "cors": cors,
        "client_timeout_us": _client_timeout_us(table),
        "workers": table.take("workers", int, 1, processes, lambda n: 1 <= n <= most),
    }
    table.finish()
    return found


def _is_port(port: int) -> bool:
    return 0 <= port <= 65535


def _tls(server: Table) -> Tls | None:
    cert, key, client_ca = (
        server.take(name, str, None, _PEM) for name in ("tls_cert", "tls_key", "tls_client_ca")
    )
    if not (cert or key or client_ca):
        return None
    together = f"{_PEM}, together with the other TLS keys"
    if cert is None:
        server.refuse("tls_cert", "", together)
    if key is None:
        server.refuse("tls_key", "", together)
    return Tls(cert, key, client_ca or "")


def _no_password() -> str:
    """Refuse; without this callback OpenSSL would prompt on the terminal."""
    raise ValueError("the key has a password")


def _duration(table: Table, key: str, default: str) -> Any:
    # An error would show the beginning of a long one, and a masked URL needs its "@".
    return table.take(key, str, default, _DURATION, lambda text: len(text) <= _DURATION_LONGEST)


def _client_timeout_us(table: Table) -> int:
    text = _duration(table, "client_timeout", "10s")
    try:
        client_timeout_us = duration_us(text, name="client_timeout")
    except Misuse as error:
        raise table.error_at("client_timeout", error) from None
    if not client_timeout_us:
        table.refuse("client_timeout", text, "longer than zero")
    return client_timeout_us


def _connected(url: str, scheme: Scheme, **options: Unpack[OpenOptions]) -> OpenRequest:
    """The request of a namespace. Raises ConfigError for values that its registry never grants."""
    request = make_request(url, scheme, **options)
    request.connect()
    return request


def _namespace(names: Table, name: str, values: object, url: str | None) -> OpenRequest:
    if not NAME.fullmatch(name):
        raise names.error_at(name, f"a namespace must be named with {NAME_RULE}")
    if not isinstance(values, dict):
        names.refuse(name, values, f"a table, [namespaces.{name}]")
    table = Table(names.file, f"namespaces.{name}", values)
    blocks = "a number of values to claim at a time, from 1"
    scheme = _scheme(table)
    address = table.take("registry", str, None, _URL) or url or default_url()
    options: OpenOptions = {
        "namespace": name,
        "lead": _duration(table, "lead", "0s"),
        "timeout": _duration(table, "timeout", "10s"),
        "keep": _duration(table, "keep", "1min"),
        "block": table.take("block", int, None, blocks, lambda n: n >= 1),
    }
    table.finish()
    try:
        refuse_full(scheme)
        return _connected(address, scheme, **options)
    except (Misuse, LayoutExhausted) as error:
        if "@" in address.partition("://")[0]:  # parts of it would not be masked
            table.refuse("registry", address, _URL)
        raise names.error_at(name, error) from None


def _scheme(table: Table) -> Scheme:
    spec = table.take("scheme", str, "icicle", "the name of a scheme, or a layout string")
    fields = dict(table.take("fields", dict, {}, "a table of numbers, like {cluster = 3}"))
    moment: Any = str | datetime
    look = {
        "epoch": table.take("epoch", moment, None, "a time, like 2025-01-01T00:00:00Z"),
        "encoding": table.take(
            "encoding", str, None, "the name of an encoding, or 'alphabet:' and its characters"
        ),
        "prefix": table.take("prefix", str, "", "a string like 'order_'"),
        "check": table.take("check", bool, default=False),
        "group": table.take("group", int, 0, "the number of characters in a group, like 4"),
    }
    given: Any = object  # an error must not show the value: it may be the key itself
    key: Any = table.take("key", given, None)
    try:
        keys = None if key is None else read_keys(key)
    except Misuse as error:
        raise table.error_at("key", error) from None
    for name, value in fields.items():
        if not isinstance(value, int) or isinstance(value, bool):
            table.refuse(f"fields.{name}", value, "a whole number")
    try:
        return make_scheme(spec, fields=fields, key=keys, **look)
    except Misuse as error:
        raise table.error_at("scheme", error) from None


def _token(table: Table, known: set[str]) -> Token:
    name = table.need("name", "a name for the logs")
    digest = table.need("hash", "'sha256:' and 64 hex digits (frazil serve --new-token)", is_hash)
    names = f"a list of {', '.join(sorted(known))}, or ['*']"
    places = table.texts("namespaces", names, {*known, ANYWHERE})
    scopes = table.texts("scopes", f"a list of {', '.join(SCOPES)}", SCOPES)
    time = "a time with a UTC offset, like 2027-01-01T00:00:00Z"
    expires = table.take("expires", datetime, None, time, lambda at: at.tzinfo is not None)
    many = "a whole number of IDs from 1; without it there is no limit"
    quota = table.take("ids_per_minute", int, None, many, lambda n: n >= 1)
    table.finish()
    return Token(
        name=name,
        digest=bytes.fromhex(digest.removeprefix("sha256:")),
        namespaces=frozenset(places),
        scopes=frozenset(scope for scope in SCOPES if scope in scopes),
        expires_us=None if expires is None else to_us(expires),
        ids_per_minute=quota,
    )
