"""A process under torture: it makes a generator, and has it issue until its time is over.

    python -m frazil.testing.torture.worker ORDER

What happens to it from outside (kills, stops, clocks, the store) is done by whoever started it.
What has to happen inside, because it happens to memory, is done here: forks, threads, copies and
pickles. All of it at seeded random moments. An error of a generator is a refusal to issue: it is
written down and asked again. No error and no end of a process is taken for a fault of uniqueness;
only IDs are.
"""

import contextlib
import copy
import json
import multiprocessing
import os
import pickle
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from frazil.testing.torture.clock import loaded, watch
from frazil.testing.torture.order import Order
from frazil.testing.torture.outlet import DIED, Outlet
from frazil.testing.torture.systems import known

__all__ = ["HOWS", "main"]

_SLICE_S = 0.03  # of life, between two things that are done to a generator
_REST_S = 0.005  # after a burst that gave nothing
_PATIENCE_S = 2.0  # with children whose time is over


class _Life:
    """One generator in one process."""

    def __init__(self, order: Order, holder: Any, name: str) -> None:
        self._order = order
        self._outlet = Outlet(order.place, name, known(order.system).bind(holder))
        self._holder = holder
        self._claim: Any = None

    def go_on(self, end_ns: int | None = None) -> None:
        """Issue until then, or to the end of the order."""
        while not self._order.over and (end_ns is None or time.monotonic_ns() < end_ns):
            self.burst(self._order.burst)

    def burst(self, count: int, given: list[Any] | None = None) -> None:
        """Some IDs, and the pause after them."""
        if self._outlet.burst(count, given):
            if self._order.nap_s:
                time.sleep(self._order.nap_s)
        else:
            time.sleep(_REST_S)
        self._note_claim()

    def some(self, count: int) -> list[Any]:
        """IDs that are not kept yet, as many as come without an error."""
        given: list[Any] = []
        with contextlib.suppress(Exception):
            given.extend(self._outlet.call() for _ in range(count))
        return given

    def note(self, trouble: str) -> None:
        """Write down what became of a child."""
        self._outlet.note(trouble)

    def _note_claim(self) -> None:
        """Write down the claim of a generator of frazil's, when it is another."""
        claim = getattr(getattr(self._holder, "keeper", None), "claim", None)
        if claim is not None and claim is not self._claim:
            self._claim = claim
            line = json.dumps((time.monotonic_ns(), claim.slot, claim.start, claim.until))
            with self._outlet.path.with_suffix(".claims").open("a", encoding="ascii") as file:
                file.write(line + "\n")


def _made(order: Order) -> Any:
    """A generator; asked for again and again while its system refuses to make one."""
    while True:
        try:
            return known(order.system).make(order.setting)
        except Exception as error:
            if order.over:
                raise
            path = order.place / f"{order.name}.trouble"
            path.write_text(
                f"{type(error).__name__}: {error}\n", encoding="utf-8", errors="backslashreplace"
            )
            time.sleep(0.05)


def _in(seconds: float) -> int:
    return time.monotonic_ns() + int(seconds * 1e9)


def _child(live: Callable[[], None]) -> int:
    """Fork; the child lives so and ends as programs do. Answers its number."""
    pid = os.fork()
    if pid == 0:
        live()
        sys.exit(0)
    return pid


def _reap(pids: list[int], life: _Life) -> None:
    """Wait for children whose time is over; kill those that do not come to an end."""
    end_ns = _in(_PATIENCE_S)
    for pid in pids:
        while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0):
            if time.monotonic_ns() > end_ns:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                life.note("a child of a fork hung, and was killed")
                break
            time.sleep(0.002)
        if ended[1]:
            life.note(f"a child {DIED}, with {os.waitstatus_to_exitcode(ended[1])}")


def steady(order: Order) -> None:
    """Issue."""
    _Life(order, _made(order), order.name).go_on()


def fork(order: Order) -> None:
    """Issue, fork, and go on in the parent and in all children, which have children too."""
    holder = _made(order)
    life = _Life(order, holder, order.name)
    life.go_on(_in(order.warm_s))

    def childhood(name: str, depth: int) -> None:
        mine = _Life(order, holder, name)
        if depth:
            mine.go_on(_in(_SLICE_S))
            grandchild = _child(lambda: childhood(f"{name}.0", depth - 1))
            mine.go_on()
            _reap([grandchild], mine)
        else:
            mine.go_on()

    pids = [
        _child(partial(childhood, f"{order.name}.{number}", int(number == 0)))
        for number in range(order.several)
    ]
    life.go_on()
    _reap(pids, life)


