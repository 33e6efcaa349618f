"""A process under torture: it makes a generator, and has it issue until its time is over.

    python -m frazil.torture.worker ORDER

What happens to it from outside (kills, stops, clocks, the store) is done by whoever started it.
What has to happen inside, because it happens to memory, is done here: forks, threads, copies and
pickles, and interruptions (see ``interrupted``). All of it at seeded random moments. No error and
no end of a process is taken for a fault of uniqueness; only IDs are.
"""

import copy
import multiprocessing
import os
import pickle
import random
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from frazil.torture.clock import loaded, watch
from frazil.torture.id_log import DIED, HUNG
from frazil.torture.interrupted import chdir, handler, mixed, raising
from frazil.torture.job import Order
from frazil.torture.life import SLICE_S, Brood, Life, fork_c, made, moment_in
from frazil.torture.systems import known

__all__ = ["HOWS", "main"]

_PATIENCE_S = 7.0  # with children of multiprocessing whose time is over


def steady(order: Order) -> None:
    """Issue."""
    Life(order, made(order), order.name).go_on()


def fork(order: Order) -> None:
    """Issue, fork, and go on in the parent and in all children, which have children too."""
    holder = made(order)
    life = Life(order, holder, order.name)
    life.go_on(moment_in(order.warm_s))

    def childhood(name: str, depth: int) -> None:
        mine = Life(order, holder, name)
        brood = Brood(mine)
        if depth:
            mine.go_on(moment_in(SLICE_S))
            brood.add(lambda: childhood(f"{name}.0", depth - 1))
        mine.go_on()
        brood.reap()

    brood = Brood(life)
    for number in range(order.several):
        brood.add(partial(childhood, f"{order.name}.{number}", int(number == 0)))
    life.go_on()
    brood.reap()


def fork_burst(order: Order) -> None:
    """Fork in the midst of bursts, while another thread has an ID of the same generator made."""
    _fork_in_bursts(order, os.fork)


def c_fork(order: Order) -> None:
    """The same, with forks made in C."""
    _fork_in_bursts(order, fork_c)


def _fork_in_bursts(order: Order, fork: Callable[[], int]) -> None:
    dice = random.Random(order.seed)  # noqa: S311 - moments, no secrets
    holder = made(order)
    life = Life(order, holder, order.name)
    life.go_on(moment_in(order.warm_s))
    thread = threading.Thread(target=Life(order, holder, f"{order.name}-thread").go_on)
    thread.start()
    brood = Brood(life)

    def childhood(name: str, end_ns: int) -> None:
        Life(order, holder, name).until_first(end_ns)

    number = 0
    while not order.over:
        given = life.some(before := dice.randrange(1, order.burst))
        end_ns = moment_in(SLICE_S)
        brood.add(partial(childhood, f"{order.name}.{number}", end_ns), end_ns, fork)
        life.burst(order.burst - before, given)
        while len(brood) and not order.over:
            life.burst(order.burst)
            brood.look()
        number += 1
    thread.join()
    brood.reap()


def by_multiprocessing(order: Order) -> None:
    """Hand the generator to children of the multiprocessing module, which forks."""
    holder = made(order)
    life = Life(order, holder, order.name)
    life.go_on(moment_in(order.warm_s))
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
            life.note(f"{HUNG} a child, which was killed")
        elif child.exitcode:
            life.note(f"a child {DIED}, with {child.exitcode}")


def _live(order: Order, holder: Any, name: str, end_ns: int | None = None) -> None:
    Life(order, holder, name).go_on(end_ns)


def threads(order: Order) -> None:
    """Several threads with one generator, which take turns as often as Python lets them."""
    holder = made(order)
    sys.setswitchinterval(1e-6)
    crowd = [
        threading.Thread(target=Life(order, holder, f"{order.name}{tail}").go_on)
        for tail in ("", *(f"-{number}" for number in range(order.several)))
    ]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()


def copies(order: Order) -> None:
    """Copy the generator, flat and deep; original and copies issue by turns."""
    holder = made(order)
    life = Life(order, holder, order.name)
    life.go_on(moment_in(order.warm_s))
    lives = [life]
    refused = []
    for make in (copy.copy, copy.deepcopy):
        try:
            lives.append(Life(order, make(holder), f"{order.name}-{make.__name__}"))
        except Exception as error:  # noqa: BLE001 - whatever somebody's generator raises
            refused.append(f"{make.__name__}: {error}")
    if len(refused) == 2:
        _refuse(order, "; ".join(refused))
    while not order.over:
        for one in lives:
            one.burst(8)


def pickled(order: Order) -> None:
    """Write the generator down in the midst of its life, for another process, and go on."""
    holder = made(order)
    life = Life(order, holder, order.name)
    life.go_on(moment_in(order.warm_s))
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
    Life(order, holder, order.name).go_on()


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
        c_fork,
        chdir,
        raising,
        handler,
        mixed,
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
