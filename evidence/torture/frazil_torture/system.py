"""A system under torture: how to create its generator, and how to read its IDs.

Every ID library provides a callable, each in its own way: with or without a machine number, as an
object with ``next_id``, an iterator, a function. A *holder* is the object that users keep according
to the documentation; a fork, a copy or a pickle carries it. ``bind`` returns the callable. It is
separate because the bound method of a copy must belong to the copy.

If the bits of an ID are known, its moment and node are evaluated. Duplicates and order are always
evaluated.
"""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from frazil.errors import ConfigError

__all__ = ["FieldReader", "Reading", "Setting", "System", "attribute", "itself"]

Reading = Callable[[int], tuple[int | None, int | None]]
"""Returns the moment of an ID in µs since 1970, and its node; None if it has none."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of a generator.

    node: a number that no other process has now; None for the defaults. lead_s: how far IDs may be
    ahead of the clock. random_start: whether the IDs of each tick begin at a random number.
    """

    node: int | None = None
    url: str = ""
    scheme: str = "icicle"
    namespace: str = "default"
    lead_s: float = 0.0
    random_start: bool = False


@dataclass(frozen=True, slots=True)
class FieldReader:
    """Reads the moment and the node of an ID by their bits; without ``node_bits`` no node."""

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
    """The callable of a holder that is itself callable."""
    call: Callable[[], Any] = holder
    return call


@dataclass(frozen=True, slots=True)
class System:
    """An ID system. ``make`` and ``bind`` run in the process that issues.

    package: for pip, "" if none is needed; module: what it provides. server: whether it needs a
    Redis server, which the run starts. ways: other functions that return a number of IDs.
    timeout_s: the time limit of a call, if there is one. claim: the slot of a generator's claim,
    its first tick, and the one after its last. after: the callable of a holder that makes an ID
    greater than those passed to it, if there is one.
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
    claim: Callable[[Any], tuple[int, int, int] | None] = field(default=lambda _holder: None)
    after: Callable[[Any], Callable[..., Any] | None] = field(
        default=lambda holder: getattr(holder, "after", None)
    )

    @property
    def missing(self) -> bool:
        """Whether its package is not installed."""
        return bool(self.module) and importlib.util.find_spec(self.module) is None


def attribute(path: str) -> Any:
    """Import ``module:name`` or ``module:name.name``. Raises ConfigError."""
    module, _, names = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in names.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"cannot import {path!r}: {error}; write module:callable, with the module in this "
            "directory or installed",
            system=path,
        ) from error
    if not callable(found):
        raise ConfigError(f"{path!r} is a {type(found).__name__} and cannot be called", system=path)
    return found
