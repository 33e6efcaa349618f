"""The systems with a name: frazil, other packages, and the original algorithm of Icicle.

Each package is used as its documentation says, with a different machine number for each running
process; tests of a default configuration omit the number if it is optional. Layouts are defined
only to read moments and nodes. A package is imported when its system is used, and nothing is
installed.
"""

import importlib
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

import frazil
from frazil.errors import ConfigError
from frazil_torture.original_icicle import OriginalIcicle
from frazil_torture.system import FieldReader, Reading, Setting, System, attribute, itself

__all__ = ["SYSTEMS", "known"]

_TWITTER_US = 1_288_834_974_657_000
_2020_US = 1_577_836_800_000_000
_SONYFLAKE_US = 1_409_529_600_000_000
_ICICLE_US = 1_455_788_600_316_000
_ANY = 42  # the number in examples, for packages that require one
_TIMEOUT_S = 3.0


def _frazil_options(setting: Setting) -> dict[str, Any]:
    options = {"scheme": setting.scheme, "namespace": setting.namespace, "timeout": _TIMEOUT_S}
    return options | {"url": setting.url or None}


def _frazil(setting: Setting) -> Any:
    own = setting.url.startswith(("icicle:", "http:", "https:"))  # the server makes the IDs
    start = "random" if setting.random_start and not own else 0
    return frazil.open(lead=setting.lead_s, sequence_start=start, **_frazil_options(setting))


def _frazil_ways(setting: Setting, holder: Any) -> list[Callable[[int], list[Any]]]:
    return [holder.take, partial(frazil.mint, **_frazil_options(setting))]


def _frazil_claim(holder: Any) -> tuple[int, int, int] | None:
    """The claim of a generator with a registry; a server's has none."""
    walk = getattr(holder, "_walk", None)
    claim = None if walk is None else walk.keeper.policy.claim
    return None if claim is None else (claim.slot, claim.start, claim.until)


def _frazil_reading(setting: Setting) -> Reading:
    scheme = frazil.scheme(setting.scheme)

    def read(n: int) -> tuple[int | None, int | None]:
        values = scheme.unpack(n)
        return values.moment_us, values["node"] if "node" in values.keys() else None  # noqa: SIM118

    return read


class _Session:
    """A session that takes IDs from ``frazil_id``."""

    def __init__(self, setting: Setting) -> None:
        self._link = importlib.import_module("psycopg").connect(
            setting.url.partition("?")[0], autocommit=True
        )
        self._namespace = setting.namespace

    def __call__(self) -> int:
        (made,) = self._link.execute("SELECT frazil_id(%s)", (self._namespace,)).fetchone()
        return int(made)

    def after(self, *seen: int) -> int:
        ask = "SELECT frazil_id(%s, after => %s)"
        (made,) = self._link.execute(ask, (self._namespace, max(seen))).fetchone()
        return int(made)


def _peer(
    name: str,
    module: str,
    build: Callable[[Any, int | None], Any],
    method: str = "",
    reading: Reading | None = None,
) -> System:
    def make(setting: Setting) -> Any:
        return build(importlib.import_module(module), setting.node)

    bind = attrgetter(method) if method else itself
    return System(name, make, bind, package=name, module=module, reading=lambda _: reading)


def _sonyflake(module: Any, node: int | None) -> Any:
    return module.SonyFlake() if node is None else module.SonyFlake(machine_id=lambda: node)


def _sonyflake_turbo(module: Any, node: int | None) -> Any:
    numbers = (0x1337, 0xCAFE) if node is None else (2 * node, 2 * node + 1)
    return module.SonyFlake(*numbers, start_time=_SONYFLAKE_US // 1_000_000)


def _flakeid(module: Any, node: int | None) -> Any:
    if node is None:
        return module.make_generator()
    return module.make_generator(module.PRESET_TWITTER, datacenter_id=1, machine_id=node)


def _tsid(module: Any, node: int | None) -> Any:
    return module.TSIDGenerator() if node is None else module.TSIDGenerator(node=node, node_bits=10)


def _uuid_moment(n: int) -> tuple[int | None, int | None]:
    return (n >> 80) * 1000, None


_SONY_READER = FieldReader(24, 10_000, _SONYFLAKE_US, 0, 16)

_ALL = (
    System(
        "frazil",
        _frazil,
        reading=_frazil_reading,
        ways=_frazil_ways,
        timeout_s=_TIMEOUT_S,
        claim=_frazil_claim,
    ),
    System(
        "frazil_id", _Session, package="frazil[postgres]", module="psycopg", reading=_frazil_reading
    ),
    _peer(
        "snowflake-id",
        "snowflake",
        lambda module, node: module.SnowflakeGenerator(_ANY if node is None else node),
        "__next__",
        FieldReader(22, 1000, 0, 12, 10),
    ),
    _peer(
        "oneflake",
        "oneflake",
        lambda module, node: module.FlakeGenerator(*([] if node is None else [node])),
        "generate",
        FieldReader(22, 1000, _TWITTER_US, 12, 10),
    ),
    _peer("sonyflake-py", "sonyflake", _sonyflake, "next_id", _SONY_READER),
    _peer("sonyflake-turbo", "sonyflake_turbo", _sonyflake_turbo, "__next__", _SONY_READER),
    _peer("flakeid", "flakeid", _flakeid, "next_id", FieldReader(22, 1000, _2020_US, 12, 10)),
    _peer("tsidpy", "tsidpy", _tsid, "create", FieldReader(22, 1000, _2020_US, 12, 10)),
    _peer("uuid-utils", "uuid_utils", lambda module, _: module.uuid7, "", _uuid_moment),
    _peer("fastuuidv7", "fastuuidv7", lambda module, _: module.gen_id, "", _uuid_moment),
    _peer("python-ulid", "ulid", lambda module, _: module.ULID, "", _uuid_moment),
    System(
        "icicle-published",
        lambda setting: OriginalIcicle(setting.url),
        reading=lambda _: FieldReader(22, 1000, _ICICLE_US, 12, 10),
        server=True,
    ),
)

SYSTEMS = {system.name: system for system in _ALL}
"""The systems by name, frazil first."""


def known(name: str) -> System:
    """A system by its name, or the user's ``module:callable``. Raises ConfigError."""
    if name in SYSTEMS:
        return SYSTEMS[name]
    if ":" in name:
        return System(name, lambda _setting: attribute(name))
    raise ConfigError(
        f"no system is called {name!r}; there are {', '.join(SYSTEMS)}, and your own is written "
        "module:callable",
        system=name,
    )
