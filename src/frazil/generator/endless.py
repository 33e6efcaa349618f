"""Errors for code that treats a generator as a collection.

Most libraries read an iterable to its end. A generator has none, so ``set(ids)`` would never
return, and pandas, Polars and Arrow would use all memory. Without ``__iter__`` most of them raise,
but ``pd.Series(ids)`` and ``np.array(ids)`` then store the generator itself, once for all rows.
So ``__iter__`` and ``__array__`` raise an error here that says what to write.
"""

from typing import Any, NoReturn

__all__ = ["Endless"]

_ADVICE = (
    "a generator has no end, so it is not a collection of IDs; write ids.take(n) for a list, "
    "ids.array(n) for a column, ids.stream() for a loop"
)


class Endless:
    """Base class of generators."""

    def __iter__(self) -> NoReturn:
        """Raise TypeError."""
        raise TypeError(_ADVICE)

    def __array__(self, *_arguments: Any, **_options: Any) -> NoReturn:
        """Raise TypeError."""
        raise TypeError(_ADVICE)
