"""What a walk must ask the machine at every ID: how much time has passed, and am I still myself?

Both questions stand in front of every single ID, so both must cost nanoseconds.

*Time* is the boot clock (see ``clock``). A reading may be a few microseconds old: then the end of a
tick is noticed so much later, and no ID depends on that (see ``walk``).

*Am I still myself?* After ``fork`` two processes hold the same claim, and both would issue from
it. Comparing ``os.getpid()`` costs a system call each time, and is wrong where both sides have
the same number (two pid namespaces). Hooks (``os.register_at_fork``) are not run for a fork made
by a C library. So the answer is a page of memory that the kernel itself wipes in the child
(``MADV_WIPEONFORK``, Linux 4.14): one word on it holds the *era* of this process. A child finds
zero, whoever forked, and starts a new era; what was made in an older era is then known to belong
to somebody else. Where the kernel has no such page, at-fork hooks write the zero.

``PureSense`` is the reference in plain Python, ``_machine.pyx`` the same in C, and ``Sense`` the
one in use: C where it was built, unless the environment says ``FRAZIL_PURE=1``. Without the C one
the walk runs from its source too. What copies memory without a signal (a virtual machine resumed
twice) is outside what either can see.
"""

import mmap
import os
import sys

from frazil.clock import boot_ns
from frazil.errors import InternalError

__all__ = ["PureSense", "Sense"]

_WIPE_ON_FORK = 18  # MADV_WIPEONFORK, which Python's mmap does not export

_page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
_words = memoryview(_page).cast("Q")
_eras = 0
TYPE_CHECKING = False  # as in typing, which every `import frazil` would have to load


def _wipe() -> None:
    _words[0] = 0


try:
    _page.madvise(_WIPE_ON_FORK)
except OSError:
    os.register_at_fork(after_in_child=_wipe)


def _era() -> int:
    """The era of this process; a fresh one if the page was wiped."""
    global _eras
    if not _words[0]:
        _eras += 1
        _words[0] = _eras
    return _words[0]


class PureSense:
    """The two senses of one generator. Make a new one after each fork."""

    __slots__ = ("era", "word")

    def __init__(self) -> None:
        self.era = _era()
        self.word = _words  # its first entry is the era, or zero after a fork

    now_ns = staticmethod(boot_ns)
    """Nanoseconds since boot, suspend included."""

    def intact(self) -> bool:
        """Whether this process is the one that made this object."""
        return _words[0] == self.era


def _wanted_pure() -> bool:
    return os.environ.get("FRAZIL_PURE", "") not in ("", "0")


def interpret(name: str) -> None:
    """Load a module of this package from its source although a compiled one is there."""
    import importlib.util  # only without a compiled core

    path = os.path.join(os.path.dirname(__file__), name.rpartition(".")[2] + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InternalError(f"no source for {name} at {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


if TYPE_CHECKING:
    Sense = PureSense
elif _wanted_pure():
    Sense = PureSense
    interpret("frazil.walk")
else:
    try:
        from frazil._machine import Sense
    except ImportError:
        Sense = PureSense
        interpret("frazil.walk")
