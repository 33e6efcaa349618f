"""The recipe for SQLModel: one class is the table and the JSON."""

import json
from typing import Annotated

import pytest
from pydantic import ValidationError
from sqlalchemy import create_engine, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable
from sqlmodel import Field, Session, SQLModel, select

import frazil
import frazil.pydantic
from frazil.sqlalchemy import Id

ORDER = frazil.scheme("icicle", prefix="order_", encoding="base62")
IDS = frazil.open("memory:sqlmodel", scheme=ORDER)
OrderId = Annotated[int, frazil.pydantic.Id(ORDER)]


class OrderBase(SQLModel):
    name: str


class Order(OrderBase, table=True):
    __tablename__ = "sqlmodel_orders"
    id: OrderId = Field(default_factory=IDS, primary_key=True, sa_type=Id(ORDER))


class Line(SQLModel, table=True):
    __tablename__ = "sqlmodel_lines"
    id: OrderId = Field(default_factory=IDS, primary_key=True, sa_type=Id(ORDER))
    order_id: OrderId = Field(foreign_key="sqlmodel_orders.id", sa_type=Id(ORDER))


class OrderOut(OrderBase):
    id: OrderId


def test_columns():
    made = str(CreateTable(Line.__table__).compile(dialect=postgresql.dialect()))
    assert "id BIGINT NOT NULL" in made
    assert "order_id BIGINT NOT NULL" in made


def test_round_trip(database):
    engine = create_engine(f"postgresql+psycopg://{database}")
    SQLModel.metadata.create_all(engine, [Order.__table__, Line.__table__])
    with Session(engine) as session:
        one = Order(name="one")
        session.add(one)
        session.flush()  # the lines refer to its row
        session.add(Line(order_id=one.id))
        session.commit()
        shown = OrderOut.model_validate(one, from_attributes=True).model_dump_json()
        assert json.loads(shown) == {"name": "one", "id": ORDER.format(one.id)}
        assert json.loads(one.model_dump_json()) == json.loads(shown)
        found = session.exec(select(Order).where(Order.id == ORDER.format(one.id))).one()
        assert found.id == OrderOut.model_validate_json(shown).id
        kind = session.execute(text("SELECT pg_typeof(id)::text FROM sqlmodel_orders")).scalar()
        assert kind == "bigint"
    engine.dispose()
    with pytest.raises(ValidationError, match="does not fit 64 bits"):
        OrderOut(name="x", id=1 << 70)
