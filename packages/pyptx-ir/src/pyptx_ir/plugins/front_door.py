"""Modules that show a plugin's names without importing it: each name is looked up at its first use (PEP 562)."""

from __future__ import annotations

import sys
from operator import attrgetter
from typing import TYPE_CHECKING

from pyptx_ir.plugins.errors import MissingPackageError, MissingPluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def provided_names(
    package: str, namespace: str, names: Sequence[str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a module that takes `names` from a plugin's namespace.

    A dotted `namespace` is inside another namespace. Without the plugin, each name raises MissingPackageError with a
    hint to install the plugin's package. Type checkers read the same names from imports under `TYPE_CHECKING`.
    """

    def get(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from pyptx_ir.plugins.manager import manager

        head, _, rest = namespace.partition(".")
        try:
            owner = manager().namespace(head)
        except MissingPluginError as error:
            raise MissingPackageError(f"{package}.{name}: {error.message}", help=error.help) from None
        value = attrgetter(f"{rest}.{name}" if rest else name)(owner)
        setattr(sys.modules[package], name, value)
        return value

    def shown() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return get, shown
