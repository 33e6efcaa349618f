"""A value of an ID column has one type: what is bound, assigned or made is what comes back."""

from uuid import UUID

import pytest
from sqlalchemy import String, create_engine, func, insert
from sqlalchemy.exc import StatementError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import frazil
from frazil.errors import CodecError
from frazil.sqlalchemy import Id

ORDER = frazil.scheme("icicle", prefix="order_", encoding="base62")
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
