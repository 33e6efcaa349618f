"""``ids.uuid()``: made here, and read by the programs that store and parse UUIDs."""

import asyncio
import subprocess
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import frazil
from frazil import aio
from frazil.errors import ConfigError
from tests.needs import needs
from tests.servers.postgres import postgres, programs

JAVA = """
import java.util.UUID;
public class Main {
    public static void main(String[] texts) {
        for (String text : texts) {
            UUID made = UUID.fromString(text);
            long ms = made.getMostSignificantBits() >>> 16;
            System.out.println(made + " " + made.version() + " " + made.variant() + " " + ms);
        }
    }
}
"""
# JavaScript has no UUID of its own; its programs take the text apart as here, without a package.
JAVASCRIPT = """
const valid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
for (const text of process.argv.slice(1)) {
    const n = BigInt("0x" + text.replaceAll("-", ""));
    const back = n.toString(16).padStart(32, "0")
        .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    console.log(back, (n >> 76n) & 15n, (n >> 62n) & 3n, n >> 80n, valid.test(text));
}
"""


@pytest.mark.parametrize("version", [7, 8])
def test_none_twice_and_each_of_its_version(version: int) -> None:
    with frazil.open("memory:", f"uuid{version}", namespace=f"uuid{version}") as ids:
        found = [ids.uuid() for _ in range(10_000)]
        assert {(each.version, each.variant) for each in found} == {(version, uuid.RFC_4122)}
        assert len({*found, *(uuid.UUID(int=n) for n in ids.take(200_000))}) == 210_000
        row = ids.array(1000)
        assert {(int(hi) >> 12 & 15, int(lo) >> 62) for hi, lo in row.tolist()} == {(version, 2)}
        assert uuid.UUID(ids.text()).version == version
    assert (found == sorted(found)) == (version == 7)


def test_awaited() -> None:
    async def work() -> list[uuid.UUID]:
        async with aio.open("memory:", "uuid7", namespace="uuid7") as ids:
            return [await ids.uuid() for _ in range(100)]

    found = asyncio.run(work())
    assert len(set(found)) == 100
    assert found == sorted(found)
    assert {each.version for each in found} == {7}


def test_64_bits_are_refused_before_an_id_is_made() -> None:
    with frazil.open("static:7") as ids, pytest.raises(ConfigError, match="'uuid7'"):
        ids.uuid()

    async def work() -> None:
        async with aio.open("memory:") as ids:
            await ids.uuid()

    with pytest.raises(ConfigError, match="'uuid7'"):
        asyncio.run(work())


@pytest.fixture(scope="module")
def made() -> list[uuid.UUID]:
    with frazil.open("memory:", "uuid7", namespace="uuid7") as ids:
        return [ids.uuid() for _ in range(50)]


@pytest.mark.long
def test_java_reads_them(made: list[uuid.UUID], tmp_path: Path) -> None:
    needs("java", "Java's parser")
    source = tmp_path / "Main.java"
    source.write_text(JAVA)
    lines = output("java", str(source), *map(str, made))
    assert lines == [f"{each} 7 2 {each.int >> 80}" for each in made]


def test_javascript_reads_them(made: list[uuid.UUID]) -> None:
    needs("node", "JavaScript's arithmetic")
    lines = output("node", "-e", JAVASCRIPT, *map(str, made))
    assert lines == [f"{each} 7n 2n {each.int >> 80}n true" for each in made]


def output(*command: str) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.splitlines()


@pytest.mark.long
def test_postgresql_reads_sorts_and_indexes_them() -> None:
    since = datetime.now(UTC) - timedelta(seconds=5)
    with (
        postgres(programs()[-1]) as server,
        frazil.open("memory:", "uuid7", namespace="uuid7") as ids,
    ):
        server.sql("CREATE TABLE orders (at serial, id uuid PRIMARY KEY)")
        for _ in range(20):
            values = ", ".join(f"('{ids.uuid()}')" for _ in range(50))
            server.sql(f"INSERT INTO orders (id) VALUES {values}")
            time.sleep(0.002)
        facts = "id, uuid_extract_version(id), uuid_extract_timestamp(id)"
        rows = server.sql(f"SELECT {facts} FROM orders ORDER BY at")
        by_id = server.sql("SELECT id FROM orders ORDER BY id")
    assert [(key,) for key, _, _ in rows] == by_id
    assert {version for _, version, _ in rows} == {7}
    assert [at for _, _, at in rows] == [ids.scheme.unpack(key.int).moment for key, _, _ in rows]
    assert all(since < at < datetime.now(UTC) for _, _, at in rows)
