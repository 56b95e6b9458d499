"""Error for an unknown attribute of an object of this package."""

from __future__ import annotations

import ast
from types import ModuleType
from typing import TYPE_CHECKING

from pyptx_dsl.errors import close
from pyptx_dsl.mistakes.conversions import conversion
from pyptx_dsl.python_habits import KERNEL_NAMES, REGISTER_NAMES, meaning_of
from pyptx_dsl.types import PtxType, f32, u32

if TYPE_CHECKING:
    from pyptx_dsl.errors import DslError
    from pyptx_dsl.mistakes.source_expressions import ExpressionContext
    from pyptx_dsl.registers.handle import Handle

__all__ = ["unknown_attribute", "unknown_of_kernel"]


def unknown_attribute(error: AttributeError, place: ExpressionContext | None, where: str | None) -> DslError | None:
    """Return the error that explains an AttributeError; None if the object does not belong to this package."""
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
        help = REGISTER_NAMES.get(name) or close(name, ("dtype", "max", "min", "name"))
        if name in {"to", "astype", "cast"}:
            help = _converted(owner, text, place)
        return UnknownNameError(message, where=where, help=help)
    if isinstance(owner, TensorSpec):
        return UnknownNameError(f"{text} has no {name!r}", where=where, help=close(name, known))
    if callable(owner) and place is not None:
        from pyptx_dsl.mistakes.calling import dotted

        told = dotted(owner, place, where)
        if told is not None:
            return told
    meant = meaning_of(name) if text.startswith("ptx") else None
    return UnknownNameError(f"{text} has no {name!r}", where=where, help=meant or close(name, known))


def unknown_of_kernel(kernel: object, name: str) -> AttributeError:
    """Return the error for an unknown attribute of a kernel."""
    from pyptx_dsl.errors import UnknownNameError

    if name.startswith("_"):  # Python and frameworks look up names with `_` on any object
        return AttributeError(f"{type(kernel).__name__!r} object has no attribute {name!r}", name=name, obj=kernel)
    known = tuple(each for each in dir(type(kernel)) if not each.startswith("_"))
    return UnknownNameError(f"a kernel has no {name!r}", help=KERNEL_NAMES.get(name) or close(name, known))


def _converted(register: Handle, text: str, place: ExpressionContext | None) -> str:
    """Return a help text with the `ptx.cvt` call that does what `register.to(type)` would."""
    call = None if place is None else place.call()
    given = place.value(call.args[0]) if place is not None and call is not None and call.args else None
    wanted = given if isinstance(given, PtxType) else u32 if register.dtype.is_float else f32
    return conversion(wanted, register.dtype, text)


def _named(owner: object) -> str:
    return str(getattr(owner, "__name__", None) or type(owner).__name__)


def _is_ours(owner: object) -> bool:
    """Return whether an object is a Python module of this project, or its own or its class's `__module__` names one."""
    if isinstance(owner, ModuleType):
        return owner.__name__.startswith("pyptx")
    module = getattr(owner, "__module__", None) or type(owner).__module__
    return isinstance(module, str) and module.startswith("pyptx")
