"""Labels, functions and lists. Manual: "Labels and Function Names as Operands", "call"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds.kind import OPERAND_TYPE, Kind, Misfit, Use

if TYPE_CHECKING:
    from pyptx_ir.isa.shapes import Shape

_UNKNOWN = ("", ".label")
_ADDRESSES = ("u64", "b64", "s64", "u32", "b32", "s32", "")


def _unfit_label(_argument: str, shape: Shape, _use: Use) -> Misfit | None:
    named = shape[0] == "symbol" and shape[1] in _UNKNOWN
    return None if named or shape == ("register", "") else Misfit("a label")


def _unfit_function(_argument: str, shape: Shape, _use: Use) -> Misfit | None:
    """Judge what a call names: a function, or a register with the address of one."""
    if shape[0] == "symbol" and shape[1] in ("", ".func", ".entry"):
        return None
    if shape[0] == "register":
        return None if shape[1] in _ADDRESSES else Misfit("a function", OPERAND_TYPE)
    return Misfit("a function, or a register with its address")


def _unfit_list(_argument: str, shape: Shape, _use: Use) -> Misfit | None:
    return None if shape[0] == "list" else Misfit("a list in parentheses")


def _unfit_targets(_argument: str, shape: Shape, _use: Use) -> Misfit | None:
    named = shape[0] == "symbol" and shape[1] in ("", ".label", ".targets")
    return None if named else Misfit("the label of a .branchtargets, .calltargets or .callprototype")


KINDS = (
    Kind("label", "a label", _unfit_label, lambda _argument, _use, _index: ("done",)),
    Kind("function", "a function, or a register with its address", _unfit_function, lambda _a, _u, _i: ("function",)),
    Kind("list", "a list of arguments in parentheses", _unfit_list, lambda _argument, _use, _index: ("()",)),
    Kind("targets", "the label of a list of targets or a prototype", _unfit_targets, lambda _a, _u, _i: ("targets",)),
)
