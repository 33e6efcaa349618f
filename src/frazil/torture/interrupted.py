"""What a process does whose signal handlers interrupt it, and one to which everything is done.

The main thread asks for one ID, for many, and for some that are minted, in turns. What a call had
made when a handler raised in it may be lost, and must not come again. When a handler forks inside
a call of the system, that call returns twice: in the parent and in the child, and each keeps what
it is given.
"""

import os
import random
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from frazil.torture.alarms import Alarms, Ask
from frazil.torture.job import Order
from frazil.torture.life import Brood, Life, fork_c, made, moment_in
from frazil.torture.system import Setting
from frazil.torture.systems import known

__all__ = ["chdir", "handler", "mixed", "raising"]

_AT_ONCE = 32


class _Main:
    """The main thread of a process under alarms."""

    def __init__(self, order: Order, setting: Setting) -> None:
        # The setting is the generator's; what is minted has that of the order.
        self._order = order
        self.holder = made(replace(order, setting=setting))
        self.life = Life(order, self.holder, order.name)
        system = known(order.system)
        self._asks: list[Ask] = [self._one_by_one, *system.ways(order.setting, self.holder)]
        self._dice = random.Random(order.seed)  # noqa: S311 - moments, no secrets
        self.alarms = Alarms(order, self.holder, self.life, self._asks)

    def _one_by_one(self, count: int) -> list[Any]:
        call, begun = self.life.outlet.call, self.alarms.begun
        for _ in range(count):
            begun.append(call())
        return begun

    def burst(self) -> None:
        """Ask in one of the ways that there are, and keep what came."""
        ask = self._asks[0] if self._dice.random() < 0.8 else self._dice.choice(self._asks)
        given: list[Any] = []
        began_ns = time.monotonic_ns()
        error = None
        for _ in range(max(1, self._order.burst // _AT_ONCE)):
            error = self.alarms.ask(ask, self._dice.randrange(1, _AT_ONCE), given)
            if error is not None or ask is not self._asks[0] or self.alarms.child is not None:
                break
        if self.alarms.child is not None:
            self.alarms.child()
        kept = [one for one in given if one is not None]
        self.life.outlet.keep(began_ns, int(error is not None) + len(given) - len(kept), kept)
        if error is not None:
            self.life.outlet.tell(f"{type(error).__name__}: {error}")
        self.life.rest(len(kept))


def raising(order: Order) -> None:
    """Issue under handlers that raise."""
    _under(order, raising=True, handling=False)


def handler(order: Order) -> None:
    """Issue under handlers that ask for IDs and fork."""
    _under(order, raising=False, handling=True)


def _under(order: Order, *, raising: bool, handling: bool) -> None:
    main = _Main(order, order.setting)
    main.life.go_on(moment_in(order.warm_s))
    main.alarms.start(raising=raising, handling=handling)
    while not order.over:
        main.burst()
    main.alarms.end()


def _settle(order: Order) -> Setting:
    """Go to the folder of the store's file, if it is one; the setting that names it from there."""
    kind, _, rest = order.setting.url.partition(":")
    path, mark, options = rest.partition("?")
    if kind != "sqlite" or not path:
        os.chdir(order.folder)
        return order.setting
    place = Path(path)
    os.chdir(place.parent)
    return replace(order.setting, url=f"sqlite:{place.name}{mark}{options}")


def _depart(order: Order, name: str) -> None:
    """Go to a folder of one's own."""
    folder = order.place / f"{name}.at"
    folder.mkdir(exist_ok=True)
    os.chdir(folder)


def chdir(order: Order) -> None:
    """Have a generator by a relative path; fork, and go elsewhere: children first, then itself."""
    holder = made(replace(order, setting=_settle(order)))
    life = Life(order, holder, order.name)
    life.go_on(moment_in(order.warm_s))
    brood = Brood(life)

    def childhood(name: str) -> None:
        _depart(order, name)
        Life(order, holder, name).go_on()

    for number in range(order.several):
        brood.add(partial(childhood, f"{order.name}.{number}"))
    life.go_on(moment_in(order.warm_s))
    _depart(order, order.name)
    life.go_on()
    brood.reap()


def mixed(order: Order) -> None:
    """Issue, and do to oneself what the order has: forks, alarms, changes of the folder."""
    main = _Main(order, _settle(order))
    brood = Brood(main.life)
    due: list[tuple[str, int, int]] = []
    children, before = 0, (False, False)
    begun, windows = False, list(due)

    def childhood(name: str, end_ns: int) -> None:
        Life(order, main.holder, name).until_first(end_ns)

    while not order.over:
        if not begun and (begin := Path(order.path)).exists():
            begun = True
            due = _moments(order, int(begin.read_text(encoding="ascii")))
            windows = [event for event in due if event[0] in ("raise", "handler")]
        now_ns = time.monotonic_ns()
        active = {what for what, at_ns, until_ns in windows if at_ns <= now_ns < until_ns}
        alarms = "raise" in active, "handler" in active
        if alarms != before:
            main.alarms.start(raising=alarms[0], handling=alarms[1])
            before = alarms
        while due and due[0][1] <= now_ns:
            what, _, until_ns = due.pop(0)
            if what in ("fork", "c-fork") and until_ns > now_ns:
                fork = fork_c if what == "c-fork" else None
                brood.add(partial(childhood, f"{order.name}.{children}", until_ns), until_ns, fork)
                children += 1
            elif what == "chdir":
                _depart(order, order.name)
        main.burst()
        brood.look()
    main.alarms.end()
    brood.reap()


def _moments(order: Order, begin_ns: int) -> list[tuple[str, int, int]]:
    """What is to be done, in the order of its moments."""
    moments = [(what, begin_ns + at, begin_ns + until) for what, at, until in order.events]
    return sorted(moments, key=lambda moment: moment[1])
