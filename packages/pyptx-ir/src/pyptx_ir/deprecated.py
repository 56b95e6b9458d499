"""Deprecated names that have moved: the old path works for one more release, with a warning."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["moved_names"]


def moved_names(module: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a module with moved names; each use warns with DeprecationWarning.

    The warning has the line of the user. `homes` maps an old name to the full path of the new one, `{"Kernel":
    "pyptx_dsl.kernels.kernel.Kernel"}`; that module is imported at the first access. Any other name raises
    AttributeError.
    """

    def get(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place, _, now = home.rpartition(".")
        value: object = getattr(import_module(place), now)
        message = f"{module}.{name} is deprecated and will be removed in the next release; use {home}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return value

    return get
