"""SQLAlchemy: a column type for IDs, and a WHERE clause by time.

    id: Mapped[int] = mapped_column(Id(order), primary_key=True, default=next_order)

``Mapped[int]`` alone makes INTEGER, which overflows with the first ID. BIGINT alone accepts a
negative number and an ID of another table, and becomes BIGSERIAL where it is a primary key without
a default, also in a migration: then the database counts 1, 2, 3 beside the generator. ``Id`` is
BIGINT (UUID or 16 bytes for more than 64 bits) and closes these gaps: a bound value is read by
the scheme (an int, its text or a UUID), and its columns are never autoincremented.

An ``INSERT … FROM SELECT`` calls a Python default once for all rows, so every row gets one ID, or
the second row fails. A column of this type refuses that; select the IDs by name, or insert rows.

The default is a generator of ``frazil.open``, or of ``frazil.aio.open`` with an async engine. With
an async engine SQLAlchemy calls the default inside the event loop. There a generator of
``frazil.open`` blocks the loop, and with it all other requests, whenever it waits for a claim, as
in an outage of its store.

Migrations show the SQL type (``sa.BigInteger()``), so they import nothing of the application, and
do not change with the scheme's text.

A text or a UUID becomes its number when it is assigned to an attribute, returned by a default or
inserted with many other rows, so a value has one type before and after it is stored.

Limits: values that are read from the database are not checked. The default of a column of another
type is not checked.
"""

from datetime import datetime
from functools import partial
from inspect import iscoroutine
from typing import Any
from uuid import UUID

from frazil.errors import CodecError, ConfigError, Misuse
from frazil.schemes.scheme import Scheme, names
from frazil.schemes.scheme import scheme as scheme_of
from frazil.system.extras import needs

with needs("frazil.sqlalchemy: needs SQLAlchemy 2", "sqlalchemy"):
    from sqlalchemy import (
        BINARY,
        BigInteger,
        Column,
        ColumnElement,
        Insert,
        Integer,
        LargeBinary,
        Uuid,
        and_,
        event,
        literal,
        type_coerce,
    )
    from sqlalchemy.engine import Dialect, Engine
    from sqlalchemy.engine.interfaces import ExecutionContext
    from sqlalchemy.orm import InstrumentedAttribute, Mapper
    from sqlalchemy.schema import ColumnDefault
    from sqlalchemy.sql import operators, visitors
    from sqlalchemy.types import TypeDecorator, TypeEngine
    from sqlalchemy.util import await_only

__all__ = ["Id", "within"]

# The type of an ID of more than 64 bits in a database without BINARY(16).
_WIDE: dict[str, TypeEngine[Any]] = {"postgresql": Uuid(), "sqlite": LargeBinary()}
_ARITHMETIC = {
    operators.add,
    operators.sub,
    operators.mul,
    operators.truediv,
    operators.floordiv,
    operators.mod,
    operators.bitwise_and_op,
    operators.bitwise_or_op,
    operators.bitwise_xor_op,
    operators.bitwise_lshift_op,
    operators.bitwise_rshift_op,
}


