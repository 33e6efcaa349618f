"""The column type with a real PostgreSQL: both kinds of engine, bulk, plans, and migrations."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import ForeignKey, create_engine, func, insert, inspect, select, text
from sqlalchemy.exc import StatementError
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

import frazil
from frazil.sqlalchemy import Id, within
from tests.tools.loop_watch import LoopWatch

ROWS = 10_000
ORDER = frazil.scheme("icicle", prefix="order_", encoding="base62")


def model(default):
    """A table of orders and one of their lines, for one test."""

    class Base(DeclarativeBase):
        pass

    class Order(Base):
        __tablename__ = "orders"
        id: Mapped[int] = mapped_column(Id(ORDER), primary_key=True, default=default)
        name: Mapped[str]
        lines: Mapped[list["Line"]] = relationship(lazy="selectin")

    class Line(Base):
        __tablename__ = "lines"
        id: Mapped[int] = mapped_column(Id(ORDER), primary_key=True, default=default)
        order_id: Mapped[int] = mapped_column(ForeignKey("orders.id"))

    Order.Line = Line
    return Order


def test_sync(database):
    order = model(frazil.open("memory:pg", scheme=ORDER))
    engine = create_engine(f"postgresql+psycopg://{database}")
    order.metadata.create_all(engine)
    with Session(engine) as session:
        one = order(name="one", lines=[order.Line(), order.Line()])
        session.add(one)
        session.commit()
        assert [line.order_id for line in one.lines] == [one.id] * 2
        stored = session.execute(text("SELECT id, pg_typeof(id)::text FROM orders")).one()
        assert stored == (one.id, "bigint")
        session.execute(insert(order), [{"name": str(n)} for n in range(ROWS)])
        session.add_all(order(name="unit of work") for _ in range(100))
        session.commit()
        assert session.scalar(select(func.count(order.id.distinct()))) == ROWS + 101
        assert session.get(order, ORDER.format(one.id)) is one
        with pytest.raises(StatementError, match="CodecError"):
            session.get(order, 2**70)
    kinds = {column["name"]: str(column["type"]) for column in inspect(engine).get_columns("lines")}
    assert kinds == {"id": "BIGINT", "order_id": "BIGINT"}
    assert inspect(engine).get_sequence_names() == []
    engine.dispose()


@pytest.mark.parametrize("awaited", [False, True])
def test_async(database, awaited):
    async def run():
        opened = frazil.aio.open if awaited else frazil.open
        ids = opened("memory:pga", scheme=ORDER)
        order = model(ids)
        engine = create_async_engine(f"postgresql+asyncpg://{database}")
        async with engine.begin() as link:
            await link.run_sync(order.metadata.create_all)
        async with AsyncSession(engine, expire_on_commit=False) as session:
            one = order(name="one", lines=[order.Line()])
            session.add(one)
            await session.flush()
            await session.execute(insert(order), [{"name": str(n)} for n in range(ROWS)])
            back = insert(order).returning(order.id, sort_by_parameter_order=True)
            made = (await session.scalars(back, [{"name": "x"} for _ in range(2500)])).all()
            assert made == sorted(set(made))
            await session.commit()
            found = await session.scalars(select(order).where(order.id == ORDER.format(one.id)))
            assert found.one().lines[0].order_id == one.id
            assert await session.scalar(select(func.count(order.id.distinct()))) == ROWS + 2501
        await engine.dispose()
        await ids.aclose() if awaited else ids.close()

    asyncio.run(run())


@pytest.mark.filterwarnings("ignore:a generator of frazil.open waits:RuntimeWarning")
@pytest.mark.parametrize(("how", "blocks"), [("ready", False), ("new", True), ("awaited", False)])
def test_a_default_asks_no_store_in_the_loop(database, how, blocks):
    """If it is ready or awaited. Another one waits there, which the watch must see."""

    async def run():
        open_ids = frazil.aio.open if how == "awaited" else frazil.open
        ids = open_ids("sqlite:?horizon=100ms", scheme=ORDER)
        order = model(ids)
        engine = create_async_engine(f"postgresql+asyncpg://{database}")
        async with engine.begin() as link:
            await link.run_sync(order.metadata.create_all)
        if how == "ready":
            await asyncio.to_thread(ids.ready)
        watch = LoopWatch()
        async with AsyncSession(engine) as session:
            watch.on = True
            session.add(order(name="one", lines=[order.Line()]))
            await session.commit()
            watch.on = False
        await engine.dispose()
        await (ids.aclose() if how == "awaited" else asyncio.to_thread(ids.close))
        watch.end()
        return [each for each in watch.seen if "frazil/" in each]

    assert bool(asyncio.run(run())) is blocks


def test_within_uses_the_primary_key(database):
    order = model(None)
    engine = create_engine(f"postgresql+psycopg://{database}")
    order.metadata.create_all(engine)
    start = datetime(2026, 11, 1, tzinfo=UTC)
    with engine.begin() as link:
        first = ORDER.window(start, start + timedelta(hours=1)).start
        step = ORDER.window(start, start + timedelta(minutes=1))
        rows = [{"id": first + n * len(step), "name": "x"} for n in range(ROWS)]
        link.execute(insert(order), rows)
        link.execute(text("ANALYZE orders"))
        hour = within(order.id, start, start + timedelta(hours=1))
        assert link.scalar(select(func.count()).select_from(order).where(hour)) == 60
        query = select(order.name).where(hour)
        shown = query.compile(engine, compile_kwargs={"literal_binds": True})
        plan = "\n".join(link.scalars(text(f"EXPLAIN {shown}")))
        assert "using orders_pkey" in plan, plan
        assert "Index Cond: ((id >= " in plan, plan
        assert "Filter" not in plan, plan
    engine.dispose()
