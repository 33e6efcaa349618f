"""Properties that are computed once, without a lock.

``functools.cached_property`` has, before Python 3.12, one lock for all objects of a class. A fork
copies that lock as it is: where another thread of the parent was inside, the child waits for ever
for a thread that it does not have. What is kept here follows from values that do not change, so
two threads that compute it at once get the same, and neither has to wait.
"""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["Cached"]

T_co = TypeVar("T_co", covariant=True)


class Cached(Generic[T_co]):
    """A property whose value is kept in the object's ``__dict__``, where it is found from then on.

    The first value that is kept stays, so all threads see the same object.
    """

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
