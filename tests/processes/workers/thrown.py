"""Signal handlers at every bytecode of what a generator does: they raise, or ask for IDs.

An operation is done again and again, with a handler at its first bytecode, its second, and so on
until it comes to its end. After each the generator is used on. The keeper is played by this script,
which gives out what ``leave`` gave back, and its half of the work is done in another thread: a lock
that somebody left behind would stop it.
"""

import signal
import sys
import threading
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import work

import frazil
from frazil.errors import TryLater
from frazil.generator.keeper import Keeper
from frazil.system.process import PureIdentity
from frazil.walk.walk import FORKED

SOURCES = (
    "/frazil/walk/walk.py",
    "/frazil/walk/atomic.py",
    "/frazil/generator/kept_walk.py",
    "/frazil/generator/local.py",
    "/frazil/system/process.py",
)
SINCE = "@1ms since 2025-01-01T00:00:00Z"
MS = 1_000_000
CLAIM = 2000 if frazil.COMPILED else 40  # ticks, or values; compiled, a tick is a real millisecond
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": (f"sign:1=0 time:41 node:8 sequence:3 {SINCE}", {}),
    "random start": (f"time:41 node:8 sequence:3 {SINCE}", {"sequence_start": "random"}),
    "wide": (f"sequence[2..1] zero:20=5 node:20 time:60 sequence[0..0] {SINCE}", {}),
    "run": ("node:8 run:40 sequence:3", {"lead": 0}),
    "counter": ("node:8 sequence:40", {"lead": 0}),
}


class Boom(Exception):
    """What a handler raises."""


def explode() -> None:
    """A handler that raises."""
    raise Boom


