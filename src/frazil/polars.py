"""IDs for Polars: a key for each row, and expressions that read IDs.

``pl.lit(ids())`` is one ID for the whole frame, and a lazy frame computes its columns again each
time it is collected. ``stamp`` takes an eager frame, and each row gets one ID.

Importing this module registers the namespace ``frazil`` of expressions::

    frame = frazil.polars.stamp(frame, "id", ids)
    key = pl.col("id").frazil
    frame.with_columns(made=key.time(), node=key.node())

Time, node and sequence are expressions of Polars itself: lazy, parallel, without Python. As in all
of Polars, a result has the name of its column until it gets another. Nulls stay null, and a number
that is not an ID of the scheme is null too. A column of floats is refused, because float64 does not
hold an ID.
"""

from frazil.errors import ConfigError
from frazil.generator.generator import Generator
from frazil.generator.history import History
from frazil.layout.field import Role
from frazil.schemes.scheme import Scheme, scheme
from frazil.schemes.segments import Segment, assembled
from frazil.system.extras import needs
from frazil.tables.new_column import check_generator, check_new, check_time, column_type, new_column
from frazil.tables.numbers import time_us, whole_words

with needs("frazil.polars needs polars", "polars"):
    import polars as pl

__all__ = ["IdExpressions", "stamp"]


def stamp(
    frame: pl.DataFrame,
    column: str,
    ids: Generator | History,
    *,
    text: bool = False,
    time_column: str | None = None,
) -> pl.DataFrame:
    """The frame with a new first column that has one new ID for each row.

    The column is Int64; UInt64 if Int64 does not hold every ID of the scheme; String with
    ``text=True``. time_column: a column of moments; each row gets an ID of its own one, and ``ids``
    is a ``frazil.history``. Raises ConfigError for a lazy frame, for a frame that has the column
    already, and if no integer type holds the IDs.
    """
    given: object = frame
    if isinstance(given, pl.LazyFrame):
        raise ConfigError(
            "a lazy frame makes its columns again at each collect, and its rows would get other "
            "IDs each time; collect it first"
        )
    check_generator(ids, timed=time_column is not None)
    check_new(column, frame.columns)
    check_time(time_column, frame.columns)
    kind = column_type(ids.scheme, text=text)
    moments = None if time_column is None else frame[time_column]
    return frame.select(pl.Series(column, new_column(ids, frame.height, kind, moments)), pl.all())


@pl.api.register_expr_namespace("frazil")
class IdExpressions:
    """``pl.col("id").frazil``: the fields and texts of the IDs in a column.

    ``spec`` is the scheme as ``frazil.scheme`` takes it: a name, a layout string or a Scheme. The
    methods for text have no default, because the texts of a scheme may need a key.
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._expr = expr
        # ``&`` has no meaning for floats and texts.
        self._ids = (expr & expr).cast(pl.UInt64, strict=False)

    def time(self, spec: str | Scheme = "icicle") -> pl.Expr:
        """When each ID's tick begins, as Datetime in µs, UTC. Raises LayoutError without a time."""
        of = scheme(spec)
        tick_us, epoch_us = time_us(of)
        us = self._role(of, "time").cast(pl.Int64) * tick_us + epoch_us
        return us.cast(pl.Datetime("us", "UTC"))

    def node(self, spec: str | Scheme = "icicle") -> pl.Expr:
        """The node of each ID, as Int64. Raises LayoutError without a node."""
        return self._role(scheme(spec), "node").cast(pl.Int64)

    def sequence(self, spec: str | Scheme = "icicle") -> pl.Expr:
        """The sequence of each ID, as Int64. Raises LayoutError without a sequence."""
        return self._role(scheme(spec), "sequence").cast(pl.Int64)

    def text(self, spec: str | Scheme) -> pl.Expr:
        """The text form of each ID, as String. ``spec`` is required: the scheme may have a key."""
        of = scheme(spec)

        def written(column: pl.Series) -> pl.Series:
            texts = pl.Series(column.name, of.format_many(column.fill_null(0)), pl.String)
            return texts.set(column.is_null(), None) if column.null_count() else texts

        return self._valid(of).map_batches(written, pl.String, is_elementwise=True)

    def parse(self, spec: str | Scheme) -> pl.Expr:
        """The IDs of a column of texts, as Int64, or UInt64 if that does not hold every ID.

        A text that is not an ID is an error of the query.
        """
        of = scheme(spec)
        dtype = {"int64": pl.Int64, "uint64": pl.UInt64}[column_type(of)]
        zero = of.format(0)

        def read(column: pl.Series) -> pl.Series:
            found = pl.Series(column.name, of.parse_many(column.fill_null(zero)), dtype)
            return found.set(column.is_null(), None) if column.null_count() else found

        return self._expr.map_batches(read, dtype, is_elementwise=True)

    def _role(self, of: Scheme, role: Role) -> pl.Expr:
        segments, ids = whole_words(of, role), self._valid(of)

        def cut(segment: Segment) -> pl.Expr:
            part: pl.Expr = (ids // _word(1 << segment.source)) & _word(segment.mask)
            return part

        return assembled(segments, cut, lambda bits, by: bits * _word(1 << by))

    def _valid(self, of: Scheme) -> pl.Expr:
        """The IDs of a scheme; null for another number."""
        if of.bits > 64:  # no column holds one
            return self._ids
        mask, value = of.constants
        same = (self._ids & _word(mask)) == _word(value)
        return pl.when(same & (self._ids <= _word(of.id_max))).then(self._ids)


def _word(n: int) -> pl.Expr:
    return pl.lit(n, pl.UInt64)
