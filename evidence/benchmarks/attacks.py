"""The service under attack, beside a client of good manners.

Command: ``python -m evidence.benchmarks.attacks``.

Each attack is a process of its own and lasts ``--seconds``. Meanwhile another client asks for an ID
a hundred times a second, every tenth time on a new connection. ``--python`` starts the service of
another environment. Prints a table in Markdown: the time within which 99 of 100 of that client's
IDs came, without the attack and during it; what failed; the service's memory before, at most, and a
minute later at the latest; and what it wrote to its log. The exit code is 1 if an ID repeats.
"""

import argparse
import contextlib
import json
import multiprocessing
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from evidence.benchmarks.report import setting
from tests.tools.waiting import until

__all__ = ["main"]

_TOKEN = "frazil_attack"
_CONFIG = f"""
[namespaces.ids]
registry = "memory:"
lead = "900ms"
[[tokens]]
name = "attacker"
hash = "sha256:{sha256(_TOKEN.encode()).hexdigest()}"
namespaces = ["*"]
scopes = ["issue"]
"""
_START = "from frazil.cli import main; main(prog_name='frazil')"
_HOST = b" HTTP/1.1\r\nHost: localhost\r\n"
_BEARER = _HOST + f"Authorization: Bearer {_TOKEN}\r\n".encode()
_ASKING = b"GET /v1/ids/id" + _BEARER + b"\r\n"
_PAUSE_S = 0.01
_QUIET_S = 10.0


def _dialled(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 20)


def _flood(port: int, data: bytes) -> None:
    """Send as fast as the service takes it, and read what comes."""
    with _dialled(port) as wire:
        threading.Thread(target=_read_all, args=(wire,), daemon=True).start()
        while True:
            wire.sendall(data)


