"""The service beside what it stands on, in ratios of one run: ``python -m benchmarks.service``.

Three questions, each answered by two that take turns in every round, so that a noisy machine
disturbs both alike; the median of the rounds is shown:

- ``GET /id`` beside an endpoint that answers nothing, on the same server and with the same limits:
  how much of a request is ours? A client in Python is slower than either, so what is compared is
  the processor time that the server spends for a request.
- ``INCR``, pipelined by redis-benchmark, beside a real Valkey.
- ``POST /ids?n=100000`` as bytes, in IDs a second, for a layout whose ticks hold that many.

Besides, the time that 99 of 100 callers wait at half the load. Exits with 1 if an ID repeats.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

import numpy as np
import uvicorn

from benchmarks.report import setting
from frazil.service.patience import patient
from tests.servers.redis import Server

__all__ = ["empty", "main"]

_START = "from frazil.cli import main; main(prog_name='frazil')"
_EMPTY = "from benchmarks.service import empty; empty()"
_CONFIG = """
[namespaces.ids]
registry = "memory:"
lead = "900ms"
[namespaces.many]
scheme = "time:42 node:2 sequence:20 @1ms since 2024-01-01T00:00:00Z"
registry = "memory:"
lead = "900ms"
"""
_REQUEST = b"GET /v1/ids/id HTTP/1.1\r\nHost: localhost\r\n\r\n"
_LINES = 8  # connections
_ID = re.compile(rb'"id": "(\d+)"')


async def _nothing(scope: object, receive: object, send: uvicorn._types.ASGISendCallable) -> None:
    del scope, receive
    head = [(b"content-type", b"text/plain"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def empty() -> None:
    """Serve nothing, as the service serves: the other side of the first ratio."""
    config = uvicorn.Config(
        _nothing,
        http=patient(10.0),
        ws="none",
        lifespan="off",
        log_level="critical",
        server_header=False,
        fd=int(sys.argv[1]),
        limit_concurrency=1000,
        timeout_keep_alive=30,
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


def _cpu_s(process: subprocess.Popen[str]) -> float:
    """Processor time that a process has used."""
    fields = (
        Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    )
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _caller(port: int, count: int, every_s: float, found: list[int]) -> list[float]:
    """Ask so many times on one connection; the seconds that each answer took."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    took, due = [], time.perf_counter()
    for _ in range(count):
        due += every_s
        await asyncio.sleep(max(due - time.perf_counter(), 0) if every_s else 0)
        began = time.perf_counter()
        writer.write(_REQUEST)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length
        assert b" 200 " in head
        body = await reader.readexactly(int(length[1]))
        took.append(time.perf_counter() - began)
        if body:
            found.extend(int(text) for text in _ID.findall(body))
    writer.close()
    await writer.wait_closed()
    return took


