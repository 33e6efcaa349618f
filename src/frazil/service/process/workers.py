"""Workers: several processes that share the listening sockets, and their supervisor.

A Python process uses one processor. ``--workers N`` forks N processes, each with its own generators
and claims, as if they ran on N hosts. They share the listening sockets, and nothing that an ID
depends on. They are forked before there is an event loop, a thread or a connection.

The supervisor replaces a worker that dies: the first time at once, then after a pause that doubles
with each worker that lives less than ten seconds. On SIGTERM or Ctrl-C it terminates all workers
and waits for them. Each worker holds one end of a socket pair. The supervisor closes its end when
all workers stop. The kernel closes it if the supervisor is killed, and the workers stop as well.

A listening socket takes connections before any code accepts them, and those connections are reset
if a signal ends the process. So the signals are blocked before the sockets are opened, and arrive
as soon as a graceful shutdown handles them.
"""

import multiprocessing
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from frazil.service import logs
from frazil.system.clock import boot_ns

SIGNALS = (signal.SIGTERM, signal.SIGINT)  # the signals that end the service
_HELD = (*SIGNALS, signal.SIGHUP)  # which would end it before it is handled

_SECOND_NS = 1_000_000_000
_YOUNG_NS = 10 * _SECOND_NS
_PAUSE_MOST_NS = 10 * _SECOND_NS

Work = Callable[[int, socket.socket], None]


@dataclass
class _Worker:
    """A worker, or the pause before the next. early_deaths: in a row, each within ten seconds."""

    index: int
    process: BaseProcess | None = None
    stop_socket: socket.socket | None = None
    started_ns: int = 0
    early_deaths: int = 0
    due_ns: int = 0


class Supervisor:
    """Runs ``work(index, stop_socket)`` in ``count`` processes.

    The stop_socket becomes readable when all workers must stop: on a signal, or because this
    process has died. The signals are held when ``work`` is called; it must release them. on_start:
    called when no signal is lost any more. on_stop: called on the signal, to close what only the
    workers may keep open. on_reload: called on SIGHUP, before the workers get it.
    """

    def __init__(
        self,
        count: int,
        work: Work,
        on_start: Callable[[], None],
        on_stop: Callable[[], None],
        on_reload: Callable[[], None] = lambda: None,
    ) -> None:
        self.workers = [_Worker(index) for index in range(count)]
        self.wakeup = socket.socketpair()
        self._work, self._on_start, self._on_stop = work, on_start, on_stop
        self._on_reload = on_reload
        self._received: int | None = None
        self._reloading = False

    def run(self) -> None:
        """Run until a signal; then raise it again."""
        before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._on_signal)
        for end in self.wakeup:
            end.settimeout(0)
        self._on_start()
        while self._received is None:
            now_ns = boot_ns()
            hold_signals()  # a new worker releases them once it handles them
            for worker in self.workers:
                self._replace_dead(worker, now_ns)
            release_signals()
            ends = [one.process.sentinel for one in self.workers if one.process is not None]
            wait([*ends, self.wakeup[0]], self._pause_s())
            if self._reloading:
                self._reload()
        self._on_stop()
        for worker in self.workers:
            if worker.stop_socket is not None:
                worker.stop_socket.close()
        running = [worker.process for worker in self.workers if worker.process is not None]
        for process in running:
            process.terminate()
        for process in running:
            process.join()
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.raise_signal(self._received)

    def _replace_dead(self, worker: _Worker, now_ns: int) -> None:
        """Notice a dead worker, and start a new one when it is due."""
        if worker.process is not None and not worker.process.is_alive():
            code = worker.process.exitcode
            young = now_ns - worker.started_ns < _YOUNG_NS
            worker.early_deaths = worker.early_deaths + 1 if young else 0
            pause_ns = _SECOND_NS * 2 ** (worker.early_deaths - 2) if worker.early_deaths > 1 else 0
            worker.due_ns = now_ns + min(int(pause_ns), _PAUSE_MOST_NS)
            logs.event("worker died", worker=worker.index, process=worker.process.pid, code=code)
            worker.process = None
        if worker.process is None and now_ns >= worker.due_ns:
            self._start(worker)

    def _start(self, worker: _Worker) -> None:
        if worker.stop_socket is not None:
            worker.stop_socket.close()
        worker.stop_socket, child_end = socket.socketpair()
        process = multiprocessing.get_context("fork").Process(
            target=self._run_worker, args=(worker.index, child_end), daemon=True
        )
        try:
            process.start()
        except OSError as error:  # too many processes, or no memory
            worker.due_ns = boot_ns() + _SECOND_NS
            logs.event("worker not started", worker=worker.index, why=str(error))
            return
        finally:
            child_end.close()
        worker.process, worker.started_ns = process, boot_ns()
        logs.event("worker begins", worker=worker.index, process=process.pid)

    def _run_worker(self, index: int, stop_socket: socket.socket) -> None:
        for worker in self.workers:
            if worker.stop_socket is not None:
                worker.stop_socket.close()
        for end in self.wakeup:
            end.close()
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        self._work(index, stop_socket)

    def _pause_s(self) -> float | None:
        """Return the time until the next worker is due."""
        dues_ns = [worker.due_ns for worker in self.workers if worker.process is None]
        return max(min(dues_ns) - boot_ns(), 0) / _SECOND_NS if dues_ns else None

    def _reload(self) -> None:
        """Pass SIGHUP on to the workers."""
        self._reloading = False
        with suppress(BlockingIOError):
            self.wakeup[0].recv(4096)
        self._on_reload()
        for worker in self.workers:
            if worker.process is not None and worker.process.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(worker.process.pid, signal.SIGHUP)

    def _on_signal(self, number: int, _frame: object) -> None:
        if number == signal.SIGHUP:
            self._reloading = True
        else:
            self._received = number
        with suppress(BlockingIOError):  # it is awake already
            self.wakeup[1].send(b"!")


def hold_signals() -> None:
    """Block the signals in this thread, and in the threads and processes that it starts."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)


def release_signals() -> None:
    """Unblock the signals; those sent meanwhile arrive now."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)
