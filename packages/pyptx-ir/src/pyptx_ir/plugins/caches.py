"""Caches of data from plugins, cleared together when a plugin is added."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

# The `cache_clear` methods of all functions whose cache depends on plugins.
_FORGET: Final[list[Callable[[], None]]] = []


def until_plugins_change(maxsize: int | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Cache a function of hashable arguments until a plugin is added, like `functools.lru_cache`."""

    def cached(function: Callable[P, R]) -> Callable[P, R]:
        made = functools.lru_cache(maxsize)(function)
        _FORGET.append(made.cache_clear)
        # Return the `lru_cache` object itself: a wrapper around it would make calls slower.
        return cast("Callable[P, R]", made)

    return cached


def forget_answers() -> None:
    """Clear all cached results that were computed from plugins."""
    for forget in _FORGET:
        forget()
