"""The fields of the IDs in a column, as SQL counts them.

An ID carries its moment, so a column of IDs shows how far it is from time order. An ID is *late* if
an earlier row of its file has a later moment; the worst lateness is the k of k-sorted. Two IDs of
one tick are in order, whichever comes first. An ID is *foreign* if a constant differs from the
layout's: it is from another deployment.

What a query counts in a file is kept in the table ``found``, a row for each node.
"""

from collections import Counter
from dataclasses import dataclass

import duckdb

from frazil.layout.field import Role
from frazil.schemes.scheme import Scheme

_NODES_MAX = 1 << 17
_TOTALS = (
    "coalesce(sum(rows), 0), coalesce(sum(valid), 0), min(first_tick), max(last_tick), "
    "coalesce(sum(late), 0), coalesce(max(late_ticks), 0), coalesce(sum(blocks), 0), "
    "first(late_at ORDER BY late_ticks DESC, late_at), coalesce(sum(foreign_ids), 0), "
    "min(foreign_at)"
)
# The first row of a file has none before it, and one behind an invalid row neither.
_INCREASING = (
    "SELECT bool_and(ordered AND coalesce(low > highest, true)) FROM (SELECT *, max(high) OVER "
    "(ORDER BY file ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS highest FROM ("
    "SELECT file, bool_and(ordered) AND sum(rows - linked) <= 1 AS ordered, min(low) AS low, "
    "max(high) AS high FROM found GROUP BY file))"
)
_NODES = (
    "SELECT node, sum(valid) FROM found WHERE node IS NOT NULL GROUP BY node ORDER BY node "
    f"LIMIT {_NODES_MAX}"
)


@dataclass
class Survey:
    """The rows of all files, and the fields of their IDs.

    valid: rows with an ID. late_ticks: the worst lateness. foreign: IDs by the constant that
    differs. nodes: IDs by node, of the first 131,072 nodes. increasing: whether each ID is larger
    than the one before. blocks: about how many blocks of 64 numbers have IDs. late_at, foreign_at:
    the positions of the latest and the first of them.
    """

    foreign: Counter[str]
    nodes: Counter[int]
    increasing: bool
    rows: int
    valid: int
    first_tick: int | None
    last_tick: int | None
    late: int
    late_ticks: int
    blocks: int
    late_at: int | None
    foreign_ids: int
    foreign_at: int | None

    @property
    def invalid(self) -> int:
        """Rows without an ID."""
        return self.rows - self.valid

    @property
    def uncounted(self) -> int:
        """IDs of nodes beyond the first 131,072."""
        return self.valid - sum(self.nodes.values()) if self.nodes else 0


def fields_query(scheme: Scheme | None, file: int, rows: str) -> str:
    """What a file adds to ``found``. A row has a position ``nr``, and a ``key`` if it is valid."""
    conditions = _foreign(scheme).values()
    foreign = " OR ".join(conditions) or "false"
    differ = "".join(f", count_if({each}) AS foreign_{i}" for i, each in enumerate(conditions))
    blocks = "approx_count_distinct(key >> 6)" if scheme else "count(key)"
    return (
        f"SELECT {file} AS file, node, count(*) AS rows, count(key) AS valid, "
        "count(before) AS linked, coalesce(bool_and(key > before), true) AS ordered, "
        "min(key) AS low, max(key) AS high, min(tick) AS first_tick, max(tick) AS last_tick, "
        f"{blocks} AS blocks, count_if(tick < latest) AS late, max(latest - tick) AS late_ticks, "
        "arg_max(CASE WHEN tick < latest THEN nr END, latest - tick) AS late_at, "
        f"min(CASE WHEN {foreign} THEN nr END) AS foreign_at, "
        f"count_if({foreign}) AS foreign_ids{differ} FROM (SELECT *, lag(key) OVER () "
        "AS before, max(tick) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS "
        f"latest FROM (SELECT nr, key, {_role(scheme, 'time')} AS tick, {_role(scheme, 'node')} "
        f"AS node FROM ({rows}))) GROUP BY node"
    )


def survey_of(scheme: Scheme | None, database: duckdb.DuckDBPyConnection) -> Survey:
    """What was found in all files."""
    names = list(_foreign(scheme))
    sums = "".join(f", sum(foreign_{i})" for i in range(len(names)))
    (totals,) = database.execute(f"SELECT {_TOTALS}{sums} FROM found").fetchall()
    ((increasing,),) = database.execute(_INCREASING).fetchall()
    nodes = dict(database.execute(_NODES).fetchall())
    of = len(totals) - len(names)
    foreign = {name: n for name, n in zip(names, totals[of:], strict=True) if n}
    return Survey(Counter(foreign), Counter(nodes), bool(increasing), *totals[:of])


def _role(scheme: Scheme | None, role: Role) -> str:
    """The value of a field, as SQL."""
    if scheme is None or not scheme.layout.bits_of(role):
        return "NULL::BIGINT"
    kind = "HUGEINT" if scheme.layout.bits_of(role) > 62 else "BIGINT"
    return " + ".join(
        f"(CAST((key >> {source}) & {(1 << bits) - 1}::{key_type(scheme)} AS {kind}) << {target})"
        for source, target, bits in scheme.segments(role)
    )


def _foreign(scheme: Scheme | None) -> dict[str, str]:
    """For each constant field, the condition that an ID has another value."""
    found = {}
    for each in scheme.layout.fields if scheme else ():
        if scheme and each.fixed is not None:
            mask, value = each.pack(each.limit), each.pack(each.fixed)
            if scheme.shuffle is not None:
                mask, value = scheme.shuffle.apply(mask), scheme.shuffle.apply(value)
            kind = key_type(scheme)
            found[each.name] = f"key & {mask}::{kind} <> {value}::{kind}"
    return found


def key_type(scheme: Scheme) -> str:
    """The SQL type of an ID."""
    return "UBIGINT" if scheme.bits <= 64 else "UHUGEINT"
