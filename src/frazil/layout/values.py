"""The contents of an ID, field by field.

A plain dict would lose three things: the moment, which needs the layout's tick and epoch; the node,
if the layout names its parts; and whether a constant differs from the layout's, the usual sign of
an ID of another deployment. ``Values`` is a read-only mapping of the raw numbers with these three.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from frazil.system import clock


class Values(Mapping[str, int]):
    """Raw field values in the order of the layout; ``layout.pack(**values)`` returns the ID.

    ``values["node"]`` is the whole node number, also if the layout names its parts; iteration
    yields the parts. ``values.node`` is the same, for a name that is not a method's.
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
        """``moment_us`` in UTC; None without one, and past the years of ``datetime``."""
        return None if self.moment_us is None else clock.moment(self.moment_us)

    def __getitem__(self, name: str) -> int:
        if name == "node" and self._node is not None:
            return self._node
        return self._read[name]

    def __getattr__(self, name: str) -> int:
        if name.startswith("_"):  # while a copy is made, it has none of them
            raise AttributeError(name)
        if name in self:
            return self[name]
        raise AttributeError(f"no field is called {name!r}; the fields are {', '.join(self)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)

    def __repr__(self) -> str:
        moment = "" if self.moment_us is None else f" at {clock.moment_text(self.moment_us)}"
        return f"<Values {' '.join(f'{name}={value}' for name, value in self.items())}{moment}>"
