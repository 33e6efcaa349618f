"""Requests without an ID, while the store of the claims is away.

Command: ``python -m evidence.benchmarks.outage``.

``examples/fastapi_orders`` runs with two workers, its claims on a Redis of its own. Clients ask
each for a list of orders 20 times a second, and one client posts orders one after the other. The
Redis is stopped for 30 s (``--seconds``), and goes on. Prints a table in Markdown.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

from tests.servers.postgres import postgres
from tests.servers.redis import Server
from tests.stack.test_fastapi_orders import App
from tests.tools.waiting import until

__all__ = ["main"]

_READERS = 4  # connections; each worker gets some
_PAUSE_S = 0.05 * _READERS / 2


class Load:
    """Clients of the example. took_s: of the answers in each phase, by method."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.phase = "before"
        self.took_s: dict[tuple[str, str], list[float]] = {}
        self.codes: dict[tuple[str, str], Counter[int]] = {}
        self._ended = threading.Event()
        jobs: list[dict[str, Any]] = [{"method": "GET"}] * _READERS
        jobs.append({"method": "POST", "json": {"customer": "Ada"}})
        self._threads = [threading.Thread(target=self._ask, kwargs=job) for job in jobs]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the clients, each after its answer."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, method: str, **what: Any) -> None:
        with httpx.Client(base_url=self.url, timeout=60) as client:
            while not self._ended.wait(_PAUSE_S):
                key, began = (method, self.phase), time.monotonic()
                code = client.request(method, "/orders", **what).status_code
                self.took_s.setdefault(key, []).append(time.monotonic() - began)
                self.codes.setdefault(key, Counter())[code] += 1

    def rows(self) -> list[str]:
        """The lines of the table."""
        rows = ["| Requests | when | answers | median | 99 % | slowest |"]
        rows += ["|---|---|---|--:|--:|--:|"]
        for method, phase in sorted(self.took_s, key=lambda key: key[0]):
            took_ms = sorted(each * 1000 for each in self.took_s[method, phase])
            count = len(took_ms)
            codes = self.codes[method, phase].items()
            cells = [method, phase, ", ".join(f"{n:,} x {code}" for code, n in sorted(codes))]
            cells += [f"{took_ms[count * part // 100]:,.0f} ms" for part in (50, 99)]
            rows.append(f"| {' | '.join([*cells, f'{took_ms[-1]:,.0f} ms'])} |")
        return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.benchmarks.outage", description=__doc__
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="how long the store is away")
    away_s = parser.parse_args(arguments).seconds
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="frazil-outage-")))
        server, store = stack.enter_context(postgres()), stack.enter_context(Server())
        app = App(server, place, claims=store.url)
        stack.callback(app.close)
        until(app.ready, "the workers", patience_s=180)
        load = Load(app.url)
        stack.callback(load.stop)
        time.sleep(10)
        store.freeze()
        load.phase = "store away"
        time.sleep(away_s)
        store.thaw()
        load.phase = "after"
        time.sleep(10)
        load.stop()
        print("\n".join(load.rows()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