def _load(port: int, count: int, every_s: float = 0.0) -> tuple[list[int], list[float], float]:
    """All callers at once: the IDs, how long each took, and requests a second."""
    ids: list[int] = []

    async def together() -> list[list[float]]:
        return await asyncio.gather(
            *(_caller(port, count // _LINES, every_s, ids) for _ in range(_LINES))
        )

    began = time.perf_counter()
    took = [one for each in asyncio.run(together()) for one in each]
    return ids, took, count / (time.perf_counter() - began)


def _incr(port: int, count: int) -> float:
    """INCR a second, by redis-benchmark."""
    command = ["redis-benchmark", "-p", str(port), "-P", "64", "-c", "8", "-n", str(count), "--csv"]
    done = subprocess.run(
        [*command, "INCR", "ids"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    return float(done.stdout.decode().splitlines()[-1].split(",")[1].strip('"'))


def _pipelined(port: int, count: int) -> list[int]:
    """The IDs of as many INCR, which redis-benchmark does not show."""

    async def all_of_them() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"INCR ids\r\n" * count + b"QUIT\r\n")
        answer = await reader.read(-1)
        writer.close()
        return answer

    return [int(one) for one in re.findall(rb":(\d+)\r\n", asyncio.run(all_of_them()))]


def _packed(port: int, batches: int) -> tuple[list[np.ndarray], float]:
    """Batches of 100,000 IDs as bytes, and IDs a second."""
    wire = http.client.HTTPConnection("127.0.0.1", port)
    accept = {"Accept": "application/octet-stream"}
    bodies, began = [], time.perf_counter()
    for _ in range(batches):
        wire.request("POST", "/v1/many/ids?n=100000", headers=accept)
        bodies.append(wire.getresponse().read())
    rate = batches * 100_000 / (time.perf_counter() - began)
    wire.close()
    return [np.frombuffer(body, dtype=">u8") for body in bodies], rate


def _measure(rounds: int, config: Path, results: dict[str, list[float]]) -> bool:
    """All rounds; whether every ID was another one."""
    import socket

    ids: list[int] = []
    words: list[np.ndarray] = []
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    bare_port = listener.getsockname()[1]
    arguments = [_START, "serve", "--config", str(config), "--port", "0", "--resp", "0"]
    with (
        listener,
        Server() as valkey,
        _process(*arguments) as service,
        _process(_EMPTY, str(listener.fileno()), fds=(listener.fileno(),)) as bare,
    ):
        assert service.stderr is not None
        port = int(json.loads(service.stderr.readline())["url"].rpartition(":")[2])
        resp = int(json.loads(service.stderr.readline())["port"])
        for at in (port, bare_port):
            ids += _load(at, 800)[0]
        words += _packed(port, 2)[0]
        for _ in range(rounds):
            rates = []
            for at, process in ((port, service), (bare_port, bare)):
                before_s = _cpu_s(process)
                found, _, rate = _load(at, 4_000)
                ids += found
                results.setdefault("cpu" if at == port else "cpu of nothing", []).append(
                    _cpu_s(process) - before_s
                )
                rates.append(rate)
            found, late, _ = _load(port, 2_000, 2 * _LINES / rates[0])
            ids += found
            results.setdefault("p99 ms", []).append(quantiles(late, n=100)[98] * 1e3)
            results.setdefault("INCR", []).append(_incr(resp, 200_000))
            results.setdefault("INCR of Valkey", []).append(_incr(valkey.port, 200_000))
            ids += _pipelined(resp, 20_000)
            before_s = _cpu_s(service)
            more, rate = _packed(port, 50)
            words += more
            results.setdefault("IDs as bytes", []).append(rate)
            results.setdefault("the same by processor", []).append(
                50 * 100_000 / max(_cpu_s(service) - before_s, 0.01)
            )
    packed = np.concatenate(words)
    return len(ids) == len(set(ids)) and len(np.unique(packed)) == len(packed)


def main() -> None:
    """Print the table."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    results: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "frazil.toml"
        config.write_text(_CONFIG, encoding="utf-8")
        unique = _measure(rounds, config, results)
    ours, nothing = results["cpu"], results["cpu of nothing"]
    door, valkey = results["INCR"], results["INCR of Valkey"]
    shown = setting("python -m benchmarks.service", "-", rounds, "memory:")
    print("\n".join(f"{name}: {value}" for name, value in shown.items()), end="\n\n")
    print("| | median | of the rounds |")
    print("|---|---|---|")
    for name, values, form in (
        ("GET /id, as a part of an empty endpoint's rate", np.divide(nothing, ours), "{:.2f}"),
        ("pipelined INCR, as a part of Valkey's", np.divide(door, valkey), "{:.2f}"),
        ("POST /ids?n=100000 as bytes, million IDs a second", results["IDs as bytes"], "{:.1f}"),
        (
            "the same by the server's processor time, million",
            results["the same by processor"],
            "{:.1f}",
        ),
        ("GET /id at half load, 99 of 100 within ms", results["p99 ms"], "{:.2f}"),
    ):
        scale = 1e6 if "million" in name else 1
        shown = [form.format(value / scale) for value in values]
        print(f"| {name} | {form.format(median(values) / scale)} | {' '.join(shown)} |")
    if not unique:
        sys.exit("an ID came twice")


if __name__ == "__main__":
    main()
