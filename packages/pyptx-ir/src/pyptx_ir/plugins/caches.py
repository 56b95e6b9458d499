"""Caches of data from plugins, cleared together when a plugin is added."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

_FORGET: Final[list[Callable[[], None]]] = []  # `cache_clear` methods of the cached functions


def until_plugins_change(maxsize: int | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Cache a function of hashable arguments until a plugin is added, like `functools.lru_cache`."""

    def cached(function: Callable[P, R]) -> Callable[P, R]:
        made = functools.lru_cache(maxsize)(function)
        _FORGET.append(made.cache_clear)
        return cast("Callable[P, R]", made)  # no wrapper around lru_cache's result, for speed

    return cached


def forget_answers() -> None:
    """Clear all cached results that were computed from plugins."""
    for forget in _FORGET:
        forget()
