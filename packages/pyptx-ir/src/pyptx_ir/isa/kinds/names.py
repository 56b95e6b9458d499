"""Operands that are labels, functions or argument lists. Manual: "Labels and Function Names as Operands", "call"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds.kind import Kind, Mismatch, Use

if TYPE_CHECKING:
    from pyptx_ir.isa.shapes import Shape

_UNKNOWN = ("", ".label")


def _mismatch_label(_argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    named = shape[0] == "symbol" and shape[1] in _UNKNOWN
    return None if named or shape == ("register", "") else Mismatch("a label")


def _mismatch_function(_argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    named = shape[0] == "symbol" and shape[1] in ("", ".func")
    return None if named else Mismatch("the name of a function")


def _mismatch_list(_argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    return None if shape[0] == "list" else Mismatch("a list in parentheses")


def _mismatch_branches(_argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    named = shape[0] == "symbol" and shape[1] in ("", ".targets")
    return None if named else Mismatch("the label of a .branchtargets")


def _mismatch_callees(_argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    """Check an indirect call's callees: the label of a .callprototype or .calltargets, or an array of functions."""
    named = shape[0] == "symbol" and shape[1] in ("", ".targets", ".global", ".const")
    return None if named else Mismatch("the label of a .callprototype or .calltargets, or an array of functions")


KINDS = (
    Kind("label", "a label", _mismatch_label, lambda _argument, _use, _index: ("done",)),
    Kind("function", "the name of a function", _mismatch_function, lambda _argument, _use, _index: ("function",)),
    Kind("list", "a list of arguments in parentheses", _mismatch_list, lambda _argument, _use, _index: ("()",)),
    Kind(
        "branches",
        "the label of a `.branchtargets` directive",
        _mismatch_branches,
        lambda _argument, _use, _index: ("branches",),
    ),
    Kind(
        "callees",
        "the label of a `.callprototype` or `.calltargets` directive, or an array of functions",
        _mismatch_callees,
        lambda _argument, _use, _index: ("prototype", "callees", "table"),
    ),
)
