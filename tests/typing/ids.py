"""A type for the IDs of each table: what passes, and what is refused; see api.py.

The lines with ``type: ignore`` are errors. mypy and pyright report such a comment if they find no
error there.
"""

from dataclasses import dataclass
from typing import Annotated, NewType, assert_type

import attrs
from pydantic import BaseModel, Field
from sqlalchemy import ForeignKey, select
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, Session, mapped_column

import frazil
import frazil.pydantic
import frazil.sqlalchemy

CustomerId = NewType("CustomerId", int)
OrderId = NewType("OrderId", int)

customer = frazil.scheme("icicle", prefix="customer_", encoding="base62")
order = frazil.scheme("icicle", prefix="order_", encoding="base62")
orders = frazil.open("memory:", order)


def next_order() -> OrderId:
    """The ID of a new order."""
    return OrderId(orders())


def read_order(value: object) -> OrderId:
    """The ID of an order, from outside."""
    return OrderId(order.read(value))


def ship(order_id: OrderId) -> str:
    """What takes the ID of an order and no other."""
    return order.format(order_id)


class Base(MappedAsDataclass, DeclarativeBase):
    """The tables."""


class Customer(Base):
    """A customer in the database."""

    __tablename__ = "customers"
    id: Mapped[CustomerId] = mapped_column(frazil.sqlalchemy.Id(customer), primary_key=True)


class Order(Base):
    """An order in the database."""

    __tablename__ = "orders"
    id: Mapped[OrderId] = mapped_column(
        frazil.sqlalchemy.Id(order), primary_key=True, init=False, insert_default=next_order
    )
    customer_id: Mapped[CustomerId] = mapped_column(ForeignKey("customers.id"))
    parent: Mapped[OrderId | None] = mapped_column(frazil.sqlalchemy.Id(order), default=None)


class OrderOut(BaseModel):
    """An order in JSON."""

    id: Annotated[OrderId, frazil.pydantic.Id(order)] = Field(default_factory=next_order)
    customer_id: Annotated[CustomerId, frazil.pydantic.Id(customer)]


@dataclass
class Line:
    """A line of an order."""

    order_id: OrderId


@attrs.define
class Parcel:
    """A parcel of an order."""

    order_id: OrderId = attrs.field(converter=read_order)


def use(session: Session, one: CustomerId, text: str) -> int:
    """Each kind of use, right and wrong."""
    made = Order(customer_id=one, parent=next_order())
    assert_type(made.id, OrderId)
    assert_type(made.customer_id, CustomerId)
    assert_type(made.parent, OrderId | None)
    assert_type(OrderOut(customer_id=one).id, OrderId)
    assert_type(Parcel(text).order_id, OrderId)
    assert_type(session.scalars(select(Order.id)).one(), OrderId)
    ship(made.id)
    ship(OrderOut(customer_id=one).id)
    ship(Line(made.id).order_id)
    ship(read_order(text))
    number: int = made.id  # an ID is an int
    names: dict[OrderId, str] = {made.id: "a"}

    ship(one)  # type: ignore[arg-type]
    ship(made.customer_id)  # type: ignore[arg-type]
    ship(orders())  # type: ignore[arg-type]
    ship(5)  # type: ignore[arg-type]
    names[one]  # type: ignore[index]
    Order(customer_id=made.id)  # type: ignore[arg-type]
    Order(customer_id=one, parent=one)  # type: ignore[arg-type]
    OrderOut(customer_id=made.id)  # type: ignore[arg-type]
    OrderOut(id=one, customer_id=one)  # type: ignore[arg-type]
    Line(one)  # type: ignore[arg-type]
    made.customer_id = made.id  # type: ignore[assignment]
    made.parent = one  # type: ignore[assignment]
    return number + len(names)
