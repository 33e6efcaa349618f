"""What a first ID makes the thread of an event loop do that may block it.

``python -m tests.tools.loop_watch URL NAMESPACE [VARIANT]`` opens a generator, awaits its first ID
and its end, and prints what it saw as a list in JSON. No time is measured: what is seen are calls.
On the loop's thread these are connects of sockets that wait, look-ups of names, opens of files and
of SQLite, locks of files, sleeps, imports, and all functions of a store or its driver. On another
thread it is an import alone, because most of an import holds the interpreter, and so the loop.

A variant does on purpose what must be seen.
"""

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import frazil
import frazil.aio
from frazil.registries.memory import MemoryRegistry

_EVENTS = {
    "fcntl.flock",
    "fcntl.lockf",
    "import",
    "open",
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "sqlite3.connect",
    "subprocess.Popen",
    "time.sleep",
}
_STORES = (
    "/frazil/registries/",
    "/frazil/redis_link/link.py",
    "/urllib3/",
    "/kazoo/",
    "/psycopg/",
    "/pymysql/",
    "/sqlite3/",
)
_WAITS = "/frazil/generator/calls.py", "wait"


class LoopWatch:
    """Notes the calls of this thread, and the imports of all, while ``on`` is true."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        self._thread = threading.get_ident()
        sys.addaudithook(self._audited)
        sys.setprofile(self._called)

    def end(self) -> None:
        """See nothing from now on."""
        self.on = False
        sys.setprofile(None)

    def _audited(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on or event not in _EVENTS:
            return
        mine = threading.get_ident() == self._thread
        waits = event != "socket.connect" or arguments[0].gettimeout() != 0
        if (mine and waits) or event == "import":
            where = "the loop's thread" if mine else "another thread"
            self.seen.append(f"{event} {arguments[0]!s:.80} in {where}")

    def _called(self, frame: Any, event: str, _: object) -> None:
        if not self.on or event != "call":
            return
        code = frame.f_code
        file = Path(code.co_filename).as_posix()
        waits = file.endswith(_WAITS[0]) and code.co_name == _WAITS[1]
        if waits or any(part in file for part in _STORES):
            self.seen.append(f"{code.co_qualname} of {file[-60:]} in the loop's thread")


class _Importing(MemoryRegistry):
    """Imports a module when it is first asked."""

    def grant(self, *arguments: Any) -> Any:
        """See Registry."""
        import colorsys  # noqa: F401

        return super().grant(*arguments)


async def _blocking(url: str, namespace: str) -> None:
    """The generator that is not awaited."""
    with frazil.open(url, namespace=namespace, timeout=30) as ids:
        ids()


async def _asking(url: str, namespace: str) -> None:
    """The store is asked on the loop's thread."""
    frazil.registries.connect(url, namespace, frazil.scheme("icicle")).look()


async def _importing(url: str, namespace: str) -> None:
    """The store's thread imports a module."""
    where = frazil.inputs.url.parse_url(url)
    registry = _Importing(where, namespace, frazil.scheme("icicle"))
    async with frazil.aio.open(registry=registry) as ids:
        await ids()


VARIANTS: dict[str, Callable[[str, str], Any]] = {
    "blocking": _blocking,
    "asking": _asking,
    "importing": _importing,
}


def _found_nothing(what: str) -> bool:
    """Whether it is an import of a module that is not there, which drivers try."""
    kind, name, *_ = what.split()
    return kind == "import" and name not in sys.modules


async def _watched(url: str, namespace: str, variant: str = "") -> list[str]:
    watch = LoopWatch()
    if variant:
        watch.on = True
        await VARIANTS[variant](url, namespace)
    else:
        ids = frazil.aio.open(url, namespace=namespace, timeout=30)
        watch.on = True
        await ids()
        await ids.take(3)
        await ids.aclose()
    watch.on = False
    return [each for each in watch.seen if not _found_nothing(each)]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(_watched(*sys.argv[1:]))))
