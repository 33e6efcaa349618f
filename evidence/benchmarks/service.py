"""The service compared with its foundations, in one run: ``python -m evidence.benchmarks.service``.

There are three comparisons. The two sides of each take turns in every round, so a noisy machine
disturbs both alike; the table shows the median of the rounds:

- ``GET /id``, by wrk, and an endpoint of plain uvicorn with an empty answer, on the same loop: the
  difference is frazil's. If wrk shares a processor with the server, its rate says less
  than the processor time that the server spends on a request, so both are shown.
- ``INCR`` by redis-benchmark, one by one and 64 at a time, and redis-server.
- ``POST /ids?n=100000`` as bytes, by wrk, in IDs a second, for a layout whose ticks hold that many.

The table also shows the time that 99 of 100 callers wait at half the load.

wrk keeps every body. redis-benchmark does not show its answers, so another client pipelines at the
same time and keeps its own. The exit code is 1 if an ID repeats, if an answer is an error, or if
the service counted another number of IDs than came.
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import uvicorn

from evidence.benchmarks.report import setting
from tests.servers.redis import Server

__all__ = ["empty", "main"]

_START = "from frazil.cli import main; main(prog_name='frazil')"
_EMPTY = "from evidence.benchmarks.service import empty; empty()"
_CONFIG = """
[namespaces.ids]
registry = "memory:"
lead = "900ms"
[namespaces.many]
scheme = "time:42 node:2 sequence:20 @1ms since 2024-01-01T00:00:00Z"
registry = "memory:"
lead = "900ms"
"""
_SCRIPT = Path(__file__).with_name("load.lua")
_SECONDS = 2  # that wrk asks at a time
_COMMANDS = 1_000_000  # of redis-benchmark at a time
_SINGLE = 50_000  # without a pipeline
_DEEP = 64
_ID = re.compile(rb'"id": ?"(\d+)"')


async def _nothing(scope: object, receive: object, send: uvicorn._types.ASGISendCallable) -> None:
    del scope, receive
    head = [(b"content-type", b"text/plain"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def empty() -> None:
    """Serve empty answers: the other side of the first comparison."""
    config = uvicorn.Config(
        _nothing,
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="critical",
        server_header=False,
        fd=int(sys.argv[1]),
    )
    uvicorn.Server(config).run()


@contextlib.contextmanager
def _process(*arguments: str, fds: tuple[int, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", *arguments], stderr=subprocess.PIPE, text=True, pass_fds=fds
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


@dataclass(frozen=True, slots=True)
class _Server:
    """A server that is measured."""

    process: subprocess.Popen[str]
    port: int

    def cpu_s(self) -> float:
        """The processor time that it has used."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class _Load:
    """The results of wrk: answers, answers a second, ms within which 99 of 100 came, the bodies."""

    count: int
    rate: float
    p99_ms: float
    bodies: bytes


def _wrk(
    port: int, path: str, folder: Path, *, lines: int = 8, every_s: float = 0.0, post: bool = False
) -> _Load:
    """Send requests on several connections, each after a pause. Returns the answers."""
    kept = folder / "kept"
    command = ["wrk", "-t1", f"-c{lines}", f"-d{_SECONDS}s", "-s", str(_SCRIPT)]
    command += [f"http://127.0.0.1:{port}{path}", "--", str(kept), str(every_s * 1e3)]
    done = subprocess.run(
        [*command, "POST" if post else "GET"], check=True, stdout=subprocess.PIPE, text=True
    )
    told = json.loads(done.stdout.splitlines()[-1])
    if told["errors"]:
        sys.exit(f"{path}: {told['errors']} answers were errors:\n{done.stdout}")
    rate = told["requests"] / told["us"] * 1e6
    return _Load(told["requests"], rate, told["p99_us"] / 1e3, kept.read_bytes())


def _incr(port: int, count: int, deep: int) -> float:
    """INCR a second, by redis-benchmark."""
    options = {"-p": port, "-P": deep, "-c": 8, "-n": count}
    command = ["redis-benchmark", *(str(each) for pair in options.items() for each in pair)]
    done = subprocess.run(
        [*command, "--csv", "INCR", "ids"],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    return float(done.stdout.decode().splitlines()[-1].split(",")[1].strip('"'))


def _pipelined(port: int, count: int) -> list[int]:
    """The IDs of some INCR, since redis-benchmark does not show its own."""

    async def all_of_them() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"*2\r\n$4\r\nINCR\r\n$3\r\nids\r\n" * count + b"*1\r\n$4\r\nQUIT\r\n")
        answer = await reader.read(-1)
        writer.close()
        return answer

    return [int(one) for one in re.findall(rb"\n(\d{19})\r", asyncio.run(all_of_them()))]


