"""What a member remembers of a reply; and, of a wait after a loss, what its host remembers.

The wait ends when a member asks that has known the new ``sid`` for a horizon and an eighth of its
boot clock (see ``frazil.claims.record``). Where all processes of a namespace live less long, as a
command that runs every minute beside a horizon of ten, none of them could end it. So a process that
has to wait notes when it heard so, and the next one of its user on this host continues from there:
they have one boot clock. The note is a file beside the locks of static numbers, in memory, which no
other host sees and no restart keeps. A process that makes one removes those older than a week.

Limit: a container has its own files in memory, and only Linux has them.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from frazil.claims.claim import Claim, LastSeen, Lost, Terms, VerbRequest, Wait
from frazil.system.clock import wall_us
from frazil.system.digest import digest

_PLACE = "/dev/shm"  # noqa: S108 - a file there is used only if it is this user's
_KEPT_S = 7 * 24 * 3600


def remembered(
    ask: VerbRequest, reply: Claim | Wait | Lost | LastSeen, heard_us: int, terms: Terms
) -> LastSeen:
    """See ``VerbRequest.memory``."""
    memory = ask.memory(reply, heard_us, terms)
    noted = terms.timed and terms.shared
    if noted and isinstance(reply, Wait) and reply.guarded and memory.told_us == heard_us:
        with suppress(OSError, ValueError):
            return memory._replace(told_us=_first_told_us(memory.sid, heard_us))
    return memory


def _first_told_us(sid: str, heard_us: int) -> int:
    """When a process of this host first heard of ``sid``; notes it if it is this one."""
    if sys.platform != "linux":
        return heard_us
    # The boot clock of another boot, or of another time namespace, is another clock.
    clock = Path("/proc/sys/kernel/random/boot_id").read_text("utf-8")
    clock += str(Path("/proc/self/ns/time").readlink())
    name = digest(f"{sid} {clock} {os.geteuid()}")
    place = Path(os.environ.get("FRAZIL_LOCKS") or _PLACE)
    path = place / f"frazil-wait-{name}"
    try:
        note = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        note = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            noted_us = int(os.read(note, 32))
            mine = os.fstat(note).st_uid == os.geteuid()  # else another user could shorten the wait
        finally:
            os.close(note)
        return noted_us if mine and 0 <= noted_us <= heard_us else heard_us
    try:
        os.write(note, str(heard_us).encode())
    finally:
        os.close(note)
    for old in place.iterdir():  # glob() loads a module at its first call, from Python 3.15 on
        with suppress(OSError):  # another user's, or removed meanwhile
            if (
                old.name.startswith("frazil-wait-")
                and old.lstat().st_mtime < wall_us() / 1e6 - _KEPT_S
            ):
                old.unlink()
    return heard_us
