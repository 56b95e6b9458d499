"""Names of `ptx` that plugins provide, and errors for names that no installed plugin provides."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from pyptx_dsl.errors import MissingNamespaceError, UnknownNameError
from pyptx_dsl.instructions.forms.wrapper import of_rows
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.python_habits import meaning_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["extension", "namespace"]


def namespace(name: str, known: Sequence[str]) -> object:
    """Return `ptx.<name>` from the plugin that provides it, or the function of an instruction that has rows only.

    Raise MissingNamespaceError, with the install command, for a name of a package that is not installed, and
    UnknownNameError for an unknown name; both are AttributeErrors.
    """
    if name.startswith("_"):
        raise AttributeError(f"module 'pyptx_dsl.ptx' has no attribute {name!r}")
    found = _provided(name) or of_rows(name)
    if found is not None:
        return found
    _refuse_missing(name)
    raise UnknownNameError(f"unknown name ptx.{name}", help=meaning_of(name) or _nearest(name, known))


def _nearest(name: str, known: Sequence[str]) -> str:
    """Return the help for an unknown name: the `ptx.inst` call of an instruction, or similar names of `ptx`."""
    from pyptx_ir.plugins.manager import manager

    if manager().instructions_of(to_ptx(name)):
        return f"write the instruction: ptx.inst.{name}.…(…)"
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{meant}dir(ptx) lists all names; an instruction that the table lacks is ptx.inst.{name}.…(…)"


def extension(parent: str, name: str) -> object:
    """Return `ptx.<parent>.<name>`, which a plugin registers under this dotted name."""
    if name.startswith("__"):
        raise AttributeError(name)
    full = f"{parent}.{name}"
    found = _provided(full)
    if found is not None:
        return found
    _refuse_missing(full)
    raise UnknownNameError(f"unknown name ptx.{parent}.{name}", help=f"write any instruction as ptx.inst.{full}.…(…)")


def _provided(name: str) -> object | None:
    """Return the object that an installed plugin provides under a name of `ptx`; None if no plugin does."""
    from pyptx_ir.plugins.errors import MissingPluginError
    from pyptx_ir.plugins.manager import manager

    try:
        return manager().namespace(name)
    except MissingPluginError:
        return None


def _refuse_missing(name: str) -> None:
    """Raise MissingNamespaceError for a name of `ptx` that a package defines which is not installed."""
    from pyptx_ir.plugins.homes import home_of_namespace, install_hint

    home = home_of_namespace(name)
    if home is not None:
        raise MissingNamespaceError(f"ptx.{name} needs {home}", help=install_hint(home))
