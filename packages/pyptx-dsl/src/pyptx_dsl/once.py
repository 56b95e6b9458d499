"""Cache of values that are computed once per key, by the first thread that requests the key."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Key = TypeVar("Key", bound="Hashable")
Value = TypeVar("Value")


class OncePerKey(Generic[Key, Value]):
    """Values shared by all users of a key, for as long as one of them keeps a reference.

    No lock is held while a value is computed, so compilers run in parallel. A thread that requests a key being computed
    waits for that key only. It computes the value itself if the first thread failed.
    """

    def __init__(self) -> None:
        """Create an empty cache."""
        self._lock = threading.Lock()
        self._known: WeakValueDictionary[Key, Value] = WeakValueDictionary()
        self._making: dict[Key, threading.Event] = {}  # key -> event set when the computation of its value ends

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the stored value of `key`, or compute it with `make`; exceptions of `make` propagate."""
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
        """Return whether a value of this key is stored, which requires that a caller still references it."""
        return key in self._known

    def __len__(self) -> int:
        """Return the number of values in the cache."""
        return len(self._known)