class _Number(TypeDecorator[int]):
    """A number of up to ``bits`` bits, as the database stores an ID of that width."""

    impl = BigInteger
    cache_ok = True

    def __init__(self, bits: int) -> None:
        super().__init__()
        self.bits = bits

    @property
    def python_type(self) -> type[int]:
        """The type of the values in Python."""
        return int

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The type of the column in a database."""
        if self.bits > 64:
            return _WIDE.get(dialect.name) or BINARY(16)
        # SQLite stores the rows by a primary key only if its type is INTEGER.
        return Integer() if dialect.name == "sqlite" else BigInteger()

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """The value for the driver."""
        if value is None or self.bits <= 64:
            return value
        number: int = value
        if dialect.name == "postgresql":
            return UUID(int=number)
        return number.to_bytes(16, "big")

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:
        """The number of a stored value."""
        del dialect
        if value is None or isinstance(value, int):
            return value
        return value.int if isinstance(value, UUID) else int.from_bytes(value, "big")


class Id(_Number):
    """The column type of a scheme's IDs; ``scheme`` is a Scheme or what ``frazil.scheme`` reads.

    BIGINT up to 64 bits (INTEGER in SQLite, where it holds 64 bits); above, ``uuid`` in PostgreSQL
    and 16 bytes elsewhere, which sort as the numbers do. A bound value is an int, the text of an
    ID or a UUID; for anything else the statement fails with CodecError (inside SQLAlchemy's
    StatementError, as its ``orig``). Raises ConfigError for a scheme whose IDs a signed BIGINT
    cannot hold.
    """

    cache_ok = True

    class Comparator(TypeDecorator.Comparator[int], BigInteger.Comparator[int]):
        """A value compared with an ID is an ID; the 8 of ``id % 8`` and its result are numbers."""

        def operate(self, op: Any, *other: Any, **how: Any) -> ColumnElement[Any]:
            """An expression with this column on its left."""
            if op in _ARITHMETIC:
                result: ColumnElement[Any] = op(type_coerce(self.expr, BigInteger()), *other)
                return result
            return super().operate(op, *other, **how)

        def reverse_operate(self, op: Any, other: Any, **how: Any) -> ColumnElement[Any]:
            """An expression with this column on its right."""
            if op in _ARITHMETIC:
                result: ColumnElement[Any] = op(other, type_coerce(self.expr, BigInteger()))
                return result
            return super().reverse_operate(op, other, **how)

    comparator_factory = Comparator

    def __init__(self, scheme: Scheme | str) -> None:
        self.scheme = scheme_of(scheme)
        if self.scheme.bits <= 64 and not self.scheme.signed_safe:
            raise ConfigError(
                f"the IDs of scheme {self.scheme.name!r} reach {self.scheme.id_max}, and a BIGINT "
                f"ends at {(1 << 63) - 1}; use a scheme that fits ({', '.join(_fitting())}), or a "
                "layout that begins with sign:1=0",
                scheme=self.scheme.name,
                value=self.scheme.id_max,
                limit=(1 << 63) - 1,
            )
        super().__init__(self.scheme.bits)
        # Alembic writes the module of the object, a point and its repr; see __repr__.
        self.__module__ = "sa"

    def __repr__(self) -> str:
        """The SQL type, as Alembic writes it into a migration."""
        if self.bits > 64:
            variants = [f".with_variant(sa.{kind!r}, {name!r})" for name, kind in _WIDE.items()]
            return f"BINARY(16){''.join(variants)}"
        return "BigInteger().with_variant(sa.Integer(), 'sqlite')"

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """The value for the driver. Raises CodecError for a value that is not an ID."""
        return value if value is None else super().process_bind_param(self._read(value), dialect)

    def _read(self, value: Any) -> int:
        try:
            return self.scheme.read(value)
        except CodecError:
            if iscoroutine(value):  # left by a statement that called no default
                value.close()
            raise


def within(
    column: InstrumentedAttribute[Any] | ColumnElement[Any],
    start: datetime | int,
    stop: datetime | int,
) -> ColumnElement[bool]:
    """Whether an ID was made at or after ``start`` and before ``stop``: a WHERE by time.

    It compares the column with two numbers, so it uses the column's index. column: one of type
    ``Id``. start, stop: datetimes (naive ones are UTC), or µs since 1970. Raises Misuse for a
    column of another type; LayoutError if the scheme's IDs of an interval are not one range, and
    for moments outside its time field.
    """
    kind: object = column.type
    if not isinstance(kind, Id):
        raise Misuse(
            f"within() needs a column of type frazil.sqlalchemy.Id, and {column} is {kind!r}; "
            "declare it as Id(scheme)",
            value=str(column),
        )
    window = kind.scheme.window(start, stop)
    number = _Number(kind.bits)
    most = (1 << (128 if kind.bits > 64 else 63)) - 1
    first = column >= literal(window.start, number)
    if window.stop > most:  # the end of the time field, which no column holds
        return and_(first, column <= literal(most, number))
    return and_(first, column < literal(window.stop, number))


def _fitting() -> list[str]:
    """The presets whose IDs fit a BIGINT."""
    fitting = []
    for name in names():
        try:
            preset = scheme_of(name)
        except ConfigError:  # its epoch is chosen with it
            continue
        if preset.signed_safe:
            fitting.append(name)
    return fitting


@event.listens_for(Column, "after_parent_attach")
def _attached(column: Column[Any], _table: Any) -> None:
    """A column of IDs is not autoincremented, and its default makes one ID for each row."""
    if not isinstance(column.type, Id):
        return
    if column.autoincrement == "auto":
        column.autoincrement = False
    default: Any = column.default
    if isinstance(default, ColumnDefault) and default.is_callable:
        arg: Any = default.arg
        if not isinstance(arg, _PerRow):
            default.arg = _PerRow(column, arg)


class _PerRow:
    """A column's default in Python, which refuses to be called once for many rows.

    make: SQLAlchemy's form of the default, which takes the context of the execution.
    """

    def __init__(self, column: Column[Any], make: Any) -> None:
        self.column = column
        self.make = make

    def __call__(self, context: ExecutionContext) -> Any:
        statement: Any = getattr(context.compiled, "statement", None)
        if _selects(statement) and not self.column.foreign_keys:
            raise Misuse(
                f"INSERT … FROM SELECT calls the default of {self.column} once, so all rows would "
                "get one ID; insert rows with IDs of ids.take(n), or select the IDs too"
            )
        value = self.make(context)
        if iscoroutine(value):
            if not context.dialect.is_async:
                value.close()
                raise Misuse(
                    f"the default of {self.column} is awaited, and this engine is not async; use "
                    "a generator of frazil.open"
                )
            value = await_only(value)
        return _number(value, self.column.type)


def _number(value: Any, kind: Any) -> Any:
    """The number of a text or a UUID, for a column of IDs; any other value as it is."""
    if isinstance(value, str | UUID) and isinstance(kind, Id):
        return kind.scheme.read(value)
    return value


@event.listens_for(Mapper, "mapper_configured")
def _configured(mapper: Mapper[Any], mapped: type[Any]) -> None:
    """An attribute holds what a reload of it would bring: the number of a text or a UUID."""
    for each in mapper.column_attrs:
        kind = each.columns[0].type
        if isinstance(kind, Id):
            event.listen(
                getattr(mapped, each.key),
                "set",
                partial(_assigned, kind),
                retval=True,
                propagate=True,
            )


def _assigned(kind: Id, _target: Any, value: Any, _before: Any, _initiator: Any) -> Any:
    return _number(value, kind)


@event.listens_for(Engine, "before_execute", retval=True)
def _rows(_link: Any, clause: Any, rows: Any, row: Any, _options: Any) -> tuple[Any, Any, Any]:
    """An INSERT of many rows knows those that come back by their IDs, which must be numbers."""
    if rows and isinstance(clause, Insert):
        kinds = {c.key: c.type for c in clause.table.columns if isinstance(c.type, Id)}
        if kinds:
            rows = [
                {key: _number(value, kinds.get(key)) for key, value in each.items()}
                for each in rows
            ]
    return clause, rows, row


def _selects(statement: Any) -> bool:
    """Whether an INSERT in a statement takes its rows from a SELECT."""
    if isinstance(statement, Insert):
        return statement.select is not None
    # An INSERT in a WITH of a SELECT.
    return statement is not None and any(
        isinstance(part, Insert) and part.select is not None for part in visitors.iterate(statement)
    )
