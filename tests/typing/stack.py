"""User code of the integrations that must type-check; see api.py."""

from datetime import UTC, datetime
from typing import Annotated, assert_type

import attrs
import msgspec
from pydantic import BaseModel, Field
from sqlalchemy import insert, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import frazil
import frazil.attrs
import frazil.msgspec
import frazil.pydantic
import frazil.sqlalchemy

order = frazil.scheme("icicle", prefix="order_", encoding="base62")
next_order = frazil.open(namespace="orders", scheme=order)
OrderId = Annotated[int, frazil.pydantic.Id(order)]
SmallId = Annotated[int, frazil.pydantic.Id("js53", json="number")]


class Base(DeclarativeBase):
    """The tables."""


class Order(Base):
    """An order in the database."""

    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(
        frazil.sqlalchemy.Id(order), primary_key=True, default=next_order
    )
    parent: Mapped[int | None] = mapped_column(frazil.sqlalchemy.Id("icicle"))


class OrderOut(BaseModel):
    """An order in JSON."""

    id: OrderId = Field(default_factory=next_order)
    parent: OrderId | None = None
    lines: dict[SmallId, int] = {}


class MessageId(frazil.msgspec.Id, scheme=order):
    """The ID of a message."""


class Message(msgspec.Struct):
    """A message."""

    id: MessageId


def read_order(value: object) -> int:
    """What converts an order's ID; mypy knows only named functions as converters."""
    return order.read(value)


@attrs.define
class Line:
    """A line of an order."""

    id: int = attrs.field(converter=read_order)
    order_id: int = attrs.field(validator=frazil.attrs.validator(order))


def of_today(session: Session) -> list[Order]:
    """A query by time and by text."""
    today = frazil.sqlalchemy.within(Order.id, datetime(2026, 1, 1, tzinfo=UTC), datetime.now(UTC))
    session.execute(insert(Order), [{"parent": None}])
    one = session.scalars(select(Order).where(Order.id == "order_1hDvWfhIVbE")).one()
    assert_type(one.id, int)
    assert_type(OrderOut(id=one.id).id, int)
    assert_type(Message(MessageId(one.id)).id, MessageId)
    assert_type(Line(id="order_1hDvWfhIVbE", order_id=1).id, int)
    return list(session.scalars(select(Order).where(today)))
