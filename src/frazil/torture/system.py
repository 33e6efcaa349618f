"""A system under torture: how to make a generator of it, and how to read its IDs.

Every ID library is a callable in the end, but made in its own way: with a machine number or
without, an object with ``next_id``, an iterator, a function. A *holder* is what its documentation
has users keep; it is what a fork, a copy or a pickle carries. ``bind`` makes the call of it. Apart
are the two because a bound method of a copy must be the copy's.

Two things about an ID can be judged by whoever knows its bits: which moment it says, and which
node. Without that knowledge duplicates and order are judged all the same.
"""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from frazil.errors import ConfigError

__all__ = ["FieldReader", "Reading", "Setting", "System", "attribute", "foreign", "itself"]

Reading = Callable[[int], tuple[int | None, int | None]]
"""Of an ID: its moment in µs since 1970, and its node; None for what is not in it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a process is told about its generator.

    node: a number that nobody else has at this time; None: as it comes without any setting. lead_s:
    how far IDs may be ahead of the clock.
    """

    node: int | None = None
    url: str = ""
    scheme: str = "icicle"
    namespace: str = "default"
    lead_s: float = 0.0


@dataclass(frozen=True, slots=True)
class FieldReader:
    """Where a moment and a node stand in an ID, from bit 0 on; without ``node_bits`` no node."""

    time_at: int
    tick_us: int
    epoch_us: int
    node_at: int = 0
    node_bits: int = 0

    def __call__(self, n: int) -> tuple[int | None, int | None]:
        """The moment and the node of an ID."""
        node = n >> self.node_at & (1 << self.node_bits) - 1
        moment_us = (n >> self.time_at) * self.tick_us + self.epoch_us
        return moment_us, node if self.node_bits else None


def itself(holder: Any) -> Callable[[], Any]:
    """The call of a holder that is called itself."""
    call: Callable[[], Any] = holder
    return call


@dataclass(frozen=True, slots=True)
class System:
    """An ID system. ``make`` and ``bind`` run in the process that issues.

    package: what pip installs, "" for what is here already; module: what is then there.
    server: whether its IDs come from a Redis server, which the run starts. ways: other ways to ask
    a holder, or its package, for so many IDs. timeout_s: within which a call answers, if it says.
    """

    name: str
    make: Callable[[Setting], Any]
    bind: Callable[[Any], Callable[[], Any]] = itself
    package: str = ""
    module: str = ""
    reading: Callable[[Setting], Reading | None] = field(default=lambda _setting: None)
    server: bool = False
    ways: Callable[[Setting, Any], list[Callable[[int], list[Any]]]] = field(
        default=lambda _setting, _holder: []
    )
    timeout_s: float | None = None

    @property
    def missing(self) -> bool:
        """Whether its package is not installed."""
        return bool(self.module) and importlib.util.find_spec(self.module) is None


def attribute(path: str) -> Any:
    """What ``module:name`` or ``module:name.name`` stands for; ConfigError if nothing."""
    module, _, names = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in names.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"{path!r} leads to nothing: {error}; write module:callable, with the module in this "
            "folder or installed",
            system=path,
        ) from error
    if not callable(found):
        raise ConfigError(f"{path!r} is a {type(found).__name__} and cannot be called", system=path)
    return found


def foreign(path: str) -> System:
    """Anybody's callable that gives an ID at each call, as ``module:callable``."""
    return System(path, lambda _setting: attribute(path))
