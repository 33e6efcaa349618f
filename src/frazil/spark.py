"""IDs for Spark: a key for each row of a table of any size.

    df = frazil.spark.stamp(df, "id", "redis://ids.example")
    df.select("id", frazil.spark.time("id"), frazil.spark.node("id"))
    frazil.spark.audit(df, "id").good

``monotonically_increasing_id`` begins at 0 in each job, so it numbers rows and makes no keys.

A data frame is a plan: each action computes its rows again, and would give each row another ID. No
ID repeats, but a join of two results matches no row. So ``stamp`` computes the rows once and keeps
them:

- ``path=``: in Parquet files, which are read again. Nothing is lost with an executor.
- else in the checkpoint directory, if one is set (``SparkContext.setCheckpointDir``).
- else by ``localCheckpoint``, on the executors. When one of them dies, its rows are gone and the
  next action fails; it does not make them again with other IDs. ``persist`` would.
- ``once=True`` keeps nothing, for a frame with exactly one action after it, like a write.

Each attempt of a task has a claim of its own (``frazil.tables.attempt``), so retries and
speculative execution repeat no ID. ``stamp`` writes all rows to the Python workers and back; a
scheme that does not fit a BIGINT needs ``text=True``.
"""

from typing import TYPE_CHECKING, Any, Unpack

from frazil.errors import ConfigError
from frazil.inputs.url import UrlInput
from frazil.layout.field import Role
from frazil.opening import TaskOptions
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as find_scheme
from frazil.schemes.segments import Segment, assembled
from frazil.system.extras import needs
from frazil.system.imports import load
from frazil.tables.attempt import make_attempt
from frazil.tables.audit import Audit, check_audited
from frazil.tables.new_column import check_kept, check_new, check_time
from frazil.tables.numbers import time_us, whole_words

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["audit", "node", "sequence", "stamp", "time"]

_SHOWN = 10


def stamp(
    df: "DataFrame",
    column: str,
    url: UrlInput | None = None,
    scheme: str | Scheme = "icicle",
    *,
    path: str | None = None,
    once: bool = False,
    text: bool = False,
    time_column: str | None = None,
    **options: Unpack[TaskOptions],
) -> "DataFrame":
    """The frame with a new first column that has one new ID for each row, made now and kept.

    url, scheme and ``options`` (namespace, fields, lead, timeout, token) are those of
    ``frazil.open``; the lead is 1 s and the timeout 60 s if not given. ``path`` and ``once`` are
    described above; ``path`` must not exist. The column is a BIGINT, or a STRING with ``text``.
    ``time_column``: a column of moments; each row gets an ID of its own one, as by
    ``frazil.history``, and each attempt of a task uses up the past of one node number.

    Raises ConfigError for a streaming frame, for a frame that has the column already, for a store
    that executors cannot share, and for a scheme that does not fit a BIGINT.
    """
    types = _functions("types")
    if df.isStreaming:
        raise ConfigError(
            "the rows of a stream cannot be kept; stamp each micro-batch in foreachBatch with "
            "once=True, and write it there"
        )
    check_kept(path, once=once)
    check_new(column, df.columns)
    check_time(time_column, df.columns)
    one_host = _is_one_host(df.sparkSession)
    attempt = make_attempt(
        *(column, url, scheme, "Spark"),
        one_host=one_host,
        text=text,
        unsigned=False,
        time_column=time_column,
        **options,
    )
    kind = types.LongType() if attempt.kind == "int64" else types.StringType()
    fields = [types.StructField(column, kind, nullable=False), *df.schema.fields]
    stamped = df.mapInArrow(attempt.arrow_batches, types.StructType(fields))
    if once:
        return stamped
    if path is not None:
        stamped.write.parquet(path)
        kept: DataFrame = df.sparkSession.read.parquet(path)
        return kept
    return stamped.checkpoint() if _has_checkpoints(df.sparkSession) else stamped.localCheckpoint()


def time(column: "Column | str", scheme: str | Scheme = "icicle") -> "Column":
    """When the tick of each ID of a BIGINT column begins, as TIMESTAMP, without Python."""
    of = find_scheme(scheme)
    tick_us, epoch_us = time_us(of)
    ticks = _role(column, of, "time")
    return _functions().timestamp_micros(ticks * tick_us + epoch_us).alias("time")


