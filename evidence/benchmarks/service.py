"""The service compared with its foundations, in one run: ``python -m evidence.benchmarks.service``.

The two sides of each comparison take turns in every round, so a noisy machine
disturbs both alike; the table shows the median of the rounds:

- ``GET /id``, by wrk, and an endpoint of plain uvicorn with an empty answer, on the same loop: the
  difference is frazil's. If wrk shares a processor with the server, its rate says less
  than the processor time that the server spends on a request, so both are shown. The same of a
  service with tokens, for a client that has one with a quota.
- ``GET /id`` with two workers and with one, and beside four clients that ask for a million IDs at
  a time.
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
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from statistics import median

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
_TOKEN = "frazil_benchmark"
_TOKENS = f"""
[[tokens]]
name = "client"
hash = "sha256:{sha256(_TOKEN.encode()).hexdigest()}"
namespaces = ["*"]
scopes = ["issue", "admin"]
ids_per_minute = 1_000_000_000_000
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
class _Load:
    """The results of wrk: answers, answers a second, ms within which 99 of 100 came, the bodies."""

    count: int
    rate: float
    p99_ms: float
    bodies: bytes


@dataclass(slots=True)
class _Server:
    """A server that is measured.

    token: the one that its clients send. ids: all that came, by namespace. unseen: how many more
    IDs were made for clients that do not show theirs. begun: at most how many were on their way
    when wrk stopped listening.
    """

    process: subprocess.Popen[str]
    port: int
    resp: int = 0
    token: str = ""
    ids: dict[str, list[np.ndarray]] = field(default_factory=lambda: {"ids": [], "many": []})
    unseen: int = 0
    begun: int = 0

    def cpu_s(self) -> float:
        """The processor time that it has used."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def one(self, folder: Path, *, lines: int = 8, every_s: float = 0.0) -> _Load:
        """``GET /id`` for a while."""
        path = "/v1/ids/id"
        load = _wrk(self.port, path, folder, lines=lines, every_s=every_s, token=self.token)
        self.ids["ids"].append(np.array(_ID.findall(load.bodies), dtype=np.uint64))
        self.begun += lines
        return load

    def many(self, folder: Path, *, lines: int, count: int) -> tuple[_Load, int]:
        """``POST /ids`` as bytes for a while. Returns the number of IDs, too."""
        path = f"/v1/many/ids?n={count}"
        load = _wrk(self.port, path, folder, lines=lines, post=True, token=self.token)
        ids = np.frombuffer(load.bodies, dtype=">u8").astype(np.uint64)
        self.ids["many"].append(ids)
        self.begun += lines * count
        return load, len(ids)

    def faults(self) -> list[str]:
        """The faults of the IDs that came, also against the service's counts."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        url = f"http://127.0.0.1:{self.port}/metrics"
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as reply:
            text = reply.read().decode()
        counted = re.findall(r"^frazil_issued_total\{.* (\S+)$", text, re.MULTILINE)
        came, found = self.unseen, []
        for name, parts in self.ids.items():
            ids = np.sort(np.concatenate(parts or [np.empty(0, np.uint64)]))
            came += len(ids)
            if (ids[1:] == ids[:-1]).any():
                found.append(f"{name}: an ID came twice")
        issued = int(sum(map(float, counted)))
        if not 0 <= issued - came <= self.begun:
            found.append(f"{came} IDs came and {issued} were counted")
        return found


