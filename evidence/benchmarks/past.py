"""IDs of the past: ten million rows of ten years, beside live generators, by jobs that are killed.

    python -m evidence.benchmarks.past redis://localhost --rows 10000000
    python -m evidence.benchmarks.past postgresql://postgres@localhost/app --page

A job gives IDs to rows in parts, and writes each part to a file. Two of its processes are killed in
the middle, and another one continues with the parts that have no file. It does so with the rows in
order, and in random order. Two processes make live IDs in the same namespace meanwhile. Then all
IDs that were ever made are compared, also those of parts that were made twice.

With ``--page``, the steps of the page on backfilling run instead, from its own text, on a table of
a million rows, while a writer inserts rows.
"""

import argparse
import multiprocessing
import re
import secrets
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

import frazil

FIRST_US = int(datetime(2016, 3, 1, tzinfo=UTC).timestamp()) * 1_000_000
YEARS_US = 10 * 365 * 86_400 * 1_000_000
PART = 500_000
PAGE = Path("docs/how-to/backfill-postgres.md")
SECTION = "## IDs of the rows' own moments"


def rows(count: int, *, in_order: bool) -> Any:
    """Moments of ten years, one in a thousand of them in one second."""
    us = np.random.default_rng(7).integers(FIRST_US, FIRST_US + YEARS_US, count)
    us[: count // 1000] = FIRST_US + YEARS_US // 2
    return np.sort(us) if in_order else us


def job(url: str, namespace: str, folder: Path, us: Any) -> None:
    """Give the rows IDs, without those of parts that have a file."""
    with frazil.history(url, namespace=namespace) as past:
        for part in range(0, len(us), PART):
            if not (folder / str(part)).exists():
                ids = past.at_many(us[part : part + PART].view("datetime64[us]"))
                # Every ID that was seen counts, also if the part is made again.
                seen = folder / f"seen-{part}-{secrets.token_hex(4)}"
                ids.tofile(seen)
                time.sleep(0.05)
                (folder / str(part)).hardlink_to(seen)


def live(url: str, namespace: str, folder: Path) -> None:
    """Make IDs of now until the file ``stop`` is there, and then write them."""
    made = []
    with frazil.open(url, namespace=namespace) as ids:
        while not (folder / "stop").exists():
            made.append(ids.array(1000))
            time.sleep(0.01)
    np.concatenate(made).tofile(folder / f"live-{secrets.token_hex(4)}")


def run(url: str, count: int, *, in_order: bool) -> None:
    """One job, killed twice; and the comparison."""
    namespace, us = f"past-{secrets.token_hex(4)}", rows(count, in_order=in_order)
    frazil.init(url, namespace=namespace, new=True)
    frazil.declare_past(url, namespace=namespace, start="2016-02-18")
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="frazil-past-") as name:
        folder = Path(name)
        beside = [processes.Process(target=live, args=(url, namespace, folder)) for _ in range(2)]
        for process in beside:
            process.start()
        began_s, parts = time.monotonic(), -(-count // PART)
        for share in (1 / 3, 2 / 3, 1):
            process = processes.Process(target=job, args=(url, namespace, folder, us))
            process.start()
            while share < 1 and len(list(folder.glob("seen-*"))) < share * parts:
                time.sleep(0.005)
            if share < 1:
                process.kill()
            process.join()
        took_s = time.monotonic() - began_s
        (folder / "stop").touch()
        for each in beside:
            each.join()
        numbers = partial(np.fromfile, dtype=np.uint64)  # a killed process left a part of one
        ids = np.concatenate([numbers(folder / str(part)) for part in range(0, count, PART)])
        seen, now = (list(map(numbers, folder.glob(f"{kind}-*"))) for kind in ("seen", "live"))
    compare(us, ids, seen, now)
    order = "in order" if in_order else "in random order"
    print(f"{count:,} rows {order}, killed twice, with both starts in {took_s:.1f} s")


def compare(us: Any, ids: Any, seen: list[Any], now: list[Any]) -> None:
    """Print and check what all these IDs are."""
    every = np.concatenate([*seen, *now])
    repeated = len(every) - len(np.unique(every))
    ticks = (us - frazil.scheme().layout.epoch_us) // 1000
    found = frazil.scheme().unpack_many(ids)["time"].view(np.int64)
    late_us = found - (us - (us - frazil.scheme().layout.epoch_us) % 1000)
    by_id = np.argsort(ids)
    spilled = late_us > 0
    kept = by_id[~spilled[by_id]]
    in_order = bool((np.diff(ticks[kept]) >= 0).all())
    print(
        f"{len(every):,} IDs, {sum(map(len, now)):,} of them live: {repeated} repeated; "
        f"order by ID is order by tick: {in_order}; {int(spilled.sum()):,} rows of full ticks are "
        f"at most {late_us.max() / 1e6:.3f} s late"
    )
    assert not repeated
    assert in_order
    assert late_us.min() >= 0


def rate(url: str) -> None:
    """The time for a million IDs of sorted rows, beside that of ``array``, alternately."""
    namespace = f"past-{secrets.token_hex(4)}"
    frazil.init(url, namespace=namespace, new=True)
    frazil.declare_past(url, namespace=namespace, start="2016-02-18")
    us = rows(10_000_000, in_order=True).view("datetime64[us]")
    past_s, array_s = [], []
    with (
        frazil.history(url, namespace=namespace) as past,
        frazil.open(url, namespace=namespace) as ids,
    ):
        for part in range(0, len(us), 1_000_000):
            past_s.append(timed(lambda part=part: past.at_many(us[part : part + 1_000_000])))
            array_s.append(timed(lambda: ids.array(1_000_000)))
    for index, what in enumerate(("elapsed", "processor")):
        mine, theirs = (np.median([each[index] for each in s]) * 1e3 for s in (past_s, array_s))
        print(f"a million IDs, {what}: history {mine:.0f} ms, array {theirs:.0f} ms")


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """The seconds that a call takes, and those of the processor."""
    began = time.monotonic(), time.process_time()
    call()
    return time.monotonic() - began[0], time.process_time() - began[1]


def page(url: str) -> None:
    """Run the steps of the page, on a million rows, while a writer inserts others."""
    import psycopg

    text = PAGE.read_text("utf-8").partition(SECTION)[2]
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    stop, inserted = Event(), []
    db = psycopg.connect(url, autocommit=True)
    db.execute("drop table if exists visits")
    if db.execute("select to_regclass('frazil.frazil_namespace')").fetchone() == (None,):
        frazil.init(url)
    frazil.declare_past(url, start="2017-01-01")
    ids = frazil.open(url)

    def write() -> None:
        with psycopg.connect(url, autocommit=True) as other, frazil.open(url) as own:
            while not stop.is_set():
                inserted.append(own())
                sql = "insert into visits (id, created_at, payload) values (%s, now(), 'new')"
                other.execute(sql, [inserted[-1]])
                time.sleep(0.005)

    scope: dict[str, Any] = {"db": db, "ids": ids, "frazil": frazil}
    writer = Thread(target=write)
    for number, block in enumerate(blocks[:-1]):
        code = block.replace("25000", "1000000").replace("1 hour", "4 minutes")
        code = re.sub(r"postgresql://[^\"]*", url, code)
        began_s = time.monotonic()
        exec(compile(code, str(PAGE), "exec"), scope)
        if number == 0:
            writer.start()
    took_s = time.monotonic() - began_s
    stop.set()
    writer.join()
    total, distinct = db.execute("select count(*), count(distinct id) from visits").fetchone() or ()
    wrong = """select count(*) from (select created_at, lag(created_at) over (order by id) as before
               from visits) v where date_trunc('milliseconds', created_at)
               < date_trunc('milliseconds', before) - interval '1 second'"""
    (disorder,) = db.execute(wrong).fetchone() or ()
    print(
        f"{total:,} rows, {len(inserted):,} of them inserted meanwhile, {distinct:,} different "
        f"IDs, {disorder} out of order by time, in {took_s:.0f} s"
    )
    assert total == distinct == 1_000_000 + len(inserted)
    assert not disorder
    ids.close()


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("url")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.page:
        page(given.url)
        return
    for in_order in (True, False):
        run(given.url, given.rows, in_order=in_order)
    rate(given.url)


if __name__ == "__main__":
    main()
