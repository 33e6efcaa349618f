"""The effect of each kind of fault on a world; ``schedule`` has its time, target and size."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from evidence.simulator.process import Process
from evidence.simulator.schedule import KINDS, Fault

if TYPE_CHECKING:
    from evidence.simulator.world import World

__all__ = ["strike"]

_MOST_MEMBERS = 9
_MOST_STEPS = 500  # instructions of the next operations


def strike(world: "World", fault: Fault) -> None:
    """Cause a fault now."""
    process = world.members[fault.member]
    _FAULTS[fault.kind](world, process, fault.share)


def _us(world: "World", share: float) -> int:
    """A length: up to four horizons, mostly short."""
    return int(4 * world.schedule.horizon_us * share * share) + 1


def _step(world: "World", share: float) -> int:
    """A step of a clock: back or forward, up to four horizons, sometimes an hour."""
    if share > 0.95:
        return 3_600_000_000 if share > 0.975 else -3_600_000_000
    return int((share - 0.475) * 8 * world.schedule.horizon_us)


def _store_clock_steps(world: "World", _: Process, share: float) -> None:
    world.store.clock.step(_step(world, share))


def _store_clock_freezes(world: "World", _: Process, share: float) -> None:
    world.store.clock.freeze()
    world.at(world.now_us + _us(world, share), world.store.clock.thaw)


def _store_clock_drifts(world: "World", _: Process, share: float) -> None:
    world.store.clock.drift(int((share - 0.5) * 100_000))


def _smear_us(world: "World", share: float) -> int:
    """How long a leap second is smeared: a share of the run, which may be hours."""
    return int(world.schedule.lasts_us * (0.1 + 0.4 * share)) + 1


def _store_clock_smears(world: "World", _: Process, share: float) -> None:
    world.store.clock.smear(_smear_us(world, share), 1 if share > 0.5 else -1, world.at)


def _member_clock_smears(world: "World", process: Process, share: float) -> None:
    smear_us = _smear_us(world, share)
    ppm = process.clock.smear(smear_us, 1 if share > 0.5 else -1, world.at)
    process.boot_clock.slew(ppm)
    world.at(world.now_us + smear_us, lambda: process.boot_clock.slew(0))


def _member_clock_steps(world: "World", process: Process, share: float) -> None:
    process.clock.step(_step(world, share))


def _pause(world: "World", process: Process, share: float) -> None:
    process.paused_until_us = max(process.paused_until_us, world.now_us + _us(world, share))


def _crash(world: "World", process: Process, _: float) -> None:
    world.marks.hit("crashed")
    process.crash()


def _after_boot_us(world: "World", share: float) -> int:
    """A wall clock's reading after a boot: some time off, or 1970 if its battery is dead."""
    if share > 0.8:
        return int((share - 0.8) * 1e9)
    return world.now_us + _step(world, share)


def _boot(world: "World", process: Process, share: float) -> None:
    world.marks.hit("booted")
    process.boot(_after_boot_us(world, share))
    world.at(world.now_us + _us(world, share), process.clock.put_right)


def _fork(world: "World", process: Process, share: float) -> None:
    if len(world.members) >= _MOST_MEMBERS:
        return
    child = world.add()
    child.fork_from(process)
    if share < 0.4:
        world.marks.hit("child left")
        child.close()


def _double_start(world: "World", _: Process, __: float) -> None:
    if len(world.members) < _MOST_MEMBERS:
        world.marks.hit("double start")
        world.add()


def _close(_: "World", process: Process, __: float) -> None:
    process.close()


def _exception(_: "World", process: Process, share: float) -> None:
    process.striker.arm(1 + int(_MOST_STEPS * share**3))


def _mint(_: "World", process: Process, __: float) -> None:
    process.later(0, process.mint)


def _ailment(kind: str) -> Callable[["World", Process, float], None]:
    """A fault of the way between a member and the store."""

    def begin(world: "World", process: Process, share: float) -> None:
        process.link.until_us[kind] = world.now_us + _us(world, share)

    return begin


def _store_crash(world: "World", _: Process, share: float) -> None:
    world.store.restart()
    world.store.down_until_us = world.now_us + _us(world, share) // 2


def _store_boot(world: "World", process: Process, share: float) -> None:
    world.marks.hit("store booted")
    store = world.store
    store.clock.put_right()
    store.clock.show(_after_boot_us(world, share))
    world.at(world.now_us + _us(world, share), store.clock.put_right)
    _store_crash(world, process, share / 2)


def _tail_lost(world: "World", process: Process, share: float) -> None:
    world.marks.hit("tail lost")
    world.store.lose_tail(share)
    world.store.down_until_us = world.now_us + _us(world, 1 - share) // 4
    del process


def _failover(world: "World", _: Process, share: float) -> None:
    world.marks.hit("failover")
    world.store.lose_tail(share)
    world.store.clock.put_right()
    world.store.clock.step(int((share - 0.5) * world.schedule.horizon_us))


def _successor(world: "World", _: Process, share: float) -> None:
    """A replica takes over. Each of its lengths is up to a horizon, from other digits of share."""
    world.marks.hit("successor")
    horizon_us = world.schedule.horizon_us
    world.store.take_over(int(share * horizon_us), int(share * 1e3 % 1 * horizon_us))
    away = share * 1e6 % 1
    world.store.down_until_us = world.now_us + int(max(0.0, away - 0.5) * horizon_us) // 2


def _wipe(world: "World", _: Process, __: float) -> None:
    world.marks.hit("wiped")
    world.store.wipe()


def _shelf_lost(world: "World", _: Process, share: float) -> None:
    world.marks.hit("shelf lost")
    world.store.lose_shelf(int(share * len(world.store.records)))


def _restore(world: "World", _: Process, share: float) -> None:
    world.marks.hit("restored")
    world.store.restore(share)


def _silent_loss(world: "World", _: Process, share: float) -> None:
    store = world.store
    store.slip_back(share)

    def tell() -> None:
        if store.silent:  # no member remembers it: the operator who restored it says so
            store.restart(replaced=True)

    world.at(world.now_us + 2 * world.schedule.horizon_us, tell)


_FAULTS: dict[str, Callable[["World", Process, float], None]] = {
    "store clock steps": _store_clock_steps,
    "store clock freezes": _store_clock_freezes,
    "store clock drifts": _store_clock_drifts,
    "store clock smears": _store_clock_smears,
    "member clock steps": _member_clock_steps,
    "member clock smears": _member_clock_smears,
    "pause": _pause,
    "crash": _crash,
    "boot": _boot,
    "fork": _fork,
    "double start": _double_start,
    "close": _close,
    "mint": _mint,
    "delay": _ailment("delay"),
    "loss": _ailment("loss"),
    "reply loss": _ailment("reply loss"),
    "repeats": _ailment("repeats"),
    "reordering": _ailment("reordering"),
    "partition": _ailment("partition"),
    "store crash": _store_crash,
    "store boot": _store_boot,
    "tail lost": _tail_lost,
    "failover": _failover,
    "wipe": _wipe,
    "restore": _restore,
    "silent loss": _silent_loss,
    "exception": _exception,
    "successor": _successor,
    "shelf lost": _shelf_lost,
}
assert tuple(_FAULTS) == KINDS
