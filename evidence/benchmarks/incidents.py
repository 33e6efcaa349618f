"""What an operator sees of an incident, minute by minute.

Command: ``python -m evidence.benchmarks.incidents FAULT``.

Two web programs run (``incident_web``), one with threads under gunicorn and one with tasks under
uvicorn, on a real Redis; with ``--service`` also ``frazil serve``. Clients ask each of them for 20
IDs a second. The fault comes after a minute (``--before``), lasts ``--minutes``, and is watched for
two minutes after its end. Each second the readiness probe and ``status()`` are asked. A Prometheus
server, if there is one on PATH, scrapes all programs and evaluates ``deploy/alerts.yml``; which
alerts fire is asked of it each second. All IDs are compared at the end.

    store       Redis is stopped, and comes back empty
    host-clock  the clocks of both programs step forward by a minute, and back
    store-clock the clock of Redis steps forward by a minute, and back
    numbers     two more programs start, as in an update, and there are two node numbers
    each        each request opens a generator of its own
    counter     the IDs are counted one by one in the store
    exhausted   the time field of the layout is full in a year

Prints a table in Markdown. The exit code is 1 if an ID repeats.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import frazil
from tests.servers.clock import SteppedClock
from tests.servers.redis import Server, free_port
from tests.tools.waiting import until

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[2]
_FAULTS = ("store", "host-clock", "store-clock", "numbers", "each", "counter", "exhausted")
_EPOCH = datetime.now(UTC) + timedelta(days=365, milliseconds=-(2**40))
_SCHEMES = {
    "numbers": "sign:1=0 time:41 node:1 sequence:12 @1ms since 2025-01-01",
    "counter": "tickets",
    "exhausted": f"sign:1=0 time:40 node:10 sequence:13 @1ms since {_EPOCH:%Y-%m-%d}",
}
_SERVED = {"claim_left_s": "seconds_left", "trouble_s": "store_away_s"}  # as a status calls them
_CLIENTS = 4
_PAUSE_S = 0.2
_STEP_S = 60.0


@dataclass
class Seen:
    """What was seen of a program in one minute."""

    answers: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    ready: list[bool] = field(default_factory=list)
    left_s: list[float] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=dict)
    alerts: set[str] = field(default_factory=set)
    first: dict[str, float] = field(default_factory=dict)


class Program:
    """One web program: its process, its clients and what is seen of it."""

    def __init__(self, name: str, kind: str, place: Path, began: float) -> None:
        self.name, self.kind, self.port = name, kind, free_port()
        self.log = place / f"{name}.json"
        self.began = began
        self.minutes: dict[int, Seen] = defaultdict(Seen)
        self.ids: list[int] = []
        self._ended = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._threads: list[threading.Thread] = []

    @property
    def now(self) -> Seen:
        """What is seen in this minute."""
        return self.minutes[int((time.time() - self.began) // 60)]

    def start(self, env: dict[str, str]) -> None:
        """Start the program and its clients."""
        factory = f"evidence.benchmarks.incident_web:{self.kind}"
        where = ["-b", f"127.0.0.1:{self.port}"]
        command = ["gunicorn", "--threads", "16", *where, f"{factory}()"]
        if self.kind == "tasks":
            command = ["uvicorn", "--factory", factory, "--port", str(self.port)]
        if self.kind == "service":
            config = self.log.with_suffix(".toml")
            values = {"registry": env["FRAZIL_URL"], "scheme": env["SCHEME"], "timeout": "2s"}
            lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
            if "BLOCK" in env:
                lines.append(f"block = {env['BLOCK']}")
            config.write_text("\n".join(["[namespaces.orders]", *lines]))
            command = ["frazil", "serve", "--config", str(config), "--port", str(self.port)]
            self.log = self.log.with_suffix(".out")
        with self.log.with_suffix(".out").open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=ROOT,
                env={**os.environ, **env, "LOG": str(self.log)},
                stdout=out,
                stderr=out,
            )
        until(lambda: self.get("/metrics")[0] == 200, f"{self.name} to answer")
        jobs = [self._client] * _CLIENTS + [self._probe]
        self._threads = [threading.Thread(target=job, daemon=True) for job in jobs]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop the clients, then the program, as a balancer and a rollout do."""
        self._ended.set()
        for thread in self._threads:
            thread.join()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)

    def get(self, path: str) -> tuple[int, bytes]:
        """The status and the body of an answer."""
        try:
            with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=15) as answer:
                return answer.status, answer.read()
        except HTTPError as error:
            with error:
                return error.code, error.read()
        except OSError:
            return 0, b""

    def _client(self) -> None:
        link = HTTPConnection("127.0.0.1", self.port, timeout=15)
        while not self._ended.wait(_PAUSE_S):
            asked = time.monotonic()
            try:
                served = self.kind == "service"
                link.request("POST", "/v1/orders/ids?n=1" if served else "/orders")
                answer = link.getresponse()
                body = answer.read()
                code = str(answer.status)
                if answer.status == 200:
                    self.ids.append(int(json.loads(body)["ids"][0] if served else body))
            except OSError:
                link.close()
                code = "cut"
            seen = self.now
            seen.answers[code] += 1
            seen.slowest_s = max(seen.slowest_s, time.monotonic() - asked)

    def _probe(self) -> None:
        while not self._ended.wait(1):
            code, why = self.get("/readyz")
            seen = self.now
            seen.ready.append(code == 200)
            if code != 200:
                said = re.sub(r"\b[\d.]+ s\b", "… s", why.decode().strip())
                self._mark(seen, f"red: {said}")
            status = self.get("/v1/orders/status" if self.kind == "service" else "/status")[1]
            if status:
                told = json.loads(status)
                seen.status = {_SERVED.get(name, name): value for name, value in told.items()}
                if seen.status["seconds_left"] is not None:
                    seen.left_s.append(seen.status["seconds_left"])

    def fire(self, alert: str) -> None:
        """An alert fires now."""
        seen = self.now
        seen.alerts.add(alert)
        self._mark(seen, alert)

    def _mark(self, seen: Seen, what: str) -> None:
        seen.first.setdefault(what, time.time() - self.began)

    def events(self) -> dict[int, list[str]]:
        """The records at INFO and above, by minute."""
        found: dict[int, list[str]] = defaultdict(list)
        text = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        for line in text.splitlines():
            record = json.loads(line)
            at_s = record["time"]
            if self.kind == "service":
                at_s = datetime.fromisoformat(at_s).timestamp()
            event = record.get("frazil_event") or record["event"].partition(":")[0]
            found[int((at_s - self.began) // 60)].append(f"{record['level'].upper()} {event}")
        return found


@contextmanager
def prometheus(programs: Sequence[Program], place: Path) -> Iterator[None]:
    """Scrape the programs and evaluate the alerts, if a Prometheus server is on PATH."""
    program = shutil.which("prometheus")
    if program is None:
        print("no prometheus on PATH: no alerts", file=sys.stderr)
        yield
        return
    jobs = [
        {"job_name": one.name, "static_configs": [{"targets": [f"127.0.0.1:{one.port}"]}]}
        for one in programs
    ]
    config = {
        "global": {"scrape_interval": "5s", "evaluation_interval": "5s"},
        "rule_files": [str(ROOT / "deploy" / "alerts.yml")],
        "scrape_configs": jobs,
    }
    (place / "prometheus.yml").write_text(json.dumps(config))
    port = free_port()
    options = [f"--config.file={place}/prometheus.yml", f"--storage.tsdb.path={place}/tsdb"]
    with (place / "prometheus.out").open("wb") as out:
        server = subprocess.Popen(
            [program, *options, f"--web.listen-address=127.0.0.1:{port}"], stdout=out, stderr=out
        )
    ended = threading.Event()
    by_name = {one.name: one for one in programs}

    def ask() -> None:
        while not ended.wait(1):
            try:
                with urlopen(f"http://127.0.0.1:{port}/api/v1/alerts", timeout=5) as answer:
                    alerts = json.load(answer)["data"]["alerts"]
            except OSError:
                continue
            for alert in alerts:
                if alert["state"] == "firing":
                    labels = alert["labels"]
                    by_name[labels["job"]].fire(labels["alertname"].removeprefix("Frazil"))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    try:
        yield
    finally:
        ended.set()
        asking.join()
        server.terminate()
        server.wait(30)


def _row(program: Program, minute: int, events: list[str]) -> str:
    seen = program.minutes[minute]
    answers = ", ".join(f"{count} x {code}" for code, count in sorted(seen.answers.items()))
    green = sum(seen.ready)
    probe = "green" if green == len(seen.ready) else f"red {len(seen.ready) - green} s"
    status = seen.status
    facts = [f"left {min(seen.left_s):.1f} to {max(seen.left_s):.1f} s"] if seen.left_s else []
    if status.get("store_away_s"):
        facts.append(f"away {status['store_away_s']:.0f} s")
    facts += ["blocked"] * bool(status.get("blocked"))
    if abs(status.get("clock_offset_s") or 0) > 1:
        facts.append(f"offset {status['clock_offset_s']:.0f} s")
    if (status.get("lead_s") or 0) > 1:
        facts.append(f"lead {status['lead_s']:.0f} s")
    facts += [f"{name} {status[name]}" for name in ("waits", "failures") if status.get(name)]
    logs = ", ".join(f"{n} x {event}" if n > 1 else event for event, n in Counter(events).items())
    cells = [str(minute), answers, f"{seen.slowest_s:.2f} s", probe, ", ".join(facts)]
    return f"| {' | '.join([*cells, ', '.join(sorted(seen.alerts)), logs])} |"


def show(programs: Sequence[Program]) -> bool:
    """Print the tables. Whether all IDs differ."""
    heads = ["minute", "clients", "slowest", "probe", "`status()`", "alerts", "log"]
    for program in programs:
        print(f"\n### {program.name}\n\n| {' | '.join(heads)} |\n|{'--:|' + '---|' * 6}")
        events = program.events()
        for minute in sorted(program.minutes):
            print(_row(program, minute, events[minute]))
        firsts: dict[str, float] = {}
        for minute in sorted(program.minutes):
            for what, at_s in program.minutes[minute].first.items():
                firsts.setdefault(what, at_s)
        print()
        for what, at_s in firsts.items():
            print(f"- {at_s:.0f} s: {what}")
    numbers = [number for program in programs for number in program.ids]
    repeats = len(numbers) - len(set(numbers))
    print(f"\n{len(numbers):,} IDs, {repeats} repeats")
    return not repeats


def _fault(name: str, server: Server, clock: SteppedClock, late: Callable[[], None]) -> Any:
    """Begin a fault. Returns what ends it."""
    match name:
        case "store":
            server.kill()
            return server.start
        case "host-clock":
            clock.step(_STEP_S)
            return lambda: clock.step(0)
        case "store-clock":
            server.step_clock(_STEP_S)
            return lambda: server.step_clock(0)
        case "numbers":
            late()
    return lambda: None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a fault and print what was seen."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.benchmarks.incidents", description=__doc__
    )
    parser.add_argument("fault", choices=_FAULTS)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long the fault lasts")
    parser.add_argument("--before", type=float, default=1.0, help="minutes without the fault")
    parser.add_argument("--service", action="store_true", help="run frazil serve as well")
    parser.add_argument("--horizon", default="", help="of the claims, like 20min; default 5s")
    given = parser.parse_args(arguments)
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="frazil-incident-")))
        server = stack.enter_context(Server(faked=given.fault == "store-clock"))
        clock = SteppedClock(place)
        scheme = _SCHEMES.get(given.fault, "icicle")
        url = server.url + (f"?horizon={given.horizon}" if given.horizon else "")
        frazil.init(url, namespace="orders", scheme=scheme, new=True)
        env = {"FRAZIL_URL": url, "SCHEME": scheme}
        env |= clock.env if given.fault == "host-clock" else {}
        env |= {"EACH": "1"} if given.fault == "each" else {}
        env |= {"BLOCK": "1"} if given.fault == "counter" else {}
        began = time.time()
        kinds = ("threads", "tasks", *["service"] * given.service)
        first = [Program(kind, kind, place, began) for kind in kinds]
        later = [Program(f"new {one.name}", one.kind, place, began) for one in first]
        later = later if given.fault == "numbers" else []
        programs = [*first, *later]
        for program in first:
            stack.callback(program.stop)
            program.start(env)
        stack.enter_context(prometheus(programs, place))
        time.sleep(given.before * 60)

        def update() -> None:
            for program in later:
                stack.callback(program.stop)
                program.start(env)

        end = _fault(given.fault, server, clock, update)
        time.sleep(given.minutes * 60)
        end()
        if later:
            for program in first:
                program.stop()
        time.sleep(120)
        for program in programs:
            program.stop()
        return 0 if show(programs) else 1


if __name__ == "__main__":
    sys.exit(main())
