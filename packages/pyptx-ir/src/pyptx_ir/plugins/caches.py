"""Caches of what plugins hand in, forgotten together when a process gets another plugin."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

_FORGET: Final[list[Callable[[], None]]] = []  # one for each function that is cached, added where it is defined


def until_plugins_change(maxsize: int | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Cache a function of hashable arguments, as `functools.lru_cache` does, until a plugin is added."""

    def cached(function: Callable[P, R]) -> Callable[P, R]:
        made = functools.lru_cache(maxsize)(function)
        _FORGET.append(made.cache_clear)
        return cast("Callable[P, R]", made)  # as fast as lru_cache's own, because it is that

    return cached


def forget_answers() -> None:
    """Forget what was computed from the plugins that there were."""
    for forget in _FORGET:
        forget()
