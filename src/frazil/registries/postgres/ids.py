"""Set up ``frazil_id`` for a namespace: its node number, its sequences and its row.

All of it is one transaction with the reservation of the node number in the record. The module
``frazil.sql.ids`` explains the function.
"""

from typing import Any

from frazil.claims.claim import Claim, Terms
from frazil.schemes.scheme import Scheme
from frazil.sql.identifiers import quoted
from frazil.sql.ids import LIFE, cut_of, ids_sql

__all__ = ["add", "cut_of", "install", "node_of"]

_SCHEMA = (
    "SELECT nspname FROM pg_namespace WHERE oid = (SELECT relnamespace FROM pg_class "
    "WHERE oid = 'frazil_namespace'::regclass)"
)
_SEQUENCES = ("cell", "mark", "kept", "ahead", "guard", "life")


def install(cursor: Any) -> None:
    """Make the table and the function, in the schema of the table of namespaces."""
    cursor.execute(ids_sql(_schema(cursor)).encode())


def node_of(cursor: Any, namespace: str) -> int | None:
    """The node number of frazil_id in a namespace; None if it has none, or the record lost it."""
    place = quoted(_schema(cursor))
    cursor.execute(
        f"SELECT i.node FROM {place}.frazil_ids AS i "  # noqa: S608 - a quoted identifier
        f"JOIN {place}.frazil_namespace AS n ON n.name = i.name AND n.ids_node = i.node "
        "WHERE i.name = %s",
        (namespace,),
    )
    found = cursor.fetchone()
    return None if found is None else int(found[0])


def add(cursor: Any, namespace: str, terms: Terms, scheme: Scheme, claim: Claim) -> int:
    """Let ``frazil_id`` begin at the start of a claim; returns its node number."""
    schema = _schema(cursor)
    place = quoted(schema)
    node = claim.slot % terms.nodes
    cut = cut_of(scheme, node)
    cursor.execute(f"SELECT cell, mark, kept, ahead, guard, life FROM {place}.frazil_ids "  # noqa: S608
                   "WHERE name = %s", (namespace,))  # fmt: skip
    for old in cursor.fetchall():
        cursor.execute(f"DELETE FROM {place}.frazil_ids WHERE name = %s", (namespace,))  # noqa: S608
        cursor.execute(f"DROP SEQUENCE {', '.join(old)}")
    cursor.execute("SELECT nextval(%s::regclass)", (f"{place}.frazil_ids_number",))
    number = cursor.fetchone()[0]
    names = {part: f"{place}.{quoted(f'frazil_ids_{number}_{part}')}" for part in _SEQUENCES}
    for name in names.values():
        cursor.execute(
            f"CREATE SEQUENCE {name} MINVALUE -1 START 0 OWNED BY {place}.frazil_ids.name "
            f"CACHE {cut.block if name == names['cell'] else 1}"
        )
    values = {
        "cell": (claim.start << cut.sequence_bits) - 1,
        "mark": claim.start,
        "kept": 0,
        "ahead": 0,
        "guard": claim.start,
    }
    for part, value in values.items():
        cursor.execute("SELECT setval(%s::regclass, %s)", (names[part], value))
    life = LIFE.format(cell=f"'{names['cell']}'::regclass")
    cursor.execute(f"SELECT setval(%s::regclass, {life})", (names["life"],))
    row = (
        namespace, cut.node, cut.base, cut.time_shift, cut.sequence_shift, cut.sequence_bits,
        terms.end, terms.tick_us, terms.epoch_us, terms.horizon_ticks, cut.block, *names.values(),
    )  # fmt: skip
    cursor.execute(
        f"INSERT INTO {place}.frazil_ids VALUES ({', '.join(['%s'] * len(row))})",  # noqa: S608
        row,
    )
    cursor.execute(
        f"UPDATE {place}.frazil_namespace SET ids_node = %s, writer = txid_current() "  # noqa: S608
        "WHERE name = %s",
        (node, namespace),
    )
    return node


def _schema(cursor: Any) -> str:
    cursor.execute(_SCHEMA)
    return str(cursor.fetchone()[0])
