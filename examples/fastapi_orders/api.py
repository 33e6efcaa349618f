"""The API: ``uvicorn fastapi_orders.api:app``."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from sqlalchemy import insert, select
from sqlalchemy.exc import StatementError
from sqlalchemy.ext.asyncio import AsyncSession

from fastapi_orders.ids import OrderId, next_order, order
from fastapi_orders.models import Line, Order, connect
from frazil.errors import TryLater
from frazil.sqlalchemy import within

__all__ = ["app"]

log = logging.getLogger("uvicorn.error")
engine = connect()


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Get a claim before the first request."""
    await next_order.ready()
    yield
    await next_order.aclose()
    await engine.dispose()


app = FastAPI(title="Orders", lifespan=lifespan)


@app.exception_handler(TryLater)
@app.exception_handler(StatementError)
async def no_id_now(_request: Request, error: Exception) -> JSONResponse:
    """503 if no ID can be made now. SQLAlchemy wraps what a column's default raises."""
    cause = getattr(error, "orig", error)
    if not isinstance(cause, TryLater):
        raise error
    log.warning("%s", cause)
    headers = {"Retry-After": "5"}
    return JSONResponse({"detail": "no ID is available; try again"}, 503, headers)


class OrderIn(BaseModel):
    """What a client says about an order."""

    customer: str
    articles: list[str] = []


class OrderOut(OrderIn):
    """An order as a client sees it."""

    model_config = ConfigDict(from_attributes=True)

    id: OrderId


async def open_session() -> AsyncIterator[AsyncSession]:
    """A session for one request."""
    async with AsyncSession(engine, expire_on_commit=False) as session:
        yield session


Database = Annotated[AsyncSession, Depends(open_session)]


def shown(one: Order) -> OrderOut:
    """The JSON of an order."""
    articles = [line.article for line in one.lines]
    return OrderOut(id=one.id, customer=one.customer, articles=articles)


def lines_of(given: OrderIn) -> list[Line]:
    """The lines that a client gives."""
    return [Line(number=n, article=article) for n, article in enumerate(given.articles)]


@app.post("/orders", status_code=201)
async def create(given: OrderIn, database: Database) -> OrderOut:
    """Store an order."""
    one = Order(customer=given.customer, lines=lines_of(given))
    database.add(one)
    await database.commit()
    log.info("created %s", order.format(one.id))
    return shown(one)


@app.post("/orders/bulk", status_code=201)
async def create_many(given: list[OrderIn], database: Database) -> list[OrderId]:
    """Store many orders without lines, in one statement."""
    rows = [{"customer": each.customer} for each in given]
    statement = insert(Order).returning(Order.id, sort_by_parameter_order=True)
    made = (await database.scalars(statement, rows)).all()
    await database.commit()
    return list(made)


@app.get("/orders/{id}")
async def read(id: OrderId, database: Database) -> OrderOut:
    """One order."""
    return shown(await find(id, database))


@app.put("/orders/{id}")
async def replace(id: OrderId, given: OrderOut, database: Database) -> OrderOut:
    """Replace an order by what a client has changed."""
    if given.id != id:
        raise HTTPException(409, "the body is another order")
    one = await find(id, database)
    one.customer = given.customer
    one.lines = []
    await database.flush()
    one.lines = lines_of(given)
    await database.commit()
    return shown(one)


@app.get("/orders")
async def search(
    database: Database,
    after: OrderId | None = None,
    start: datetime | None = None,
    stop: datetime | None = None,
    limit: int = 100,
) -> list[OrderOut]:
    """Orders in the order of their IDs, after one of them or of an interval of time."""
    query = select(Order).order_by(Order.id).limit(limit)
    if after is not None:
        query = query.where(Order.id > after)
    if start is not None and stop is not None:
        query = query.where(within(Order.id, start, stop))
    return [shown(one) for one in await database.scalars(query)]


async def find(id: OrderId, database: AsyncSession) -> Order:
    """The order of an ID; 404 if there is none."""
    one = await database.get(Order, id)
    if one is None:
        raise HTTPException(404, "there is no such order")
    return one
