"""Properties that are computed once, without a lock.

Before Python 3.12, ``functools.cached_property`` has one lock for all objects of a class. A fork
copies that lock: if another thread of the parent held it, the child waits forever. The values here
depend only on constants, so two threads that compute one at the same time get the same value.
"""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class Cached(Generic[T_co]):
    """A property that keeps its first value in the object's ``__dict__``, for all threads."""

    def __init__(self, compute: Callable[[Any], T_co]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T_co: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T_co:
        if instance is None:
            return self
        value: T_co = instance.__dict__.setdefault(self._name, self._compute(instance))
        return value
