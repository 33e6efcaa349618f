"""The two checks before every ID: how much time has passed, and is this the same process?

Both checks must cost nanoseconds.

*Time* is the boot clock (see ``clock``). A reading may be a few microseconds old: then the walk
notices the end of a tick later, and no ID depends on that (see ``walk``).

*Same process?* After ``fork`` two processes hold the same claim, and both would issue from it. A
comparison of ``os.getpid()`` costs a system call each time, and is wrong if both have the same
number (in two pid namespaces). So the check reads one word of memory, which holds the *era* of this
process and is zero in a child. A child that reads zero starts a new era; objects of an older era
belong to another process. The word becomes zero in two ways, because each misses some copies:

- The kernel wipes its page in the child (``MADV_WIPEONFORK``, Linux 4.14) after every fork. A page
  that another process gets without a fork is not wiped.
- An at-fork hook writes the zero: of the C library for the C identity, which a fork in C runs too,
  and of Python (``os.register_at_fork``) for the one in Python.

A *virtual machine* resumed twice from one snapshot makes two copies of all its processes. Linux
shows a restore in a page that it shares with the hypervisor (``/dev/vmclock0``): a word on it
changes before the guest continues. If this process may read that page, a new value of the word ends
the era too. If not, a constant word is in its place and a restore is not noticed.

``PureIdentity`` is the reference in plain Python, ``_process.pyx`` the same in C, and
``ProcessIdentity`` the one in use: C if it was built, unless the environment has ``FRAZIL_PURE=1``.
"""

import mmap
import os
import sys
from functools import partial
from itertools import count

from frazil.system.clock import boot_ns, in_c

_WIPE_ON_FORK = 18  # MADV_WIPEONFORK, which Python's mmap does not export

# struct vmclock_abi in the kernel's linux/vmclock-abi.h; all its numbers are little-endian.
_VMCLOCK = "/dev/vmclock0"
_MAGIC = 0x4B4C4356
_FLAGS = 3  # the words of 64 bits, by number
_DISRUPTIONS = 2  # changes when the guest's clock was disrupted: a restore, a live migration
_GENERATION = 13  # changes at a restore only
_HAS_GENERATION = 1 << 8
_ABI_BYTES = 112

if hasattr(mmap, "MAP_PRIVATE"):
    _page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
else:  # Windows, which has no fork either
    _page = mmap.mmap(-1, mmap.PAGESIZE)
_words = memoryview(_page).cast("Q")
_eras = count(1)
_vm_word = memoryview(bytes(8)).cast("Q")
_vm_seen = 0
TYPE_CHECKING = False  # as in typing, which is slow to load


def at_fork(**hooks: "Callable[[], object]") -> None:
    """``os.register_at_fork``; nothing on a system without forks, which has no such function."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**hooks)


# In C: a signal handler that raises at the beginning of a function in Python would skip it.
at_fork(after_in_child=partial(_words.__setitem__, 0, 0))
try:  # noqa: SIM105 - contextlib is slow to load
    _page.madvise(_WIPE_ON_FORK)
except (AttributeError, OSError):  # the hook alone notices forks: not those of C code
    pass


def _era(vm_now: int) -> int:
    """The era of this process; a new one if the page was wiped or the machine restored.

    The era is written first: an exception before the second line starts another era.
    """
    global _vm_seen
    if not _words[0] or vm_now != _vm_seen:
        _words[0] = next(_eras)
        _vm_seen = vm_now
    return _words[0]


def unlock(held: object) -> None:
    """In a child: free the lock that an object of a compiled class has without the GIL."""
    if in_c is not None and held is not None:
        in_c.unlock(held)


class PureIdentity:
    """The clock and the identity check of one generator. Make a new one after each fork.

    word: its first entry is the era, or zero after a fork. vm_word: its first entry is vm_seen, or
    another value after a restore of the machine.
    """

    __slots__ = ("era", "vm_seen", "vm_word", "word")

    def __init__(self) -> None:
        self.vm_word = _vm_word
        self.vm_seen = _vm_word[0]
        self.era = _era(self.vm_seen)
        self.word = _words

    now_ns = staticmethod(boot_ns)  # nanoseconds since boot, suspend included

    def intact(self) -> bool:
        """Whether this process made this object."""
        return self.mine

    @property
    def mine(self) -> bool:
        """The same, as the last check before a ``return``.

        Python runs signal handlers after a call, so a handler may fork between ``intact()`` and the
        ``return`` after it. It runs none after it reads an attribute.
        """
        return self.word[0] == self.era and self.vm_word[0] == self.vm_seen


def _vm_words(path: str) -> memoryview | None:
    """The words of the page that the hypervisor writes; None without a readable page."""
    try:
        device = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (AttributeError, OSError):  # Windows has no such flag
        return None
    try:
        page = mmap.mmap(device, mmap.PAGESIZE, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
    except (OSError, ValueError):
        return None
    finally:
        os.close(device)
    numbers = memoryview(page).cast("I")
    known = sys.byteorder == "little" and numbers[0] == _MAGIC and numbers[1] >= _ABI_BYTES
    return memoryview(page).cast("Q") if known else None


def watch(path: str) -> None:
    """From now on, a new value of the VM clock's word at ``path``, if it exists, ends the era."""
    global _vm_word, _vm_seen
    words = _vm_words(path)
    if words is not None:
        at = _GENERATION if words[_FLAGS] & _HAS_GENERATION else _DISRUPTIONS
        _vm_word = words[at : at + 1]
        _vm_seen = _vm_word[0]
        if _watch_in_c is not None:
            _watch_in_c(_vm_word)


if TYPE_CHECKING:
    from collections.abc import Callable

    ProcessIdentity = PureIdentity
    _watch_in_c: Callable[[memoryview], None] | None
elif in_c is None:
    ProcessIdentity, _watch_in_c = PureIdentity, None
else:
    ProcessIdentity, _watch_in_c = in_c.ProcessIdentity, in_c.watch

watch(_VMCLOCK)
