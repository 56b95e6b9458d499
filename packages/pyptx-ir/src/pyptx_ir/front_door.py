"""Lazy imports of a package's public names (PEP 562), so that importing the package is cheap."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, cast

from pyptx_ir.renamed import missing_attribute

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def late_names(
    package: str, homes: Mapping[str, str], others: str | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package; `__getattr__` imports each name of `homes` from its module.

    `homes` maps a public name to its module, relative to the package; a name that maps to itself is a submodule. Type
    checkers read the same names from imports under `TYPE_CHECKING`. `others` is a module of the package. Its
    `offered(name)` returns a class that plugins provide, or None; it is called for capitalized names not in `homes`.
    """

    def get(name: str) -> object:
        home = homes.get(name)
        if home is None:
            found = import_module(f"{package}.{others}").offered(name) if others and name[:1].isupper() else None
            if found is not None:
                return cast("object", found)
            raise missing_attribute(package, name)
        module = import_module(f"{package}.{home}")
        value = module if name == home else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names
