"""The column type of SQLAlchemy: its SQL types, what it reads and refuses, and its defaults.

A value of a column has one type: what is bound, assigned or made is what comes back.
"""

import gc
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    MetaData,
    String,
    Table,
    create_engine,
    func,
    insert,
    select,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import StatementError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.schema import CreateTable

import frazil
from frazil.errors import CodecError, ConfigError, LayoutError, Misuse
from frazil.sqlalchemy import Id, within

ORDER = frazil.scheme("icicle", prefix="order_", encoding="base62")
DIALECTS = {"postgresql": postgresql, "mysql": mysql, "sqlite": sqlite}


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(
        Id(ORDER), primary_key=True, default=frazil.open("memory:sa", scheme=ORDER)
    )
    name: Mapped[str]


class Item(Base):
    __tablename__ = "items"
    id: Mapped[int] = mapped_column(Id("icicle"), primary_key=True)
    order_id: Mapped[int] = mapped_column(ForeignKey("orders.id"))


@pytest.fixture
def session():
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        yield session
    engine.dispose()


def columns_of(table, dialect):
    made = str(CreateTable(table).compile(dialect=DIALECTS[dialect].dialect()))
    return [line.strip(" \t,") for line in made.splitlines() if "NOT NULL" in line]


@pytest.mark.parametrize(
    ("dialect", "narrow", "wide"),
    [
        ("postgresql", "BIGINT", "UUID"),
        ("mysql", "BIGINT", "BINARY(16)"),
        ("sqlite", "INTEGER", "BLOB"),
    ],
)
def test_columns(dialect, narrow, wide):
    """Not INTEGER, as of ``Mapped[int]``, nor BIGSERIAL; a foreign key follows."""
    expected = [f"id {narrow} NOT NULL", f"order_id {narrow} NOT NULL"]
    assert columns_of(Item.__table__, dialect) == expected
    table = Table("t", MetaData(), Column("id", Id("globalid-128"), primary_key=True))
    assert columns_of(table, dialect) == [f"id {wide} NOT NULL"]


def test_a_scheme_that_a_bigint_cannot_hold():
    for name in ("discord", "instagram", "tsid", "globalid", "uniqueid-spread"):
        with pytest.raises(ConfigError, match="use a scheme that fits") as caught:
            Id(name)
        assert "icicle, snowflake, sonyflake, chibrary, " in str(caught.value)
        assert caught.value.limit == 2**63 - 1


def test_an_id_is_compared_in_each_form(session):
    session.execute(insert(Order), [{"name": str(n)} for n in range(10)])
    n = session.scalars(select(Order.id).where(Order.name == "7")).one()
    text = ORDER.format(n)
    for form in (n, text, np.uint64(n), np.int64(n)):
        assert session.scalars(select(Order.name).where(Order.id == form)).one() == "7"
    assert session.scalars(select(Order.name).where(Order.id.in_([text, n]))).one() == "7"
    assert session.get(Order, text).name == "7"
    assert session.scalars(select(Order.name).where(Order.id > text)).all() == ["8", "9"]
    assert session.scalar(select(func.count()).where(Order.id % 4 == n % 4)) > 0
    assert session.scalar(select(Order.id + 1).where(Order.id == n)) == n + 1
    assert session.scalar(select(1 + Order.id).where(Order.id == n)) == n + 1
    assert session.scalars(select(Order).where(Order.id == None)).all() == []  # noqa: E711


@pytest.mark.parametrize(
    "value", [-1, 2**63, 2**70, "1", "user_1hDvWfhIVbE", True, 1.0, b"1", UUID(int=1), object()]
)
def test_what_is_no_id_never_reaches_the_database(session, value):
    for statement in (
        select(Order).where(Order.id == value),
        insert(Order).values(id=value, name="x"),
        select(Order).where(Order.id.in_([value])),
    ):
        with pytest.raises(StatementError) as caught:
            session.execute(statement)
        assert isinstance(caught.value.orig, CodecError)


def test_wide_ids_are_uuids_or_bytes():
    scheme = frazil.scheme("globalid-128")
    table = Table("t", MetaData(), Column("id", Id(scheme), primary_key=True))
    ids = frazil.open("memory:wide", scheme=scheme)
    numbers = ids.take(100)
    with create_engine("sqlite://").begin() as link:
        table.create(link)
        link.execute(insert(table), [{"id": n} for n in numbers])
        assert link.scalars(select(table.c.id).order_by(table.c.id)).all() == sorted(numbers)
        for form in (numbers[7], scheme.format(numbers[7]), UUID(int=numbers[7])):
            assert link.scalars(select(table.c.id).where(table.c.id == form)).one() == numbers[7]
    processor = Id(scheme).bind_processor(postgresql.dialect())
    assert UUID(str(processor(numbers[0]))) == UUID(int=numbers[0])
    link.engine.dispose()