def _read_all(wire: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while wire.recv(1 << 20):
            pass


def pipelined(http: int, _resp: int) -> None:
    """S1: one connection without a token pipelines GET /livez."""
    _flood(http, (b"GET /livez" + _HOST + b"\r\n") * 2_000)


def tiny_commands(_http: int, resp: int) -> None:
    """S2: one Redis connection without a token sends PING after PING."""
    _flood(resp, b"PING\r\n" * 10_000)


def idle_connections(http: int, _resp: int) -> None:
    """S4: 2,000 idle connections, each opened again when it is closed."""
    wires: list[socket.socket] = []
    while True:
        for wire in wires[:]:
            with contextlib.suppress(BlockingIOError):
                if not wire.recv(1000, socket.MSG_DONTWAIT):
                    wires.remove(wire)
        while len(wires) < 2_000:
            wires.append(_dialled(http))
        time.sleep(0.1)


def unread_replies(http: int, _resp: int) -> None:
    """S5: 300 connections of one token each ask for a million IDs, and read nothing."""
    wires: list[socket.socket] = []
    for _ in range(300):
        wires.append(_dialled(http))
        wires[-1].sendall(b"POST /v1/ids/ids?n=1000000" + _BEARER + b"\r\n")
    time.sleep(3600)


def malformed(http: int, _resp: int) -> None:
    """S7: malformed requests, each on a new connection."""
    while True:
        with _dialled(http) as wire:
            wire.sendall(b"\0 nonsense\r\n\r\n")
            wire.recv(1000)


_ATTACKS = (pipelined, tiny_commands, idle_connections, unread_replies, malformed)


@dataclass
class _Polite:
    """A client that asks for an ID now and then. took_s: by phase."""

    port: int
    phase: str = "quiet"
    took_s: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    ids: list[int] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Ask until it is over."""
        wire, number = _dialled(self.port), 0
        while not self.over.wait(_PAUSE_S):
            phase, began_s = self.phase, time.perf_counter()
            number += 1
            try:
                if number % 10 == 0:
                    wire.close()
                    wire = _dialled(self.port)
                self._ask(wire)
            except (OSError, ValueError, KeyError):
                self.failures[phase] = self.failures.get(phase, 0) + 1
                wire.close()
                with contextlib.suppress(OSError):
                    wire = _dialled(self.port)
            self.took_s.setdefault(phase, []).append(time.perf_counter() - began_s)
        wire.close()

    def _ask(self, wire: socket.socket) -> None:
        wire.sendall(_ASKING)
        head, _, body = wire.recv(10_000).partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise ValueError(head)
        self.ids.append(int(json.loads(body)["id"]))

    def p99_ms(self, phase: str) -> float:
        """Within how long 99 of 100 answers of a phase came."""
        took_s = sorted(self.took_s[phase])
        return took_s[len(took_s) * 99 // 100] * 1e3


@contextlib.contextmanager
def _service(python: str, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int, int, Path]]:
    """The service with its ports and its log."""
    config, log = folder / "frazil.toml", folder / "log"
    config.write_text(_CONFIG, encoding="utf-8")
    with log.open("wb") as out:
        process = subprocess.Popen(
            [python, "-c", _START, "serve", "--config", config, "--port", "0", "--resp", "0"],
            stdout=out,
            stderr=out,
        )
    try:
        until(lambda: log.read_text().count('"listening') == 2, "the service to listen")
        told = {line["event"]: line for line in map(json.loads, log.read_text().splitlines())}
        http = int(told["listening"]["url"].rpartition(":")[2])
        resp = int(told["listening for redis clients"]["port"])
        yield process, http, resp, log
    finally:
        process.terminate()
        process.wait()


def _memory_mb(process: subprocess.Popen[bytes]) -> float:
    text = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


def _row(attack: Callable[[int, int], None], python: str, seconds: float) -> tuple[str, bool]:
    """Attack a new service. Returns the row of the table, and whether all IDs differ."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _service(python, Path(folder)) as (process, http, resp, log),
    ):
        polite = _Polite(http)
        client = threading.Thread(target=polite.run)
        client.start()
        time.sleep(_QUIET_S)
        quiet_mb, quiet_bytes = _memory_mb(process), log.stat().st_size
        polite.phase, most_mb = "attacked", quiet_mb
        attacker = multiprocessing.get_context("spawn").Process(target=attack, args=(http, resp))
        attacker.start()
        ends_s = time.monotonic() + seconds
        while time.monotonic() < ends_s:
            most_mb = max(most_mb, _memory_mb(process))
            time.sleep(0.1)
        attacker.kill()
        attacker.join()
        polite.phase, ends_s = "after", time.monotonic() + 60
        while _memory_mb(process) > 1.1 * quiet_mb and time.monotonic() < ends_s:
            time.sleep(1)
        later_mb, wrote = _memory_mb(process), log.stat().st_size - quiet_bytes
        polite.over.set()
        client.join()
    quiet_ms, attacked_ms = polite.p99_ms("quiet"), polite.p99_ms("attacked")
    cells = [
        (attack.__doc__ or "").strip().rstrip("."),
        f"{quiet_ms:.1f} → {attacked_ms:.1f} ms",
        f"{len(polite.took_s['attacked']) / seconds:.0f}",
        str(polite.failures.get("attacked", 0)),
        f"{quiet_mb:.0f} → {most_mb:.0f} → {later_mb:.0f} MB",
        f"{wrote / 1024 / seconds:.1f} kB/s",
    ]
    return f"| {' | '.join(cells)} |", len(set(polite.ids)) == len(polite.ids)


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack and print."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.benchmarks.attacks", description=__doc__
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="of each attack")
    parser.add_argument("--python", default=sys.executable, help="of the service")
    options = parser.parse_args(arguments)
    about = setting("python -m evidence.benchmarks.attacks", "-", 1, "memory:")
    print(", ".join(about[name] for name in ("Date", "Commit", "Python", "CPU")), end="\n\n")
    print("| Attack | 99 % of a polite client's IDs | answers a second | failed | memory | log |")
    print("|---|--:|--:|--:|--:|--:|")
    unique = True
    for attack in _ATTACKS:
        row, distinct = _row(attack, options.python, options.seconds)
        print(row, flush=True)
        unique = unique and distinct
    if not unique:
        print("an ID repeated", file=sys.stderr)
    return not unique


if __name__ == "__main__":
    sys.exit(main())
