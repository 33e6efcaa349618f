"""A registry on a small disk that another file fills and frees. Needs a mount namespace of its own.

The mount is seen by this process alone and goes with it.
"""

import subprocess
from pathlib import Path

import work

import frazil


def attempt(ids: frazil.Generator, name: str) -> str:
    """Issue; answers the error, if any."""
    try:
        work.IdLog(order, name).put(ids.take(2000))
    except frazil.FrazilError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def fill() -> None:
    """Leave no byte."""
    with (disk / "other").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 512)
        except OSError:
            return


def opened() -> frazil.Generator:
    return frazil.open(f"sqlite:{disk}/claims.db", order.scheme, timeout="2s")


order = work.order()
disk = Path(order.disk)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], check=True)
fill()
at_first = attempt(opened(), "never")
(disk / "other").unlink()
ids = opened()
while_there_is_room = attempt(ids, "before")
fill()
later = ""
for _ in range(500):
    later = later or attempt(ids, "meanwhile")
(disk / "other").unlink()
after = [attempt(ids, "after") for _ in range(3)][-1]
work.tell(at_first=at_first, room=while_there_is_room, later=later, after=after)