def test_insert_from_select_is_refused(session):
    """SQLAlchemy calls a default in Python once for the statement, and all rows get its ID."""
    session.execute(insert(Order), [{"name": "a"}, {"name": "b"}])
    copy = insert(Order).from_select(["name"], select(Order.name))
    in_a_with = copy.returning(Order.id).cte("copied")
    for statement in (copy, select(in_a_with.c.id)):
        with pytest.raises(StatementError, match="once, so all rows would get one ID") as caught:
            session.execute(statement)
        assert isinstance(caught.value.orig, Misuse)
    assert session.scalar(select(func.count()).select_from(Order)) == 2
    named = insert(Order).from_select(["id", "name"], select(Order.id + 1000, Order.name))
    session.execute(named)
    skipped = insert(Item).from_select(["id", "order_id"], select(Order.id, Order.id))
    session.execute(skipped)
    assert session.scalar(select(func.count()).select_from(Order)) == 4


def test_a_default_with_a_context_and_a_constant():
    table = Table(
        "t",
        MetaData(),
        Column("id", Id(ORDER), primary_key=True, default=lambda context: context.connection and 9),
        Column("other", Id(ORDER), default=ORDER.format(11)),
    )
    copied = table.to_metadata(MetaData())
    with create_engine("sqlite://").begin() as link:
        copied.create(link)
        link.execute(insert(copied))
        assert link.execute(select(copied)).one() == (9, 11)
    link.engine.dispose()


def test_an_awaited_default_needs_an_async_engine():
    later = frazil.aio.open("memory:later", scheme=ORDER)
    table = Table("t", MetaData(), Column("id", Id(ORDER), primary_key=True, default=later))
    with create_engine("sqlite://").begin() as link:
        table.create(link)
        with pytest.raises(StatementError, match="this engine is not async"):
            link.execute(insert(table))
        with pytest.raises(StatementError, match="not coroutine"):
            link.execute(insert(table).values(id=later()))
    link.engine.dispose()
    gc.collect()  # a coroutine that was never awaited would warn here


def test_within(session):
    session.execute(insert(Order), [{"name": "now"} for _ in range(3)])
    now, hour = datetime.now(UTC), timedelta(hours=1)
    counted = select(func.count()).select_from(Order)
    assert session.scalar(counted.where(within(Order.id, now - hour, now + hour))) == 3
    assert session.scalar(counted.where(within(Order.id, now + hour, now + 2 * hour))) == 0
    assert session.scalar(counted.where(within(Order.id, now, now))) == 0
    end = ORDER.layout.exhausted_us
    assert session.scalar(counted.where(within(Order.id, 1_500_000_000_000_000, end))) == 3
    assert session.scalar(counted.where(within(Order.__table__.c.id, now - hour, end))) == 3


def test_within_is_refused_where_it_would_be_wrong():
    table = Table("t", MetaData(), Column("id", BigInteger), Column("run", Id("chibrary-40")))
    with pytest.raises(Misuse, match="needs a column of type frazil"):
        within(table.c.id, 0, 1)
    with pytest.raises(LayoutError):
        within(table.c.run, 0, 1)


def test_statements_are_cached_by_scheme():
    same, other = Id(ORDER), Id(frazil.scheme("icicle", prefix="user_"))
    assert Id(ORDER)._static_cache_key == same._static_cache_key
    assert other._static_cache_key != same._static_cache_key
    assert hash(same._static_cache_key) is not None


def test_a_column_of_another_type_is_left_alone():
    column = Column("n", BigInteger, primary_key=True, default=lambda: 1)
    before = column.default.arg
    Table("t", MetaData(), column, Column("s", String))
    assert column.default.arg is before
    assert column.autoincrement == "auto"


WIDE = frazil.scheme("globalid-128")
SCHEMES = {"text": ORDER, "js53": frazil.scheme("js53"), "uuid": WIDE, "wide text": WIDE}


def value_of(kind, n):
    return UUID(int=n) if kind == "uuid" else SCHEMES[kind].format(n)


@pytest.fixture
def engine():
    engine = create_engine("sqlite://")
    yield engine
    engine.dispose()


@pytest.fixture(params=SCHEMES)
def case(request, engine):
    """A kind of value, a mapped class with a server default, and some IDs."""

    class Base(DeclarativeBase):
        pass

    class Order(Base):
        __tablename__ = "orders"
        __mapper_args__ = {"eager_defaults": True}  # noqa: RUF012 - as SQLAlchemy's
        id: Mapped[int] = mapped_column(Id(SCHEMES[request.param]), primary_key=True)
        made: Mapped[str] = mapped_column(String, server_default=func.upper("now"))

    Base.metadata.create_all(engine)
    with frazil.open("memory:", SCHEMES[request.param]) as ids:
        return request.param, Order, ids.take(50)


def test_many_that_come_back(case, engine):
    kind, order, ids = case
    rows = [{"id": value_of(kind, n)} for n in ids]
    with Session(engine) as session:
        back = insert(order).returning(order.id, sort_by_parameter_order=True)
        assert session.scalars(back, rows).all() == ids
        session.rollback()
        table = order.__table__
        found = session.connection().execute(
            insert(table).returning(table.c.id, table.c.made, sort_by_parameter_order=True), rows
        )
        assert found.all() == [(n, "NOW") for n in ids]


def test_a_text_that_is_no_id(case, engine):
    _kind, order, ids = case
    with pytest.raises(CodecError):
        order(id="user_1")
    with Session(engine) as session, pytest.raises((CodecError, StatementError)):
        session.execute(insert(order), [{"id": ids[0]}, {"id": "user_1"}])