def _compared(port: int, count: int) -> tuple[float, list[int]]:
    """INCR a second by redis-benchmark, and the numbers that another client got meanwhile."""
    with ThreadPoolExecutor(1) as other:
        numbers = other.submit(_pipelined, port, count // 10)
        return _incr(port, count, _DEEP), numbers.result()


def _issued(port: int) -> dict[str, int]:
    """How many IDs each namespace issued, as the service counted them."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
        text = reply.read().decode()
    found = re.findall(r'^frazil_issued_total\{namespace="(\w+)".* (\S+)$', text, re.MULTILINE)
    return {name: int(float(count)) for name, count in found}


class _Run:
    """The two servers and redis-server, their measurements, and every ID that came."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results: dict[str, list[float]] = {}
        self.ids: list[np.ndarray] = []
        self.words: list[np.ndarray] = []
        self.unseen = 0
        self.begun = 0  # connections on which wrk stopped listening

    def note(self, name: str, value: float) -> None:
        """A result of this round."""
        self.results.setdefault(name, []).append(value)

    def one(self, port: int, **options: Any) -> _Load:
        """``GET /id`` for a while."""
        load = _wrk(port, "/v1/ids/id", self.folder, **options)
        self.ids.append(np.array(_ID.findall(load.bodies), dtype=np.uint64))
        self.begun += options.get("lines", 8)
        return load

    def round(self, service: _Server, bare: _Server, resp: int, redis: int) -> None:
        """Measure everything once."""
        rates = {}
        for name, server in (("id", service), ("nothing", bare)):
            before_s = server.cpu_s()
            load = self.one(server.port)
            self.note(f"{name} cpu", (server.cpu_s() - before_s) / load.count)
            self.note(name, load.rate)
            rates[name] = load.rate
        lines = 64
        calm = self.one(service.port, lines=lines, every_s=2 * lines / rates["id"])
        self.note("half", calm.rate / rates["id"])
        self.note("p99", calm.p99_ms)
        for name, port in (("INCR", resp), ("INCR of redis-server", redis)):
            rate, numbers = _compared(port, _COMMANDS)
            self.note(name, rate)
            self.note(f"single {name}", _incr(port, _SINGLE, 1))
            if port == resp:
                self.ids.append(np.array(numbers, dtype=np.uint64))
                self.unseen += _COMMANDS + _SINGLE
        before_s = service.cpu_s()
        many = _wrk(service.port, "/v1/many/ids?n=100000", self.folder, lines=2, post=True)
        self.words.append(np.frombuffer(many.bodies, dtype=">u8").astype(np.uint64))
        self.note("bytes", len(self.words[-1]) / many.count * many.rate)
        self.note("bytes cpu", len(self.words[-1]) / max(service.cpu_s() - before_s, 0.01))

    def faults(self, issued: Mapping[str, int]) -> list[str]:
        """The faults of the IDs that came, also against the service's counts."""
        found = []
        for name, parts, unseen, begun in (
            ("ids", self.ids, self.unseen, self.begun),
            ("many", self.words, 0, 2 * 100_000 * len(self.words)),
        ):
            ids = np.sort(np.concatenate(parts))
            if (ids[1:] == ids[:-1]).any():
                found.append(f"{name}: an ID came twice")
            missing = issued[name] - unseen - len(ids)
            if not 0 <= missing <= begun:
                found.append(f"{name}: {len(ids)} came and {issued[name]} were counted")
        return found


def _measure(rounds: int, config: Path, run: _Run) -> list[str]:
    """Run all rounds. Returns the faults of the IDs."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    arguments = [_START, "serve", "--config", str(config), "--port", "0", "--resp", "0"]
    with (
        listener,
        Server("redis") as redis,
        _process(*arguments) as ours,
        _process(_EMPTY, str(listener.fileno()), fds=(listener.fileno(),)) as nothing,
    ):
        assert ours.stderr is not None
        port = int(json.loads(ours.stderr.readline())["url"].rpartition(":")[2])
        resp = int(json.loads(ours.stderr.readline())["port"])
        service = _Server(ours, port)
        bare = _Server(nothing, listener.getsockname()[1])
        for server in (service, bare):
            run.one(server.port)
        for _ in range(rounds):
            run.round(service, bare, resp, redis.port)
        return run.faults(_issued(port))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    for command in ("wrk", "redis-benchmark", "redis-server"):
        if shutil.which(command) is None:
            sys.exit(
                f"{command} is missing: install Debian's packages wrk, redis-tools and redis-server"
            )
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "frazil.toml"
        config.write_text(_CONFIG, encoding="utf-8")
        run = _Run(Path(folder))
        faults = _measure(rounds, config, run)
    shown = setting("python -m evidence.benchmarks.service", "-", rounds, "memory:")
    print("\n".join(f"{name}: {value}" for name, value in shown.items()), end="\n\n")
    print(_table({name: np.array(values) for name, values in run.results.items()}))
    print(f"\n{sum(map(len, run.ids)) + sum(map(len, run.words))} IDs were compared.")
    if faults:
        sys.exit("\n".join(faults))


def _table(found: Mapping[str, np.ndarray]) -> str:
    rows = [
        ("GET /id, as a share of an empty endpoint's rate", found["id"] / found["nothing"], 0.85),
        ("the same by processor time", found["nothing cpu"] / found["id cpu"], 0.85),
        (
            "INCR, as a share of redis-server's",
            found["single INCR"] / found["single INCR of redis-server"],
            0.75,
        ),
        ("the same 64 at a time", found["INCR"] / found["INCR of redis-server"], 0.85),
        ("POST /ids?n=100000 as bytes, million IDs a second", found["bytes"] / 1e6, 20),
        ("the same by the server's processor time", found["bytes cpu"] / 1e6, None),
        ("GET /id at half load, 99 of 100 within ms", found["p99"], None),
        ("that load, as a share of the whole", found["half"], None),
    ]
    lines = ["| | median | aim | of the rounds |", "|---|---|---|---|"]
    for name, values, aim in rows:
        each = " ".join(f"{value:.2f}" for value in values)
        lines.append(f"| {name} | {median(values):.2f} | {aim or ''} | {each} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
