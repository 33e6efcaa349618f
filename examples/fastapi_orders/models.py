"""The tables. ``python -m fastapi_orders.models`` creates them, once."""

import asyncio
import os

from sqlalchemy import ForeignKey
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from fastapi_orders.ids import next_order, order
from frazil.sqlalchemy import Id

__all__ = ["Base", "Line", "Order", "connect"]


class Base(DeclarativeBase):
    """All tables."""


class Order(Base):
    """An order."""

    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(Id(order), primary_key=True, default=next_order)
    customer: Mapped[str]
    lines: Mapped[list["Line"]] = relationship(lazy="selectin", cascade="all, delete-orphan")


class Line(Base):
    """A line of an order."""

    __tablename__ = "lines"
    order_id: Mapped[int] = mapped_column(ForeignKey("orders.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    article: Mapped[str]


def connect() -> AsyncEngine:
    """The database that DATABASE_URL names, like ``postgresql+asyncpg://user@host/database``."""
    return create_async_engine(os.environ["DATABASE_URL"])


async def create_tables() -> None:
    """Create the tables that are missing."""
    engine = connect()
    async with engine.begin() as link:
        await link.run_sync(Base.metadata.create_all)
    await engine.dispose()


if __name__ == "__main__":
    asyncio.run(create_tables())
