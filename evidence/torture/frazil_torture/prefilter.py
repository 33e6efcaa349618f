"""A fast filter for IDs that may be duplicates, before the exact search.

The search stores the position of each ID, which costs about a microsecond an ID, and nearly all IDs
are unique. Sorting numbers in place costs a hundredth of that and shows which values occur twice,
though not where. So with numpy all IDs are first sorted, in shares that fit in memory, and only IDs
with an equal neighbour go to the search. The value of an ID decides its share, so equal IDs are in
the same one. An ID of 128 bits is hashed to 64 bits: different IDs may then look equal, and the
search distinguishes them.

Without numpy there is no filter, and the search gets every ID.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from frazil_torture.id_log import Burst, bursts

__all__ = ["Prefilter"]

_MIX = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio, odd


class Prefilter:
    """The possible duplicates in some logs. shares: the number of parts to sort."""

    def __init__(self, paths: Sequence[Path], total: int, most: int = 1 << 26) -> None:
        self.shares = -(-total // most) or 1
        self._suspects: Any = None
        if importlib.util.find_spec("numpy") is not None:
            self._suspects = self._sorted(paths)

    def left(self, burst: Burst) -> list[int]:
        """The indices of the IDs of a burst that may be duplicates."""
        if self._suspects is None:
            return list(range(len(burst)))
        import numpy as np

        if not len(self._suspects):
            return []
        words = _words(burst)
        at = np.searchsorted(self._suspects, words)
        at[at == len(self._suspects)] = 0
        found: list[int] = np.flatnonzero(self._suspects[at] == words).tolist()
        return found

    def _sorted(self, paths: Sequence[Path]) -> Any:
        """The values that occur more than once, in order."""
        import numpy as np

        suspects = []
        for share in range(self.shares):
            kept = []
            for words in (_words(burst) for path in paths for burst in bursts(path)):
                if self.shares > 1:
                    parts = (words * np.uint64(_MIX) >> np.uint64(32)) % np.uint64(self.shares)
                    words = words[parts == share]  # noqa: PLW2901 - the rest is another share's
                kept.append(words)
            if kept:
                words = np.concatenate(kept)
                del kept
                words.sort()
                suspects.append(np.unique(words[1:][words[1:] == words[:-1]]))
        return np.sort(np.concatenate(suspects)) if suspects else np.zeros(0, np.uint64)


def _words(burst: Burst) -> Any:
    """A burst as 64-bit numbers, equal for equal IDs whatever the width of the burst."""
    import numpy as np

    words = np.frombuffer(burst.data, dtype="<u8")
    if burst.width == 16:
        low, high = words[::2], words[1::2]
        return np.where(high == 0, low, low * np.uint64(_MIX) ^ high)
    return words
