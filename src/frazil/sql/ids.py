"""``frazil_id('orders')``: IDs that PostgreSQL makes itself, by one function in PL/pgSQL.

A service in any language gets its IDs from the column's default. The obvious functions fail: a
counter in a table makes every inserting transaction wait for the end of the one before it, and
after a rollback the next transaction gets the same IDs, which the first client has seen. A time
with a sequence's value beside it repeats when the clock steps back, when the sequence wraps within
a tick, and on a promoted standby that has not seen the last values.

So the function does what a generator does, with the server's means:

- *One cell after the other.* The last cell, (tick, sequence) as one number, is the value of a
  sequence, which no rollback takes back. It is read and moved ahead under an advisory lock. The
  lock is taken in a subtransaction that always ends with an exception, so it is released at once,
  also if the statement is cancelled; sequences keep their values.
- *A block for a session.* The sequence has a CACHE: a session takes some cells at a time and uses
  the others without the lock, as long as their tick is not over.
- *A node number of its own.* It is reserved in the record of the namespace
  (``Record.reserve``), so generators share the namespace and never its IDs.
- *A clock that never goes back.* A step back is added to the clock's readings, and taken off
  slowly, as in the record.
- *A mark on the disk.* A sequence is written to the disk only with the next commit of any session.
  So before a tick is used that is a quarter of the horizon after the last mark, the function sets a
  new mark and flushes the log (PostgreSQL 17 or newer). Whatever a crash loses lies less than a
  quarter of the horizon after a mark that is on the disk.
- *A guard.* After a loss, nothing is used until one horizon after everything known: the mark, the
  last cell and the clock. The last cell itself is set there, so a guard cannot be lost by itself.
- *A seal.* Only ``nextval`` leaves a sequence with a ``log_cnt`` other than 0: ``setval``, as in a
  dump of the data, ``ALTER SEQUENCE`` and ``TRUNCATE ... RESTART IDENTITY`` leave 0. Each call that
  takes the lock reads it, and the function itself ends each change of the last cell with
  ``nextval``. So a last cell that anything else has set counts as lost. The other sequences need no
  seal: restored, they cause a wait or an extra mark, or times that are less far ahead of the clock.
- *A life.* The identity of their writer is kept beside the sequences: the start of the server and
  of its shared memory, its timeline, the database and the sequence itself, and what wrote the names
  of the database, the schema and the table. If that differs, the server has crashed, was restored,
  or is a promoted standby, or another database was used under the name for a while. A session that
  has taken no cell yet checks this, since no session outlives any of these. The others check it
  with each mark, because a schema or table is renamed under them.

So no ID repeats after a crash of a server of version 17 or newer, whatever its clock says
afterwards, because the guard lies behind the mark. On a promoted standby, on an older version, or
after a restored dump, it takes a clock that is less than a horizon behind what was lost. Two
primaries, and a copy of the database that continues beside the original, are outside of the
promise.

**Sharing a namespace.** If the record is lost and created again, it grants the reserved number one
horizon later. A trigger notes that in a sequence for the function: a transaction that is REPEATABLE
READ would still see the old row. The function then refuses. It also reads the row each quarter of a
horizon, and refuses if that is gone.

Limits: BIGINT, so layouts below 2**63; a time and a sequence in one piece each, in order.
"""

from dataclasses import dataclass
from importlib import resources

from frazil.errors import ConfigError
from frazil.schemes.scheme import Scheme
from frazil.sql.parts import quoted

LIFE = (
    "(SELECT hashtextextended(concat_ws('.', extract(epoch FROM pg_postmaster_start_time()), "
    "extract(epoch FROM least(w.stats_reset, a.stats_reset)), "
    "left(pg_walfile_name(pg_current_wal_lsn()), 8), d.oid, d.xmin, n.xmin, t.xmin, {cell}::oid), "
    "0) & 9223372036854775807 FROM pg_stat_bgwriter AS w, pg_stat_archiver AS a, pg_database AS d, "
    "pg_namespace AS n, pg_type AS t WHERE d.datname = current_database() "
    "AND n.oid = t.typnamespace AND t.typrelid = '{place}.frazil_ids'::regclass)"
)
"""An expression that tells which server wrote a sequence, and under which names.

``{cell}`` is the sequence, ``{place}`` the quoted schema. The statistics are reset when PostgreSQL
recovers from the crash of one of its processes, which the postmaster survives; a person can reset
those of the background writer or of the archiver, so the older reset counts. A database made from a
template has the sequences of its original, and an oid of its own. A renamed database, schema or
table gets a new row in the catalogue, also when it gets its name back.
"""

