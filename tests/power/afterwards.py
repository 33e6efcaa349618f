"""The states after power cuts at many moments of a recording, and the claims made on them.

Its order, as JSON in the first argument: ``log``, ``root``, ``stash``, ``url``, ``seed``, ``cuts``
(how many moments), ``first`` (each of so many at the beginning, too), ``processes`` (that were
recorded at a time), ``killed`` (not the power ended, but all processes: nothing is lost, and the
boot is the same), ``boot`` (the name of the next boot, or null for the same), and ``enough`` (the
words of a fault after which to look no further; with none that is any fault). It writes one JSON
object to the standard output: how many states were tried, and the faults, each with the moment and
the kind of the state.

The files that outlived the recording are written anew in place, so that each keeps what the file
system tells of it (device, inode, time of birth). Each state is looked at by a process of its own.
"""

import json
import random
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import frazil
from frazil.claims.claim import LastSeen
from frazil.errors import ConfigError
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from tests.power import breakage
from tests.power.alone import faults
from tests.power.disk import VARIANTS, Disk, events
from tests.power.load import NAMESPACES
from tests.tools.waiting import granted

PROBES = 5
FIRST_US = 1_760_000_000_000_000  # where nothing was noted


class Real:
    """The real files, which are made to hold a state."""

    def __init__(self, root: Path, stash: Path) -> None:
        self.root, self.stash = root, stash
        self.living = {p.stat().st_ino: p for p in root.rglob("*") if p.is_file()}
        for inode, path in self.living.items():
            path.rename(stash / str(inode))

    def become(self, state: dict) -> None:
        """Hold this state and nothing else."""
        shutil.rmtree(self.root)
        for name, (file, data) in state.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if file.inode in self.living and (self.stash / str(file.inode)).exists():
                (self.stash / str(file.inode)).rename(path)
            with path.open("r+b" if path.exists() else "xb") as writer:
                writer.truncate(0)
                writer.write(data)
        self.root.mkdir(exist_ok=True)

    def leave(self) -> None:
        """Take the files that outlived the recording away, for the next state."""
        for path in [path for path in self.root.rglob("*") if path.is_file()]:
            if path.stat().st_ino in self.living:
                path.rename(self.stash / str(path.stat().st_ino))


class History:
    """The notes of a recording about one namespace."""

    def __init__(self, notes: list[tuple[int, dict]]) -> None:
        self.notes = notes
        self.states = [None, frozenset()]  # before the record was made, and when it had been
        slots: dict[int, tuple] = {}
        for _, said in sorted(
            (each for each in notes if "seen" in each[1] and each[1]["verb"] != "initialise"),
            key=lambda each: each[1]["seen"]["revision"],
        ):
            if said["slot"] is not None:
                n, start, until = said["slot"]
                slots[n] = (n, start, until, bool(said["token"]))
            self.states.append(frozenset(slots.values()))

    def before(self, place: int) -> list[dict]:
        """The notes that had been written at a place of the log."""
        return [said for at, said in self.notes if at < place]

    def given(self, place: int) -> list[tuple[int, int, int]]:
        """The regions that may have been used up to then: slot, first value, end."""
        held: dict[str, list[int]] = {}
        minted = []
        for said in self.before(place):
            if said["verb"] == "close":
                held[said["token"]][2] = said["used"]
            elif said["verb"] in ("grant", "renew") and said["slot"]:
                known = held.setdefault(said["token"], list(said["slot"]))
                known[2] = said["slot"][2]
            elif said["verb"] == "mint" and said["slot"]:
                minted.append(tuple(said["slot"]))
        return minted + [tuple(each) for each in held.values()]

    def least(self, place: int) -> int:
        """The index in ``states`` of the last state confirmed up to then."""
        revisions = [said["seen"]["revision"] for said in self.before(place) if "seen" in said]
        return 1 + max(revisions) if revisions else 0


