"""A file system that is cut off its disk while processes mint on it, again and again.

The kernel's own means of testing file systems does it: the shutdown call of ext4 and xfs, here with
the flag that flushes nothing. From then on nothing reaches the disk (an image file behind a
loop device), all calls fail, and what was only in memory is thrown away. Mounted again, the file
system recovers as after a power cut; the processes that come next are told of another boot. All IDs
of all rounds are counted: none may repeat, and no process may find the file damaged.

This does not show a disk that reorders writes; ``test_power_cut`` simulates one.
"""

import fcntl
import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.power.mint import COUNTED, TIMED
from tests.processes.harness import count
from tests.tools.waiting import until

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.geteuid() != 0,
    reason="cutting a file system off its disk: needs root on Linux",
)

HERE = Path(__file__).parent
IMAGE_BYTES = {"ext4": 32 << 20, "xfs": 320 << 20}
SHUTDOWN, NO_FLUSH = 0x8004587D, struct.pack("=I", 2)  # EXT4_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN
ROUNDS, PROCESSES = 3, 2


class Cuttable:
    """A file system in an image file. ``place`` is where it is mounted."""

    def __init__(self, kind: str, directory: Path) -> None:
        self.image, self.place = directory / "image", directory / "disk"
        self.place.mkdir()
        with self.image.open("wb") as file:
            file.truncate(IMAGE_BYTES[kind])
        subprocess.run([f"mkfs.{kind}", "-q", self.image], check=True)

    @contextmanager
    def mounted(self) -> Iterator[Path]:
        """In place for the length of the block; no file on it may be open at its end."""
        done = subprocess.run(
            ["mount", "-o", "loop", self.image, self.place], capture_output=True, check=False
        )
        if done.returncode:
            pytest.skip(f"cutting a file system off its disk: {done.stderr.decode().strip()}")
        try:
            yield self.place
        finally:
            subprocess.run(["umount", self.place], check=True)
            until(self._let_go, "all processes to release the disk")

    def _let_go(self) -> bool:
        """A container of another program may keep a copy of all mounts for a while."""
        listed = subprocess.run(["losetup", "-j", self.image], capture_output=True, check=True)
        return not listed.stdout

    def cut(self) -> None:
        """From now on nothing reaches the disk."""
        place = os.open(self.place, os.O_RDONLY)
        try:
            fcntl.ioctl(place, SHUTDOWN, NO_FLUSH)
        finally:
            os.close(place)


@contextmanager
def minting(out: Path, turn: int, order: dict[str, Any]) -> Iterator[None]:
    """Processes at work, each of which has issued something of each kind."""
    started = []
    for number in range(PROCESSES):
        name = f"{turn}-{number}"
        said = (out / f"{name}.said").open("wb")
        command = [sys.executable, str(HERE / "mint.py"), json.dumps(order | {"name": name})]
        with said:
            process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        started.append((name, process))
    try:
        for name, process in started:
            at_work(out, name, process)
        yield
    finally:
        for _, process in started:
            process.kill()
            process.wait()


def at_work(out: Path, name: str, process: "subprocess.Popen[bytes]") -> None:
    """Wait until a process has issued, and do not if it has ended."""
    outlets = [out / f"{kind}-{name}.u64" for kind in ("timed", "counted")]

    def ready() -> bool:
        return all(path.exists() and path.stat().st_size for path in outlets)

    until(lambda: process.poll() is not None or ready(), f"{name} to be at work", patience_s=180)
    assert process.poll() is None, (out / f"{name}.said").read_text()


def cut_again_and_again(place: Path, kind: str, broken: str = "") -> tuple[int, int]:
    """Repeats among all IDs with time, and among all numbers counted."""
    if not shutil.which(f"mkfs.{kind}"):
        pytest.skip(f"cutting a file system off its disk: no mkfs.{kind} here")
    disk, dice = Cuttable(kind, place), random.Random(f"{kind} {place.name}")
    file = disk.place / "state" / "claims.db"
    url = f"sqlite:{file}"
    with disk.mounted():
        file.parent.mkdir()
        initialise(url, TIMED, "default")
        initialise(url, COUNTED, "count")
    for turn in range(ROUNDS):
        order = {"url": url, "out": str(place), "broken": broken}
        order["boot"] = f"boot-{turn}"
        with disk.mounted(), minting(place, turn, order):
            time.sleep(dice.uniform(0.05, 0.4))
            disk.cut()
    with disk.mounted(), closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return count(place, "timed-*.u64")[1], count(place, "counted-*.u64")[1]


def initialise(url: str, layout: str, namespace: str) -> None:
    """Say that a namespace is new, in a process that leaves no file open."""
    command = [sys.executable, "-m", "frazil", "init", "--new", url, "-s", layout]
    command += ["--namespace", namespace]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("kind", list(IMAGE_BYTES))
def test_nothing_repeats_on_a_file_system_that_was_cut_off(tmp_path, kind):
    assert cut_again_and_again(tmp_path, kind) == (0, 0)


def test_a_real_cut_shows_that_counters_are_not_synced(tmp_path):
    """A cut right after the journal's own commit loses nothing, so one run in twelve shows none."""
    places = [tmp_path / str(attempt) for attempt in range(8)]
    assert any(repeats_or_refuses(place) for place in places)


def repeats_or_refuses(place: Path) -> bool:
    """The result of unsynced counters: a repeat; or an error, if the notes beside the file show
    that commits are missing."""
    place.mkdir()
    try:
        return cut_again_and_again(place, "ext4", "commits are not synced")[1] > 0
    except AssertionError as error:
        return "this counter" in str(error)
