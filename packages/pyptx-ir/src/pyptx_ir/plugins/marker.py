"""The mark of hook implementations. The mark does not need pluggy, so that importing a plugin's module is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = "pyptx_impl"  # attribute that `pluggy.HookimplMarker("pyptx")` sets to the hook's options

P = ParamSpec("P")
R = TypeVar("R")


def hookimpl(function: Callable[P, R]) -> Callable[P, R]:
    """Mark `function` as the plugin's implementation of the hook with its name."""
    vars(function)[MARK] = {}
    return function