def struck(at: int, handle: Callable[[], None], do: Callable[[], Any]) -> tuple[bool, Any]:
    """Whether bytecode ``at`` was reached, where the handler ran; and the answer, or Boom."""
    left = at

    def each(_frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        if event == "opcode":
            left -= 1
            if left == -1:
                sys.settrace(None)
                handle()
        return each

    def begin(frame: Any, _event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.endswith(SOURCES):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return each

    sys.settrace(begin)
    try:
        answer = do()
    except Boom:
        answer = Boom
    finally:
        sys.settrace(None)
    return left < 0, answer


class World:
    """A generator, the claims that it was given, and the IDs that came out of it."""

    def __init__(self, kind: str, name: str) -> None:
        self.name, self.tried, self.done = name, 0, False
        text, options = KINDS[kind]
        options = {"lead": "1s", "timeout": "1ms"} | options
        self.ids = frazil.open(f"memory:{kind}", text, **options)
        self.axis = self.ids.scheme.layout.axis
        self.kind = kind
        self.timed = self.axis == "time"
        self.claims: dict[int, list[tuple[int, int]]] = {}
        self.node = 1
        self.ends = 1000  # the first tick that was never given
        self.seen: set[int] = set()
        self.last = (-1, -1)
        self.adopt()

    def reading(self) -> tuple[int, int, int]:
        """The registry's clock: it is always in the tick where the next claim begins."""
        return (self.ends, 0, self.ids._walk.identity.now_ns()) if self.timed else (0, 0, 0)

    def given(self, start: int, until: int) -> tuple[int, int, int]:
        """Give ticks to the present node."""
        self.claims.setdefault(self.node, []).append((start, until))
        self.ends = until
        return self.node, start, until

    def adopt(self) -> None:
        """Give a claim of another node."""
        self.node = self.node % 200 + 1
        reading = self.reading()
        self.ids._walk.adopt(*self.given(self.ends, self.ends + CLAIM), *reading)

    def prolong(self) -> None:
        """Give more of the same."""
        reading = self.reading()
        _, _, until = self.given(self.ends, self.ends + CLAIM)
        self.ids._walk.prolong(until, *reading)

    def queue(self) -> None:
        """Give a claim of another node, for later."""
        self.node = self.node % 200 + 1
        self.ids._walk.queue(*self.given(self.ends, self.ends + CLAIM))

    def put(self, found: Any, *, ordered: bool = True) -> None:
        """IDs came out. ordered: after all before."""
        for number in found:
            parts = self.ids.scheme.unpack(number)
            tick, node = parts[self.axis], parts["node"]
            assert number not in self.seen, f"{self.op}: {parts} once more"
            ours = any(a <= tick < b for a, b in self.claims.get(node, ()))
            assert ours, f"{self.op}: {parts} is in no claim"
            if self.timed and ordered:
                assert (tick, parts["sequence"]) > self.last, f"{self.op}: {parts} goes back"
                self.last = tick, parts["sequence"]
            self.seen.add(number)

    def ask(self) -> None:
        """A handler that asks for IDs, and may come before or after those that it interrupts."""
        self.put(self.ids._walk.take_ready(1), ordered=False)
        with suppress(TryLater):  # inside a change of claims there may be none for the moment
            self.put([self.ids()], ordered=False)

    def leaves(self, used: Any) -> None:
        """The answer of ``leave``: from there on it is given to somebody else."""
        mine = self.claims.get(self.node, [])
        if mine and mine[-1][0] <= used <= mine[-1][1]:
            mine[-1] = mine[-1][0], used
            self.ends = used

    def elsewhere(self, do: Callable[[], None]) -> None:
        """As the keeper's thread does it."""
        thread = threading.Thread(target=do, daemon=True)
        thread.start()
        thread.join(10)
        assert not thread.is_alive(), f"{self.op}: the keeper waits for ever"

    def attempts(self) -> Iterator[int]:
        """The number of the bytecode at which the handler runs, until the last."""
        while not self.done:
            self.op = f"{self.name} at {self.tried}"
            yield self.tried
            self.tried += 1
        told[self.name] = self.tried

    def go_on(self, reached: bool) -> None:
        """Whatever came before: IDs come out. reached: the handler ran, so there may be more."""
        self.done = not reached
        self.put(self.ids._walk.take_ready(3))
        self.put([self.ids.take(1)[0], self.ids(), next(self.ids)])


def filled(world: World) -> list[int]:
    """IDs by ``fill``, whatever their width."""
    words = array("Q", bytes(144)) if frazil.COMPILED else __import__("numpy").zeros(18, "u8")
    world.ids._walk.fill(words, 0)
    found = [int(word) for word in words]
    if world.ids.scheme.bits > 64:
        return [high << 64 | low for high, low in zip(*[iter(found)] * 2, strict=True)]
    return found


def listed(world: World) -> list[int]:
    """IDs by ``array``."""
    found = world.ids.array(9)
    if world.ids.scheme.bits > 64:
        return [int(hi) << 64 | int(lo) for hi, lo in zip(found["hi"], found["lo"], strict=True)]
    return [int(number) for number in found]


def polled(world: World) -> list[int]:
    """An ID by ``poll``."""
    answer = world.ids._walk.poll()
    return [answer] if isinstance(answer, int) else []


Issuing = Callable[[World], list[int]]

WALKING: dict[str, Issuing] = {
    "call": lambda world: [world.ids()],
    "take_ready": lambda world: world.ids._walk.take_ready(9),
}
ISSUING = WALKING | {
    "poll": polled,
    "take": lambda world: world.ids.take(9),
    "fill": filled,
    "array": listed,
}
KEEPING: dict[str, Callable[[World], None]] = {
    "adopt": World.adopt,
    "prolong": World.prolong,
    "queue": World.queue,
}


def issue(world: World, handle: Callable[[], None], do: Issuing, later_ns: int = 0) -> None:
    """Somebody asks for IDs. later_ns: the clock goes on as much before."""
    for at in world.attempts():
        world.elsewhere(world.prolong)
        clock[0] += later_ns
        reached, found = struck(at, handle, lambda: do(world))
        world.put(() if found is Boom else found, ordered=handle is explode)
        world.go_on(reached)


def keep(world: World, handle: Callable[[], None], do: Callable[[World], None]) -> None:
    """The keeper brings something: the generator has what it had, or what it was given."""
    for at in world.attempts():
        world.put(world.ids._walk.take_ready(2))
        reached, _ = struck(at, handle, lambda: do(world))
        world.elsewhere(world.adopt)
        world.go_on(reached)


def leave(world: World, handle: Callable[[], None]) -> None:
    """A farewell: what is given back is used by nobody before, or after."""
    for at in world.attempts():
        world.put(world.ids._walk.take_ready(2))
        reached, used = struck(at, handle, world.ids._walk.leave)
        # Whoever was not told what is left asks once more, after some more were drawn or not.
        if used is Boom and at % 2:
            world.put(world.ids._walk.take_ready(5))
        if used is Boom:
            used = world.ids._walk.leave()
        world.elsewhere(lambda used=used: world.leaves(used))
        world.put(world.ids._walk.take_ready(5))  # none
        world.elsewhere(world.adopt)
        world.go_on(reached)


def be_reborn(world: World, handle: Callable[[], None]) -> None:
    """A child begins its life: its parent's claims are none of its own."""
    for at in world.attempts():
        world.put(world.ids._walk.take_ready(2))
        world.ids._walk.identity.word[0] = 0
        world.claims = {}
        reached, _ = struck(at, handle, world.ids._walk.restart_after_fork)
        world.put(world.ids._walk.take_ready(2))
        if world.ids._walk.pause_ns() == FORKED:
            world.ids._walk.restart_after_fork()
        assert world.ids._walk.pause_ns() != FORKED, f"{world.op}: it is nobody"
        world.elsewhere(world.adopt)
        world.go_on(reached)


def everything(kind: str, handler: str) -> None:
    """All operations on one kind of layout, with one handler."""

    def begun(op: str) -> tuple[World, Callable[[], None]]:
        world = World(kind, op)
        return world, world.ask if handler == "asks" else explode

    for op, do in (ISSUING if kind == "plain" and handler == "raises" else WALKING).items():
        issue(*begun(op), do)
        if op in WALKING and handler == "raises" and not frazil.COMPILED:
            issue(*begun(f"{op} in a later tick"), do, 3 * MS)
    for op, bring in KEEPING.items():
        if op != "queue" or kind in ("run", "counter"):
            keep(*begun(op), bring)
    leave(*begun("leave"))
    be_reborn(*begun("restart_after_fork"))


order = work.order()
told: dict[str, int] = {}
clock = [10**15]
signal.alarm(120)  # a handler that waits for what it interrupts waits for ever
Keeper.call = Keeper.look_ahead = lambda *_: None
if not frazil.COMPILED:
    PureIdentity.now_ns = staticmethod(lambda: clock[0])
everything(order.kind, order.handler)
work.tell(compiled=frazil.COMPILED, bytecodes=told)
