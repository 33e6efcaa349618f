"""Set up ``frazil_id`` for a namespace: its node number, its sequences and its row.

All of it is one transaction with the reservation of the node number in the record. The module
``frazil.sql.ids`` explains the function.
"""

from typing import Any

from frazil.claims.claim import Claim, Terms
from frazil.schemes.scheme import Scheme
from frazil.sql.ids import LIFE, cut_of, ids_sql
from frazil.sql.parts import quoted

HOLDER = "frazil_id()"  # the holder of the node numbers of ``frazil_id``, which no process holds
_PLACE = (
    "SELECT nspname FROM pg_namespace WHERE oid = (SELECT relnamespace FROM pg_class "
    "WHERE oid = 'frazil_namespace'::regclass)"
)
_FUNCTION = (
    "SELECT coalesce((SELECT n.nspname FROM pg_proc AS p JOIN pg_namespace AS n "
    "ON n.oid = p.pronamespace WHERE p.oid = to_regprocedure('frazil_id(text)')), current_schema())"
)
_MADE = """DO $frazil$ BEGIN
    IF to_regnamespace('frazil') IS NULL THEN
        CREATE SCHEMA frazil;
        GRANT USAGE ON SCHEMA frazil TO PUBLIC;
    END IF;
END $frazil$"""
_SEQUENCES = ("cell", "mark", "kept", "ahead", "life", "lost")
_NODE = (
    "SELECT i.node FROM {place}.frazil_ids AS i JOIN {place}.frazil_namespace AS n "
    "ON n.name = i.name AND n.ids_node = i.node AND pg_sequence_last_value(i.lost) = 0 "
    "WHERE i.name = %s"
)
_OLD = (
    "DELETE FROM {place}.frazil_ids WHERE name = %s RETURNING cell, mark, kept, ahead, life, lost"
)
_NUMBER = (
    "SELECT n, to_regclass(%(place)s || '.frazil_ids_' || n || '_cell') IS NULL "
    "FROM nextval((%(place)s || '.frazil_ids_number')::regclass) AS n"
)
_SEQUENCE = (
    "CREATE SEQUENCE {name} MINVALUE -1 START 0 CACHE {cache} OWNED BY {place}.frazil_ids.name"
)
_VALUE = "SELECT setval(%s::regclass, %s)"
_ROW = "INSERT INTO {place}.frazil_ids VALUES ({values})"
_NOTE = "UPDATE {place}.frazil_namespace SET ids_node = %s, writer = txid_current() WHERE name = %s"


def install(cursor: Any) -> None:
    """Make the table, beside that of namespaces, and the function.

    A function that exists stays where it is, as the defaults of columns refer to it.
    """
    place = place_of(cursor)
    cursor.execute(_FUNCTION)
    cursor.execute(ids_sql(place, str(cursor.fetchone()[0])).encode())


def move(cursor: Any) -> None:
    """Move what belongs to frazil into the schema ``frazil``, but ``frazil_id`` itself."""
    place = quoted(place_of(cursor))
    cursor.execute("SELECT to_regclass(%s)", (f"{place}.frazil_ids",))
    made = cursor.fetchone()[0] is not None
    cursor.execute(_MADE)
    cursor.execute(f"ALTER TABLE {place}.frazil_namespace SET SCHEMA frazil")
    if made:
        cursor.execute(f"ALTER TABLE {place}.frazil_ids SET SCHEMA frazil")
        cursor.execute(f"ALTER FUNCTION {place}.frazil_ids_lost() SET SCHEMA frazil")
        install(cursor)


def node_of(cursor: Any, namespace: str) -> int | None:
    """The node number of frazil_id in a namespace; None if it has none, or the record lost it."""
    cursor.execute(_NODE.format(place=quoted(place_of(cursor))), (namespace,))
    found = cursor.fetchone()
    return None if found is None else int(found[0])


def add(cursor: Any, namespace: str, terms: Terms, scheme: Scheme, claim: Claim) -> int:
    """Let ``frazil_id`` begin at the start of a claim; returns its node number."""
    place = quoted(place_of(cursor))
    cut = cut_of(scheme, claim.slot % terms.nodes)
    cursor.execute(_OLD.format(place=place), (namespace,))
    for old in cursor.fetchall():
        cursor.execute(f"DROP SEQUENCE {', '.join(old)}")
    number = _unused_number(cursor, place)
    names = {part: f"{place}.{quoted(f'frazil_ids_{number}_{part}')}" for part in _SEQUENCES}
    for part, name in names.items():
        cache = cut.block if part == "cell" else 1
        cursor.execute(_SEQUENCE.format(name=name, cache=cache, place=place))
    cell = (claim.start << cut.sequence_bits) - 1
    tick = claim.start - 1
    for part, value in (("cell", cell), ("mark", tick), ("kept", tick), ("ahead", 0), ("lost", 0)):
        cursor.execute(_VALUE, (names[part], value))
    cursor.execute("SELECT nextval(%s::regclass)", (names["cell"],))  # as the function leaves it
    literal = place.replace("'", "''")
    life = LIFE.format(cell=f"'{names['cell']}'::regclass", place=literal)
    cursor.execute(f"SELECT setval(%s::regclass, {life})", (names["life"],))
    row = (
        namespace, cut.node, cut.base, cut.time_shift, cut.sequence_shift, cut.sequence_bits,
        terms.end, terms.tick_us, terms.epoch_us, terms.horizon_ticks, cut.block, *names.values(),
        number,
    )  # fmt: skip
    cursor.execute(_ROW.format(place=place, values=", ".join(["%s"] * len(row))), row)
    cursor.execute(_NOTE.format(place=place), (cut.node, namespace))
    return cut.node


def _unused_number(cursor: Any, place: str) -> int:
    """The next number for the names of sequences. Its counter may be restored."""
    while True:
        cursor.execute(_NUMBER, {"place": place})
        number, unused = cursor.fetchone()
        if unused:
            return int(number)


def place_of(cursor: Any) -> str:
    """The schema of the table of namespaces."""
    cursor.execute(_PLACE)
    return str(cursor.fetchone()[0])