def fork_burst(order: Order) -> None:
    """Fork in the midst of bursts, while another thread has an ID of the same generator made."""
    dice = random.Random(order.seed)  # noqa: S311 - moments, no secrets
    holder = _made(order)
    life = _Life(order, holder, order.name)
    life.go_on(_in(order.warm_s))
    thread = threading.Thread(target=_Life(order, holder, f"{order.name}-thread").go_on)
    thread.start()
    number = 0
    while not order.over:
        given = life.some(before := dice.randrange(1, order.burst))
        name, end_ns = f"{order.name}.{number}", _in(_SLICE_S)
        pid = _child(partial(_live, order, holder, name, end_ns))
        life.burst(order.burst - before, given)
        life.go_on(end_ns)
        _reap([pid], life)
        number += 1
    thread.join()


def by_multiprocessing(order: Order) -> None:
    """Hand the generator to children of the multiprocessing module, which forks."""
    holder = _made(order)
    life = _Life(order, holder, order.name)
    life.go_on(_in(order.warm_s))
    context = multiprocessing.get_context("fork")
    children = [
        context.Process(target=_live, args=(order, holder, f"{order.name}.{number}"))
        for number in range(order.several)
    ]
    for child in children:
        child.start()
    life.go_on()
    for child in children:
        child.join(_PATIENCE_S)
        if child.is_alive():
            child.kill()
            child.join()
            life.note("a child hung, and was killed")
        elif child.exitcode:
            life.note(f"a child {DIED}, with {child.exitcode}")


def _live(order: Order, holder: Any, name: str, end_ns: int | None = None) -> None:
    _Life(order, holder, name).go_on(end_ns)


def threads(order: Order) -> None:
    """Several threads with one generator, which take turns as often as Python lets them."""
    holder = _made(order)
    sys.setswitchinterval(1e-6)
    crowd = [
        threading.Thread(target=_Life(order, holder, f"{order.name}{tail}").go_on)
        for tail in ("", *(f"-{number}" for number in range(order.several)))
    ]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()


def copies(order: Order) -> None:
    """Copy the generator, flat and deep; original and copies issue by turns."""
    holder = _made(order)
    life = _Life(order, holder, order.name)
    life.go_on(_in(order.warm_s))
    lives = [life]
    refused = []
    for make in (copy.copy, copy.deepcopy):
        try:
            lives.append(_Life(order, make(holder), f"{order.name}-{make.__name__}"))
        except Exception as error:  # noqa: BLE001 - whatever somebody's generator raises
            refused.append(f"{make.__name__}: {error}")
    if len(refused) == 2:
        _refuse(order, "; ".join(refused))
    while not order.over:
        for one in lives:
            one.burst(8)


def pickled(order: Order) -> None:
    """Write the generator down in the midst of its life, for another process, and go on."""
    holder = _made(order)
    life = _Life(order, holder, order.name)
    life.go_on(_in(order.warm_s))
    try:
        text = pickle.dumps(holder)
    except Exception as error:  # noqa: BLE001 - whatever somebody's generator raises
        _refuse(order, str(error))
    else:
        half = Path(order.path).with_suffix(".half")
        half.write_bytes(text)
        half.rename(order.path)
    life.go_on()


def unpickled(order: Order) -> None:
    """Go on with a generator that another process wrote down."""
    holder = pickle.loads(Path(order.path).read_bytes())  # noqa: S301 - a worker wrote it
    _Life(order, holder, order.name).go_on()


def witness(order: Order) -> None:
    """Write down what the wall clock says, and issue nothing."""
    watch(order.place / f"{order.name}.clock", lambda: order.over)


def _refuse(order: Order, reason: str) -> None:
    """Say that what was to be done to the generator cannot be done to it."""
    (order.place / f"{order.name}.refused").write_text(reason, encoding="utf-8")


HOWS = {
    one.__name__: one
    for one in (
        steady,
        fork,
        fork_burst,
        by_multiprocessing,
        threads,
        copies,
        pickled,
        unpickled,
        witness,
    )
}
"""What a process can do, by name."""


def main(arguments: list[str]) -> None:
    """Do what the order says."""
    order = Order.parse(arguments[0])
    known(order.system)  # imports, which take their time
    if order.waits:
        (order.place / f"{order.name}.ready").touch()
        while not (order.place / order.waits).exists() and not order.over:
            time.sleep(0.0005)
    if order.faked and not loaded():
        raise SystemExit("libfaketime is not in this process")
    HOWS[order.how](order)


if __name__ == "__main__":
    main(sys.argv[1:])
