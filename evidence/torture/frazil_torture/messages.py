"""A fault of order: processes on hosts whose clocks differ answer each other's IDs.

A reply should sort after its question, also if the host that replies has a clock that is an hour
behind. Each process gets messages that are IDs, makes an ID after them, and sends it to another
process, or to all of them. A system says that its IDs agree with cause and effect by a method
``after(*seen)`` of its holder; then a reply that is not greater is a failure. For the others, their
number is shown.
"""

import json
import random
import socket
import time
from contextlib import suppress
from pathlib import Path

from frazil_torture.clock import FakeClock
from frazil_torture.fault import Fault
from frazil_torture.file import File
from frazil_torture.id_log import number_of
from frazil_torture.job import Job
from frazil_torture.life import Life
from frazil_torture.systems import known
from frazil_torture.trial import Trial, Unavailable

__all__ = ["MESSAGES", "answer"]

_OFFSETS_S = (-3600.0, 0.0, 3600.0, 0.0)  # of four hosts; the last one is stepped
_STEPS_S = (-3600.0, 60.0, -5.0, 3600.0)
_FAN = 0.1  # how many replies go to all
_BYTES = 16
_SILENCE_S = 0.02  # then a process writes a message of its own
_ANSWERED_MAX = 16
_BURST, _BURST_NS = 16, 500_000_000  # replies that are written together


def _messages(trial: Trial) -> None:
    """Four hosts, each with a clock of its own."""
    if isinstance(trial.world.store, File):
        raise Unavailable("hosts do not share a file")
    preload = Path(trial.fake_clock().env["LD_PRELOAD"])
    hosts = []
    for number, offset_s in enumerate(_OFFSETS_S):
        host = FakeClock(preload, trial.folder / f"host{number}")
        host.step(offset_s)
        hosts.append(host)
    names = [
        trial.launch("answer", node=number + 1, env=host.env) for number, host in enumerate(hosts)
    ]
    for name in names:
        trial.until_issuing(name)
    for step_s in _STEPS_S:
        trial.pause(0.15)
        hosts[-1].step(step_s)
        trial.mark(f"clock {step_s:+.0f} s", names[-1])


class _Post:
    """Messages between the processes of a trial: one ID each."""

    def __init__(self, job: Job) -> None:
        self._folder = job.folder
        self._own = job.folder / f"{job.name}.post"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self._own))

    def received(self) -> list[int]:
        """The IDs of the messages that are there; none after a time without messages."""
        seen: list[int] = []
        self._socket.settimeout(_SILENCE_S)
        with suppress(TimeoutError, BlockingIOError):
            while len(seen) < _ANSWERED_MAX:
                seen.append(int.from_bytes(self._socket.recv(_BYTES), "big"))
                self._socket.settimeout(0)
        return seen

    def send(self, n: int, rng: random.Random) -> None:
        """Send an ID to another process, or to all of them. A full queue loses it."""
        others = [path for path in sorted(self._folder.glob("*.post")) if path != self._own]
        self._socket.settimeout(0)
        for other in others if rng.random() < _FAN else rng.sample(others, min(1, len(others))):
            with suppress(OSError):
                self._socket.sendto(n.to_bytes(_BYTES, "big"), str(other))


def answer(job: Job) -> None:
    """Answer the messages of other processes; count the replies that are not greater."""
    life, post = Life.begin(job), _Post(job)
    rng = random.Random(job.seed)  # noqa: S311 - moments, no secrets
    make = known(job.system).after(life.holder)
    answered = inverted = 0
    while not job.over:
        made: list[int] = []
        began_ns, refused = time.monotonic_ns(), 0
        while len(made) < _BURST and time.monotonic_ns() - began_ns < _BURST_NS:
            seen = post.received()
            try:
                given = make(*seen) if make and seen else life.id_log.call()
            except Exception as error:  # noqa: BLE001 - whatever a foreign generator raises
                life.id_log.report(error)
                refused += 1
                continue
            made.append(n := number_of(given))
            answered += len(seen)
            inverted += sum(n <= one for one in seen)
            post.send(n, rng)
        life.id_log.keep(began_ns, refused, made)
        counts = json.dumps([answered, inverted, bool(make)])
        life.id_log.path.with_suffix(".answers").write_text(counts, encoding="ascii")


MESSAGES = (
    Fault("messages", "hosts with clocks an hour apart answer each other's IDs", _messages),
)
"""The fault of messages."""
