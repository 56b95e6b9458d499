"""Cache of a kernel's jax-compiled functions, one for each set of call keywords."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from pyptx_dsl.kernels.keys import freeze

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

_SIZE: Final = 64
_PLAIN: Final = frozenset({bool, int, float, str, type(None)})


class Wrappers:
    """Latest jax-compiled functions of one kernel, by keywords; each caches one XLA program per input shape."""

    def __init__(self, make: Callable[[Mapping[str, object]], Callable[..., object]]) -> None:
        """Create an empty cache; `make(keywords)` creates a jax-compiled function."""
        self._make = make
        self._functions: OrderedDict[Hashable, Callable[..., object]] = OrderedDict()

    def known(self, keywords: Mapping[str, object]) -> Callable[..., object] | None:
        """Return the cached function for these keywords; None without one, or if a value is not a number, str or None.

        A function is cached only for keywords that an earlier call has checked.
        """
        if any(type(value) not in _PLAIN for value in keywords.values()):
            return None
        return self._functions.get(freeze(keywords))

    def get(self, keywords: Mapping[str, object]) -> Callable[..., object]:
        """Return the function for these keywords; a new function each time if the keywords cannot be compared."""
        key = freeze(keywords)
        if key is None:
            return self._make(keywords)
        known = self._functions.get(key)
        if known is None:
            known = self._functions[key] = self._make(keywords)
            if len(self._functions) > _SIZE:
                self._functions.pop(next(iter(self._functions)), None)
        return known
