"""Labels, functions and lists. Manual: "Labels and Function Names as Operands", "call"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds.kind import Kind, Misfit, Use

if TYPE_CHECKING:
    from pyptx_ir.isa.shapes import Shape

_UNKNOWN = ("", ".label")


def _unfit_label(_argument: str, shape: Shape, _use: Use) -> Misfit | None:
    named = shape[0] == "symbol" and shape[1] in _UNKNOWN
    return None if named or shape == ("register", "") else Misfit("a label")


def _unfit_function(_argument: str, shape: Shape, _use: Use) -> Misfit | None:
    named = shape[0] == "symbol" and shape[1] in ("", ".func")
    return None if named else Misfit("the name of a function")


def _unfit_list(_argument: str, shape: Shape, _use: Use) -> Misfit | None:
    return None if shape[0] == "list" else Misfit("a list in parentheses")


def _unfit_branches(_argument: str, shape: Shape, _use: Use) -> Misfit | None:
    named = shape[0] == "symbol" and shape[1] in ("", ".targets")
    return None if named else Misfit("the label of a .branchtargets")


def _unfit_callees(_argument: str, shape: Shape, _use: Use) -> Misfit | None:
    """Judge what tells whom a call through a register may reach: a prototype, a list, or a table of functions."""
    named = shape[0] == "symbol" and shape[1] in ("", ".targets", ".global", ".const")
    return None if named else Misfit("the label of a .callprototype or .calltargets, or an array of functions")


KINDS = (
    Kind("label", "a label", _unfit_label, lambda _argument, _use, _index: ("done",)),
    Kind("function", "a function", _unfit_function, lambda _argument, _use, _index: ("function",)),
    Kind("list", "a list of arguments in parentheses", _unfit_list, lambda _argument, _use, _index: ("()",)),
    Kind("branches", "the label of a list of labels", _unfit_branches, lambda _argument, _use, _index: ("branches",)),
    Kind(
        "callees",
        "the label of a prototype or a list of functions, or an array of them",
        _unfit_callees,
        lambda _argument, _use, _index: ("prototype", "callees", "table"),
    ),
)
