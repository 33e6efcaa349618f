"""Workers: several processes that serve one socket, and the one that looks after them.

One process of Python uses one processor. So ``--workers N`` forks N, each with generators and
claims of its own, as if they were members on N hosts; they share the listening sockets and nothing
that an ID depends on. Forks are made before there is a loop, a thread or a connection.

A worker that dies is replaced: at once, and after a pause that doubles for each one that does not
live for ten seconds, so that a mistake does not become a storm. At SIGTERM or Ctrl-C all are told
to end in good order, and are waited for. They know that it is all of them, because the other end
of their leash is closed. If this process dies without a word, they notice it by the same, and end
as well.
"""

import multiprocessing
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from frazil.service import logs
from frazil.system.clock import boot_ns

__all__ = ["supervise"]

_SECOND_NS = 1_000_000_000
_YOUNG_NS = 10 * _SECOND_NS
_LONGEST_PAUSE_NS = 10 * _SECOND_NS
_SIGNALS = (signal.SIGTERM, signal.SIGINT)

Work = Callable[[int, socket.socket], None]


@dataclass
class _Place:
    """A worker, or the wait for the next one. early: deaths in a row that came soon."""

    index: int
    process: BaseProcess | None = None
    leash: socket.socket | None = None
    began_ns: int = 0
    early: int = 0
    due_ns: int = 0


@dataclass
class _Supervisor:
    work: Work
    let_go: Callable[[], None]
    places: list[_Place]
    bell: tuple[socket.socket, socket.socket] = field(default_factory=socket.socketpair)
    told: int | None = None

    def run(self) -> None:
        """Until a signal."""
        before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        for end in self.bell:
            end.settimeout(0)
        while self.told is None:
            now_ns = boot_ns()
            for place in self.places:
                self._mend(place, now_ns)
            wait([*self._sentinels(), self.bell[0]], self._pause_s())
        self.let_go()
        for place in self.places:
            if place.leash is not None:
                place.leash.close()
        for place in self.places:
            if place.process is not None:
                place.process.terminate()
        for place in self.places:
            if place.process is not None:
                place.process.join()
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.raise_signal(self.told)

    def _mend(self, place: _Place, now_ns: int) -> None:
        """Take note of a death, and put a worker where none is."""
        if place.process is not None and not place.process.is_alive():
            code = place.process.exitcode
            young = now_ns - place.began_ns < _YOUNG_NS
            place.early = place.early + 1 if young else 0
            pause_ns = _SECOND_NS * 2 ** (place.early - 2) if place.early > 1 else 0
            place.due_ns = now_ns + min(int(pause_ns), _LONGEST_PAUSE_NS)
            logs.event("worker died", worker=place.index, process=place.process.pid, code=code)
            place.process = None
        if place.process is None and now_ns >= place.due_ns:
            self._start(place)

    def _start(self, place: _Place) -> None:
        if place.leash is not None:
            place.leash.close()
        place.leash, theirs = socket.socketpair()
        process = multiprocessing.get_context("fork").Process(
            target=self._begin, args=(place.index, theirs), daemon=True
        )
        # One that came in the child before it forgets our handler would be lost there.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        process.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        theirs.close()
        place.process, place.began_ns = process, boot_ns()
        logs.event("worker begins", worker=place.index, process=process.pid)

    def _begin(self, index: int, leash: socket.socket) -> None:
        """In the worker."""
        for place in self.places:
            if place.leash is not None:
                place.leash.close()
        for end in self.bell:
            end.close()
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        self.work(index, leash)

    def _sentinels(self) -> list[Any]:
        return [place.process.sentinel for place in self.places if place.process is not None]

    def _pause_s(self) -> float | None:
        """Until the next worker is due."""
        dues_ns = [place.due_ns for place in self.places if place.process is None]
        return max(min(dues_ns) - boot_ns(), 0) / _SECOND_NS if dues_ns else None

    def _on_signal(self, number: int, _frame: object) -> None:
        self.told = number
        self.bell[1].send(b"!")


def supervise(count: int, work: Work, let_go: Callable[[], None]) -> None:
    """Have ``count`` workers do ``work(index, leash)``, until a signal, which is raised again.

    The leash becomes readable when all are to end: at a signal, or as the caller's process has
    died. let_go: called at the signal, to close what the workers alone should hold to the end.
    """
    _Supervisor(work, let_go, [_Place(index) for index in range(count)]).run()
