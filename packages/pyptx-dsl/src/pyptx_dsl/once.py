"""Values that are made once for each key, by whichever thread asks first, while others go on with theirs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Key = TypeVar("Key", bound="Hashable")
Value = TypeVar("Value")


class OncePerKey(Generic[Key, Value]):
    """Values shared by all who ask for their key, for as long as one of them holds the value.

    No lock is held while a value is made, so that compilers run side by side. A thread that asks for a key in the
    making waits for that key alone, and makes the value if the first could not.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._known: WeakValueDictionary[Key, Value] = WeakValueDictionary()
        self._making: dict[Key, threading.Event] = {}  # set when a thread is done with it

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of `key`, made by `make` where nobody has one; raise what `make` raises."""
        while True:
            with self._lock:
                known, making = self._known.get(key), self._making.get(key)
                if known is not None:
                    return known
                if making is None:
                    self._making[key] = threading.Event()
                    break
            making.wait()
        try:
            made = make()
            with self._lock:
                self._known[key] = made
            return made
        finally:
            with self._lock:
                self._making.pop(key).set()

    def __contains__(self, key: object) -> bool:
        """Tell whether somebody holds the value of a key."""
        return key in self._known

    def __len__(self) -> int:
        """Return how many values are held by somebody."""
        return len(self._known)