def look_around(order, histories: dict, place: int, now_us: int) -> Iterator[str]:
    """The faults of the state that the files are in, as sentences."""
    breakage.boot(order.boot, now_us)
    for name, text in NAMESPACES.items():
        history = histories[name]
        registry = connect(order.url, name, frazil.scheme(text))
        found = registry.look()
        state = found and frozenset((h.slot, h.start, h.until, h.held) for h in found.holdings)
        if state not in history.states:
            yield f"{name}: no commit left {state}"
            continue
        index = len(history.states) - 1 - history.states[::-1].index(state)
        durable = order.killed or not registry.terms.timed
        if durable and index < history.least(place):
            yield f"{name}: commit {history.least(place)} was confirmed, commit {index} is there"
        initialised = any(said["verb"] == "initialise" for said in history.before(place))
        try:
            yield from probe(name, registry, history.given(place), now_us)
        except ConfigError as error:
            if initialised or registry.terms.timed or "does not exist" not in str(error):
                yield f"{name}: {error}"
    path = Path(order.url.removeprefix("sqlite:").partition("?")[0])
    with sqlite3.connect(path) as db:
        (verdict,) = db.execute("PRAGMA integrity_check").fetchone()
    db.close()
    if verdict != "ok":
        yield f"integrity_check: {verdict}"


def probe(name: str, registry, given: list, now_us: int) -> Iterator[str]:
    """Claims for new members without a memory; no claim may overlap an earlier one."""
    terms, waited_us = registry.terms, 0
    given = list(given)

    def wait(us: int) -> None:
        nonlocal waited_us
        waited_us += us
        breakage.boot(None, now_us + waited_us)

    for _ in range(PROBES):
        reply = granted(registry, 10, wait)
        if waited_us > (terms.wait_ticks + 1) * terms.tick_us:
            yield f"{name}: a newcomer waits {waited_us} us"
            return
        farthest = terms.wait_ticks + 10 * PROBES  # one after another
        if terms.timed and reply.start > terms.tick_at(now_us) + farthest:
            yield f"{name}: {reply.start} is farther than a wait ahead"
        for slot, start, until in given:
            if slot == reply.slot and start < reply.until and reply.start < until:
                yield f"{name}: {reply.start}..{reply.until} of slot {slot} again: {start}..{until}"
        given.append((reply.slot, reply.start, reply.until))


def clock_at(notes: list, place: int, processes: int) -> int:
    """The clock's reading at a place of the log, or a moment later.

    A verb under way may have kept its reading; each process has at most one, and notes it next.
    """
    said = [(at, each["seen"]["now_us"]) for at, each in notes if "seen" in each]
    later = [now_us for at, now_us in said if at >= place][:processes]
    return max([now_us for at, now_us in said if at < place] + later + [FIRST_US])


def states(disk: Disk, dice: random.Random, variants: list[str]) -> Iterator[tuple[str, dict]]:
    """The states that a cut may leave now, each once, with its cause."""
    known = set()
    for variant in variants:
        state = disk.after_cut(
            VARIANTS[variant](disk, dice), dice.choice([b"\0", dice.randbytes(512)])
        )
        digest = frozenset((name, file.inode, data) for name, (file, data) in state.items())
        if digest not in known:
            known.add(digest)
            yield variant, state


def contents(root: Path) -> dict[str, bytes]:
    """All files by name."""
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def main():
    order = SimpleNamespace(**json.loads(sys.argv[1]))
    breakage.apply("nothing is synced")  # this process ends in peace, and sooner
    ask_of(LastSeen())  # imports its modules here and not in each child
    dice = random.Random(order.seed)
    log = list(events(Path(order.log)))
    notes = [(each.place, json.loads(each.data)) for each in log if each.kind == "n"]
    histories = {
        name: History([each for each in notes if each[1]["name"] == name]) for name in NAMESPACES
    }
    root = Path(order.root)
    disk = Disk(root.stat().st_ino)
    whole = contents(root)
    real = Real(root, Path(order.stash))
    cuts = {*dice.sample(range(len(log)), min(order.cuts, len(log))), *range(order.first)}
    variants = ["everything"] if order.killed else list(VARIANTS)
    tried, found = 0, []
    for number, event in enumerate(log):
        disk.apply(event)
        if number not in cuts:
            continue
        place = event.place + 1
        now_us = clock_at(notes, place, order.processes)
        for variant, state in states(disk, dice, variants):
            tried += 1
            real.become(state)
            said = faults(
                lambda place=place, now_us=now_us: look_around(order, histories, place, now_us)
            )
            real.leave()
            found += [{"cut": number, "variant": variant, "fault": each} for each in said]
        if any(all(sign in each["fault"] for sign in order.enough) for each in found):
            break
    else:
        final = {name: data for name, (_, data) in disk.after_cut(lambda *_: True, b"\0").items()}
        missed = [name for name in final | whole if final.get(name) != whole.get(name)]
        assert all(name.endswith("-shm") for name in missed), missed  # see recorder.c
    print(json.dumps({"states": tried, "operations": len(log), "faults": found}))  # noqa: T201


if __name__ == "__main__":
    main()
