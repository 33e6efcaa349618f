"""The fields of the IDs in a column, as SQL counts them.

An ID carries its moment, so a column of IDs shows how far it is from time order. An ID is *late* if
an earlier row has a later moment; the worst lateness is the k of k-sorted. Two IDs of one tick are
in order, whichever comes first. An ID is *foreign* if a constant differs from the layout's: it is
from another deployment.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from frazil.layout.field import Role
from frazil.schemes.scheme import Scheme

_NODES_MAX = 1 << 17
_WORD = (1 << 64) - 1


@dataclass
class Survey:
    """The rows of all files, and the fields of their IDs; lateness is judged within a file.

    valid: rows with an ID. increasing: whether each ID is larger than the one before. late_ticks,
    late_at: the worst lateness, and the position of that ID. uncounted: IDs of nodes beyond the
    first 131,072. foreign: IDs by the constant that differs.
    """

    rows: int = 0
    valid: int = 0
    increasing: bool = True
    last_key: Any = None
    first_tick: int | None = None
    last_tick: int | None = None
    late: int = 0
    late_ticks: int = 0
    late_at: int | None = None
    nodes: Counter[int] = field(default_factory=Counter)
    uncounted: int = 0
    foreign: Counter[str] = field(default_factory=Counter)
    foreign_ids: int = 0
    foreign_at: int | None = None

    @property
    def invalid(self) -> int:
        """Rows without an ID."""
        return self.rows - self.valid

    def add(self, found: Iterable[tuple[Any, ...]], names: list[str]) -> bool:
        """Add what ``Fields.query`` found in a file; true if it has the worst lateness so far.

        names: those of the constants.
        """
        before, unlinked, highest = self.last_key, 0, self.last_key
        late_ticks = self.late_ticks
        for row in found:
            node, rows, valid, linked, ordered, low, high, first, last, late, ticks = row[:11]
            self.rows += rows
            self.valid += valid
            unlinked += rows - linked  # the first row of a file, and those after an invalid one
            if valid:
                self.increasing &= before is None or low > before
                highest = _of(max, high, highest)
            self.increasing &= ordered and unlinked <= 1
            self.first_tick = _of(min, first, self.first_tick)
            self.last_tick = _of(max, last, self.last_tick)
            self.late += late
            self.late_ticks = max(ticks or 0, self.late_ticks)
            if node in self.nodes or (node is not None and len(self.nodes) < _NODES_MAX):
                self.nodes[node] += valid
            elif node is not None:
                self.uncounted += valid
            foreign, at, *counts = row[11:]
            if foreign:
                self.foreign_ids += foreign
                self.foreign_at = _of(min, at, self.foreign_at)
                self.foreign += Counter(dict(zip(names, counts, strict=True)))
        self.last_key = highest
        return self.late_ticks > late_ticks


def _of(choose: Callable[..., int | None], *numbers: int | None) -> int | None:
    """The least or the greatest of numbers, each of which may be absent."""
    return choose((each for each in numbers if each is not None), default=None)


class Fields:
    """The queries that read the fields of IDs."""

    def __init__(self, scheme: Scheme | None) -> None:
        self._scheme = scheme
        self._constants = [] if scheme is None else _constants(scheme)
        self.names = [name for name, _, _ in self._constants]

    def query(self, keys: str) -> str:
        """For each node: rows, keys, their order and span, the ticks, and the foreign IDs.

        Its columns are those that ``Survey.add`` reads.
        """
        foreign = [_differs(mask, value) for _, mask, value in self._constants]
        counts = [f"count(*) FILTER ({each})" for each in foreign]
        any_of = " OR ".join(foreign) or "false"
        return (
            "SELECT node, count(*), count(key), count(before), "
            "coalesce(bool_and(key > before), true), min(key), max(key), min(tick), max(tick), "
            "count(*) FILTER (tick < latest), max(latest - tick), "
            f"{', '.join([f'count(*) FILTER ({any_of})', f'min(nr) FILTER ({any_of})', *counts])} "
            f"FROM ({self._rows(keys)}) GROUP BY node ORDER BY node"
        )

    def latest(self, keys: str) -> str:
        """The position of the row that is the latest."""
        order = "ORDER BY latest - tick DESC NULLS LAST, nr LIMIT 1"
        return f"SELECT nr FROM ({self._rows(keys)}) {order}"

    def _rows(self, keys: str) -> str:
        fields = f"SELECT nr, key, {self._role('time')} AS tick, {self._role('node')} AS node"
        return (
            "SELECT *, lag(key) OVER () AS before, "
            "max(tick) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS latest "
            f"FROM ({fields} FROM ({keys}))"
        )

    def _role(self, role: Role) -> str:
        scheme = self._scheme
        if scheme is None or not scheme.layout.bits_of(role):
            return "NULL::BIGINT"
        kind = "HUGEINT" if scheme.layout.bits_of(role) > 62 else "BIGINT"
        parts = []
        for source, target, bits in scheme.segments(role):
            word = "key"
            if scheme.bits > 64:
                word = f"CAST((key >> {source // 64 * 64}) & {_WORD}::UHUGEINT AS UBIGINT)"
            value = f"CAST(({word} >> {source % 64}) & {(1 << bits) - 1}::UBIGINT AS {kind})"
            parts.append(f"({value} << {target})")
        return " + ".join(parts)


def _constants(scheme: Scheme) -> list[tuple[str, int, int]]:
    """The mask and the value of each constant field in an ID."""
    found = []
    for each in scheme.layout.fields:
        if each.fixed is not None:
            mask, value = each.pack(each.limit), each.pack(each.fixed)
            if scheme.shuffle is not None:
                mask, value = scheme.shuffle.apply(mask), scheme.shuffle.apply(value)
            found.append((each.name, mask, value))
    return found


def _differs(mask: int, value: int) -> str:
    kind = "UHUGEINT" if max(mask, value) > _WORD else "UBIGINT"
    return f"key & {mask}::{kind} <> {value}::{kind}"
