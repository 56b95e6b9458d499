"""Values that are made once for each key, by whichever thread asks first, while others go on with theirs."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Key = TypeVar("Key", bound="Hashable")
Value = TypeVar("Value")


class OncePerKey(Generic[Key, Value]):
    """A cache in which no lock is held while a value is made, so that compilers run side by side.

    A thread that asks for a key in the making waits for that key alone. What fails is not kept: the exception goes to
    the thread that made it, and whoever has waited tries by itself.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._made: dict[Key, Future[Value]] = {}

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of `key`, made by `make` if it is the first to be asked for."""
        while True:
            with self._lock:
                found = self._made.get(key)
                if found is None:
                    mine = self._made[key] = Future[Value]()
                    break
            if found.exception() is None:
                return found.result()
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                if self._made.get(key) is mine:
                    del self._made[key]
            mine.set_exception(error)
            raise
        mine.set_result(value)
        return value

    def clear(self) -> None:
        """Forget all values; one that is being made goes to those that wait for it."""
        with self._lock:
            self._made = {}

    def __len__(self) -> int:
        """Return how many values there are, those in the making included."""
        return len(self._made)