_READ = """\
            ELSIF c.number = {number} THEN
                SELECT s.last_value, s.log_cnt INTO cell, seal
                    FROM @schema@.frazil_ids_{number}_cell AS s WHERE s.tableoid = c.cell;
"""
_STATEMENTS = 32
"""So many sequences have a statement each, which is planned once in a session.

A statement that is put together from a name is planned in each call, which takes 15 us longer.
"""

_BLOCKS_PER_SECOND = 50_000  # so many sessions may each take a block and use one ID of it
_BLOCK_MAX = 64


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the parts of an ID lie, as frazil_ids keeps it.

    base: the ID of tick 0, sequence 0. block: the IDs that a session takes at a time.
    """

    node: int
    base: int
    time_shift: int
    sequence_shift: int
    sequence_bits: int
    block: int


def cut_of(scheme: Scheme, node: int) -> Cut:
    """The cut of a scheme for one node number.

    Raises ConfigError for a scheme whose IDs the function cannot make.
    """
    layout = scheme.layout
    if layout.axis != "time" or layout.nodes < 2:
        raise ConfigError(
            f"frazil_id needs a time and at least two node numbers; {str(layout)!r} has no such "
            "fields; use a scheme like 'icicle'",
            scheme=scheme.name,
        )
    if not scheme.signed_safe:
        raise ConfigError(
            f"IDs of scheme {scheme.name!r} go up to {scheme.id_max} and a BIGINT to {2**63 - 1}; "
            "use a scheme with a sign bit, like 'icicle'",
            scheme=scheme.name,
            limit=2**63 - 1,
        )
    time, sequence = scheme.positions("time"), scheme.positions("sequence")
    for positions in (time, sequence):
        first = positions[0] if positions else 0
        if positions != tuple(range(first, first + len(positions))):
            raise ConfigError(
                f"scheme {scheme.name!r} has its time or its sequence in pieces, reversed or "
                "shuffled, which frazil_id cannot make; use a scheme like 'icicle'",
                scheme=scheme.name,
            )
    free = {f.name: 0 for f in layout.fields if f.fixed is None and f.role != "node"}
    base = scheme.pack(**free, node=node)
    fair = max(1, int(layout.ids_per_second or 0) // _BLOCKS_PER_SECOND)
    block = min(1 << fair.bit_length() - 1, _BLOCK_MAX, layout.sequences)
    return Cut(node, base, time[0], sequence[0] if sequence else 0, len(sequence), block)


def ids_sql(schema: str = "frazil", function: str = "public") -> str:
    """The statements that make the table in a schema, and the function in another.

    They may be repeated. schema: that of the table of namespaces.
    """
    source = resources.files("frazil.sql") / "frazil_id.sql"
    text = source.read_text(encoding="utf-8")
    place = quoted(schema)
    for name, value in {
        "@life@": LIFE.format(cell="c.cell", place=place.replace("'", "''")),
        "@statements@": str(_STATEMENTS),
        "@reads@\n": "".join(_READ.format(number=n + 1) for n in range(_STATEMENTS)),
        "@schema@": place,
        "@function@": quoted(function),
    }.items():
        text = text.replace(name, value)
    return text


def drop_ids(schema: str = "frazil", function: str = "public") -> str:
    """The statements that remove all that ``ids_sql`` and the set-up of namespaces have made.

    The node numbers stay reserved, so that no later ID repeats one of these.
    """
    place = quoted(schema)
    return (
        f"DROP FUNCTION IF EXISTS {quoted(function)}.frazil_id(text);\n"
        f"DROP FUNCTION IF EXISTS {quoted(function)}.frazil_id(text, bigint, boolean);\n"
        f"DROP TRIGGER IF EXISTS frazil_ids_lost ON {place}.frazil_namespace;\n"
        f"DROP FUNCTION IF EXISTS {place}.frazil_ids_lost();\n"
        f"DROP TABLE IF EXISTS {place}.frazil_ids; -- with the sequences of each namespace\n"
    )