def _wrk(
    port: int,
    path: str,
    folder: Path,
    *,
    lines: int = 8,
    every_s: float = 0.0,
    post: bool = False,
    token: str = "",
) -> _Load:
    """Send requests on several connections, each after a pause. Returns the answers."""
    kept = folder / "kept"
    command = ["wrk", "-t1", f"-c{lines}", f"-d{_SECONDS}s", "-s", str(_SCRIPT)]
    command += [f"http://127.0.0.1:{port}{path}", "--", str(kept), str(every_s * 1e3)]
    done = subprocess.run(
        [*command, "POST" if post else "GET", token], check=True, stdout=subprocess.PIPE, text=True
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


class _Run:
    """The servers, and their measurements. guarded: the service with tokens. wide: two workers."""

    def __init__(self, folder: Path, redis_port: int) -> None:
        self.folder = folder
        self.redis_port = redis_port
        self.results: dict[str, list[float]] = {}

    def note(self, name: str, value: float) -> None:
        """A result of this round."""
        self.results.setdefault(name, []).append(value)

    def round(self, service: _Server, guarded: _Server, wide: _Server, bare: _Server) -> None:
        """Measure everything once."""
        for name, server in (("id", service), ("token", guarded), ("nothing", bare)):
            before_s = server.cpu_s()
            load = server.one(self.folder)
            self.note(f"{name} cpu", (server.cpu_s() - before_s) / load.count)
            self.note(name, load.rate)
        rate = self.results["id"][-1]
        lines = 64
        calm = service.one(self.folder, lines=lines, every_s=2 * lines / rate)
        self.note("half", calm.rate / rate)
        self.note("p99", calm.p99_ms)
        for name, port in (("INCR", service.resp), ("INCR of redis-server", self.redis_port)):
            found, numbers = _compared(port, _COMMANDS)
            self.note(name, found)
            self.note(f"single {name}", _incr(port, _SINGLE, 1))
            if port == service.resp:
                service.ids["ids"].append(np.array(numbers, dtype=np.uint64))
                service.unseen += _COMMANDS + _SINGLE
        before_s = service.cpu_s()
        load, count = service.many(self.folder, lines=2, count=100_000)
        self.note("bytes", count / load.count * load.rate)
        self.note("bytes cpu", count / max(service.cpu_s() - before_s, 0.01))
        for lines in (16, 64):
            one, two = (each.one(self.folder, lines=lines) for each in (service, wide))
            self.note(f"wide {lines}", two.rate / one.rate)
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as other:
            bulk = other.submit(service.many, Path(folder), lines=4, count=1_000_000)
            self.note("beside", service.one(self.folder).rate / rate)
            bulk.result()


def _measure(rounds: int, folder: Path) -> tuple[_Run, list[_Server]]:
    """Run all rounds. Returns the results and the servers whose IDs are to be compared."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with contextlib.ExitStack() as stack:
        stack.enter_context(listener)
        redis = stack.enter_context(Server("redis"))

        def service(name: str, config: str, *options: str, token: str = "") -> _Server:
            file = folder / name
            file.write_text(config, encoding="utf-8")
            arguments = [_START, "serve", "--config", str(file), "--port", "0", "--resp", "0"]
            process = stack.enter_context(_process(*arguments, *options))
            assert process.stderr is not None
            told = [json.loads(process.stderr.readline()) for _ in range(2)]
            port = int(told[0]["url"].rpartition(":")[2])
            return _Server(process, port, int(told[1]["port"]), token)

        ours = service("plain", _CONFIG)
        guarded = service("guarded", _CONFIG + _TOKENS, token=_TOKEN)
        wide = service("wide", _CONFIG.replace("memory:", redis.url), "--workers", "2")
        fd = listener.fileno()
        nothing = stack.enter_context(_process(_EMPTY, str(fd), fds=(fd,)))
        bare = _Server(nothing, listener.getsockname()[1])
        run = _Run(folder, redis.port)
        for server in (ours, guarded, wide, bare):
            server.one(folder)
        for _ in range(rounds):
            run.round(ours, guarded, wide, bare)
        faults = [*ours.faults(), *guarded.faults(), *wide.faults()]
        if faults:
            sys.exit("\n".join(faults))
        return run, [ours, guarded, wide]


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
        run, servers = _measure(rounds, Path(folder))
    shown = setting("python -m evidence.benchmarks.service", "-", rounds, "memory:")
    print("\n".join(f"{name}: {value}" for name, value in shown.items()), end="\n\n")
    print(_table({name: np.array(values) for name, values in run.results.items()}))
    compared = sum(len(ids) for each in servers for parts in each.ids.values() for ids in parts)
    print(f"\n{compared} IDs were compared.")


def _table(found: Mapping[str, np.ndarray]) -> str:
    rows = [
        ("GET /id, as a share of an empty endpoint's rate", found["id"] / found["nothing"], 0.85),
        ("the same by processor time", found["nothing cpu"] / found["id cpu"], 0.85),
        ("GET /id with a token and a quota, by rate", found["token"] / found["nothing"], 0.8),
        ("the same by processor time", found["nothing cpu"] / found["token cpu"], 0.8),
        ("two workers over one, 16 connections", found["wide 16"], None),
        ("two workers over one, 64 connections", found["wide 64"], None),
        ("GET /id beside four clients of many, over without", found["beside"], 0.33),
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
