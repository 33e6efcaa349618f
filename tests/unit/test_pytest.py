"""The fixture of pytest: the same IDs in every run, in any order and on any worker."""

import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest

import frazil
from frazil.errors import LayoutError

ORDER = frazil.scheme("icicle", prefix="order_", encoding="base62")
BEFORE = frazil.open("memory:before", scheme=ORDER)
FIRST = ORDER.pack(moment=datetime(2026, 1, 1, tzinfo=UTC))
STEP = ORDER.pack(moment=datetime(2026, 1, 1, 0, 0, 0, 1000, tzinfo=UTC)) - FIRST


@pytest.mark.parametrize("again", range(2))
def test_the_same_ids(frazil_ids, again):
    """Also of a generator that was opened before, each time from the beginning."""
    assert [BEFORE(), next(BEFORE), *BEFORE.take(2)] == [FIRST + n * STEP for n in range(4)]
    assert BEFORE.text() == ORDER.format(FIRST + 4 * STEP)
    assert BEFORE.array(2, "int64").tolist() == [FIRST + n * STEP for n in (5, 6)]
    assert next(BEFORE.stream()) == FIRST + 7 * STEP
    BEFORE.ready()


def test_after(frazil_ids):
    seen = FIRST + 9 * STEP + 5
    assert BEFORE.after(seen, FIRST) == FIRST + 10 * STEP
    assert BEFORE.take(2, after=[seen]) == [FIRST + n * STEP for n in (11, 12)]
    assert BEFORE.text(after=ORDER.format(seen)) == ORDER.format(FIRST + 13 * STEP)
    assert BEFORE.array(1, after=seen + 20 * STEP).tolist() == [FIRST + 30 * STEP]

    async def run():
        async with frazil.aio.open("redis://127.0.0.1:1", scheme=ORDER) as ids:
            await ids.ready()
            first = [await ids(), await anext(ids), *await ids.take(1)]
            return [*first, await ids.after(seen), *await ids.take(1, after=seen + 30 * STEP)]

    assert asyncio.run(run()) == [FIRST + n * STEP for n in (31, 32, 33, 34, 40)]


@pytest.mark.parametrize("name", ["sonyflake", "js53", "uuid7", "tickets", "chibrary"])
def test_every_scheme(frazil_ids, name):
    scheme = frazil.scheme(name)
    with frazil.open("memory:", scheme=scheme) as ids:
        made = [ids() for _ in range(100)]
    assert len(set(made)) == 100
    assert all(scheme.read(n) == n for n in made)


def test_sqlalchemy(frazil_ids):
    from sqlalchemy import Column, MetaData, Table, create_engine, insert, select

    from frazil.sqlalchemy import Id

    table = Table("t", MetaData(), Column("id", Id(ORDER), primary_key=True, default=BEFORE))
    engine = create_engine("sqlite://")
    with engine.begin() as link:
        table.create(link)
        link.execute(insert(table), [{} for _ in range(3)])
        found = link.scalars(select(table.c.id).order_by(table.c.id)).all()
    engine.dispose()
    assert found == [FIRST + n * STEP for n in range(3)]


SUITE = """
import frazil, pytest
ids = frazil.open("memory:", namespace="orders")

@pytest.mark.parametrize("n", range(8))
def test_it(frazil_ids, n, record_property):
    record_property("made", ids.take(3))
"""


@pytest.mark.parametrize(
    "workers", [["-p", "no:xdist"], pytest.param(["-n", "2"], marks=pytest.mark.long)]
)
def test_in_a_project_of_a_user(tmp_path, workers):
    """Found without a setting, and the same alone and on two workers."""
    (tmp_path / "test_it.py").write_text(SUITE)
    report = tmp_path / "report.xml"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *workers, "-p", "no:cacheprovider", "--junitxml",
         str(report)], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    expected = str([frazil.scheme("icicle").pack(time=311_436_999_684 + n, node=0, sequence=0)
                    for n in range(3)])  # fmt: skip
    assert report.read_text().count(expected) == 8


def test_the_plugin_loads_nothing_but_pytest():
    code = (
        "import sys, pytest; before = set(sys.modules); import frazil.pytest;"
        "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before}))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["frazil"]


def test_pack_with_a_moment():
    moment = datetime(2026, 11, 1, 12, tzinfo=UTC)
    n = ORDER.pack(moment=moment, node=3, sequence=9)
    assert (ORDER.unpack(n).moment, ORDER.unpack(n)["node"]) == (moment, 3)
    assert ORDER.pack(moment=moment.replace(tzinfo=None)) == ORDER.window(moment, moment).start
    parts = frazil.scheme(
        "sign:1=0 time:41 node.region:2 node.host:8 sequence:12 @1ms since 2020-01-01T00:00:00Z"
    )
    assert parts.unpack(parts.pack(moment=moment, node=258))["region"] == 1
    with pytest.raises(LayoutError, match="outside the time field"):
        ORDER.pack(moment=datetime(1999, 1, 1, tzinfo=UTC))
    with pytest.raises(LayoutError):
        frazil.scheme("tickets").pack(moment=moment)
