"""Packages whose names are imported when they are first used (PEP 562), so that importing the package costs nothing."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def late_names(
    package: str, homes: Mapping[str, str], others: str | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package that gives each name of `homes` out of the module there.

    `homes` maps a public name to its module, relative to the package; a name that maps to itself is the module. Type
    checkers read the same names from imports under `TYPE_CHECKING`. `others` is a module there whose `offered(name)`
    is asked for a class that no home has, and returns it or None: what plugins bring.
    """

    def get(name: str) -> object:
        home = homes.get(name)
        if home is None:
            found = import_module(f"{package}.{others}").offered(name) if others and name[:1].isupper() else None
            if found is not None:
                return cast("object", found)
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{home}")
        value = module if name == home else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names
