"""What an ID holds, field by field.

Reading an ID into a plain dict loses three things: the moment, which needs the layout's tick and
epoch; the node, where the layout names its parts; and the fact that a constant is not what the
layout says, which is the usual sign of an ID of another deployment. ``Values`` is a read-only
mapping of the raw numbers that keeps the three beside them.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from frazil.system import clock

__all__ = ["Values"]


class Values(Mapping[str, int]):
    """Raw field values in the order of the layout; ``layout.pack(**values)`` gives the ID back.

    ``values["node"]`` is the whole node number, also where the layout has it in named parts; the
    parts are what iteration shows then. ``values.node`` is the same for a name that no method has.
    """

    __slots__ = ("_node", "_read", "foreign", "moment_us")

    def __init__(
        self,
        read: dict[str, int],
        *,
        node: int | None,
        moment_us: int | None,
        foreign: tuple[str, ...],
    ) -> None:
        self._read = read
        self._node = node
        self.moment_us = moment_us
        """When the ID's tick begins, in µs since 1970; None without a time or a chosen epoch."""
        self.foreign = foreign
        """The constants that differ from the layout's, by name."""

    @property
    def moment(self) -> datetime | None:
        """``moment_us`` in UTC; None where there is none, or past the years of ``datetime``."""
        return None if self.moment_us is None else clock.moment(self.moment_us)

    def __getitem__(self, name: str) -> int:
        if name == "node" and self._node is not None:
            return self._node
        return self._read[name]

    def __getattr__(self, name: str) -> int:
        if name.startswith("_"):  # a copy that is being made has none of them yet
            raise AttributeError(name)
        if name in self:
            return self[name]
        raise AttributeError(f"no field is called {name!r}; there are {', '.join(self._read)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)

    def __repr__(self) -> str:
        moment = "" if self.moment_us is None else f" at {clock.moment_text(self.moment_us)}"
        return f"<Values {' '.join(f'{name}={value}' for name, value in self.items())}{moment}>"
