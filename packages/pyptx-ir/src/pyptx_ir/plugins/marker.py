"""The mark on a plugin's hooks. Free of pluggy, so that importing a plugin's module costs next to nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = "pyptx_impl"  # what `pluggy.HookimplMarker("pyptx")` sets, to a hook's options

P = ParamSpec("P")
R = TypeVar("R")


def hookimpl(function: Callable[P, R]) -> Callable[P, R]:
    """Mark `function` as the plugin's implementation of the hook that has its name."""
    vars(function)[MARK] = {}
    return function
