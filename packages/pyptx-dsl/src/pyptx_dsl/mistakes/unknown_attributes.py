"""The error for an attribute that something of this package has not."""

from __future__ import annotations

import ast
from types import ModuleType
from typing import TYPE_CHECKING

from pyptx_dsl.errors import close
from pyptx_dsl.python_habits import REGISTER_NAMES

if TYPE_CHECKING:
    from pyptx_dsl.errors import DslError
    from pyptx_dsl.mistakes.source_expressions import Place

__all__ = ["unknown_attribute"]


def unknown_attribute(error: AttributeError, place: Place | None, where: str | None) -> DslError | None:
    """Return the error for an attribute that does not exist; None where the object is not ours."""
    owner, name = error.obj, error.name
    if not isinstance(name, str) or not _is_ours(owner):
        return None
    from pyptx_dsl.contract.tensors import TensorSpec
    from pyptx_dsl.errors import UnknownNameError
    from pyptx_dsl.registers.register import Reg

    node = None if place is None else place.node
    text = ast.unparse(node.value) if isinstance(node, ast.Attribute) else _named(owner)
    known = tuple(each for each in dir(owner) if not each.startswith("_"))
    if isinstance(owner, Reg):
        message = f"{text} is a {owner.dtype} register, which has no {name!r}"
        return UnknownNameError(
            message, where=where, hint=REGISTER_NAMES.get(name) or close(name, ("dtype", "max", "min", "name"))
        )
    if isinstance(owner, TensorSpec):
        return UnknownNameError(f"{text} has no {name!r}", where=where, hint=close(name, known))
    if callable(owner) and place is not None:
        from pyptx_dsl.mistakes.calling import dotted

        told = dotted(owner, place, where)
        if told is not None:
            return told
    return UnknownNameError(f"{text} has no {name!r}", where=where, hint=close(name, known))


def _named(owner: object) -> str:
    return str(getattr(owner, "__name__", None) or type(owner).__name__)


def _is_ours(owner: object) -> bool:
    """Tell whether an object is a module of ours, or made by one."""
    if isinstance(owner, ModuleType):
        return owner.__name__.startswith("pyptx")
    module = getattr(owner, "__module__", None) or type(owner).__module__
    return isinstance(module, str) and module.startswith("pyptx")