def node(column: "Column | str", scheme: str | Scheme = "icicle") -> "Column":
    """The node of each ID of a BIGINT column, without Python."""
    return _role(column, find_scheme(scheme), "node").alias("node")


def sequence(column: "Column | str", scheme: str | Scheme = "icicle") -> "Column":
    """The sequence of each ID of a BIGINT column, without Python."""
    return _role(column, find_scheme(scheme), "sequence").alias("sequence")


def audit(df: "DataFrame", column: str, scheme: str | Scheme = "icicle") -> Audit:
    """Count a BIGINT column of IDs: repeated, missing and invalid ones, nodes, and their span.

    Spark counts by a shuffle of the column alone. Each action makes a frame again unless it is
    kept, so audit a kept frame. Raises ConfigError for another type of column.
    """
    f, of = _functions(), find_scheme(scheme)
    check_audited(column, dict(df.dtypes))
    if not of.signed_safe or dict(df.dtypes)[column] != "bigint":
        raise ConfigError(
            f"{column!r} is not a BIGINT column for IDs of scheme {of.name!r}; cast a column of "
            "fewer bits, and use a scheme that fits a BIGINT"
        )
    number, count = f.col("number"), f.col("count")
    groups = df.select(f.col(column).alias("number")).groupBy("number").count()
    fits = _is_id(number, of)
    timed = f.unix_micros(time(number, of)) if of.layout.tick_us else f.lit(None).cast("bigint")
    found = groups.agg(
        f.sum(count).alias("rows"),
        f.sum(f.when(number.isNull(), count)).alias("missing"),
        f.sum(f.when(number.isNotNull() & ~fits, count)).alias("invalid"),
        f.count(number).alias("distinct"),
        f.count(f.when(number.isNotNull() & (count > 1), 1)).alias("repeated"),
        f.min(timed).alias("first"),
        f.max(timed).alias("last"),
    ).first()
    examples = (
        groups.where(number.isNotNull() & (count > 1)).limit(_SHOWN) if found["repeated"] else None
    )
    nodes = {}
    if of.layout.bits_of("node"):
        plain = f.col(column)
        by_node = df.where(_is_id(plain, of)).groupBy(node(plain, of)).count().orderBy("node")
        nodes = {row["node"]: row["count"] for row in by_node.collect()}
    return Audit(
        rows=found["rows"] or 0,
        missing=found["missing"] or 0,
        invalid=found["invalid"] or 0,
        distinct=found["distinct"],
        repeated=found["repeated"],
        examples=tuple(row["number"] for row in examples.collect()) if examples else (),
        nodes=nodes,
        first_us=found["first"],
        last_us=found["last"],
    )


def _role(column: "Column | str", of: Scheme, role: Role) -> "Column":
    f = _functions()
    ids = f.col(column) if isinstance(column, str) else column

    def cut(segment: Segment) -> "Column":
        bits: Column = f.shiftrightunsigned(ids, segment.source).bitwiseAND(_signed(segment.mask))
        return bits

    return f.when(_is_id(ids, of), assembled(whole_words(of, role), cut, f.shiftleft))


def _is_id(ids: "Column", of: Scheme) -> "Column":
    """Whether a number is an ID of a scheme. Where it is not, its time, node and so on are null."""
    mask, value = of.constants
    same = ids.bitwiseAND(_signed(mask)) == _signed(value)
    # A BIGINT holds IDs of 64 bits by their bits.
    fits: Column = same if of.bits == 64 else ids.between(0, of.id_max) & same
    return fits


def _signed(n: int) -> Any:
    """A word of 64 bits as a literal BIGINT."""
    return _functions().lit(n - (1 << 64) if n >> 63 else n).cast("bigint")


def _functions(module: str = "functions") -> Any:
    with needs("frazil.spark needs pyspark", "spark"):
        return load(f"pyspark.sql.{module}")


def _is_one_host(session: Any) -> bool:
    """Whether all executors are on this host: a master ``local`` or ``local-cluster``."""
    context = getattr(session, "_sc", None)  # a Connect session has none: its cluster is elsewhere
    return context is not None and context.master.partition("[")[0] in ("local", "local-cluster")


def _has_checkpoints(session: Any) -> bool:
    context = getattr(session, "_sc", None)
    if context is None:
        return bool(session.conf.get("spark.checkpoint.dir", ""))
    return context.getCheckpointDir() is not None
