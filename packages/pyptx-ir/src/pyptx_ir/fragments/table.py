"""Fragments of NVIDIA's MMA instructions, by instruction name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.fragments.mma import mma_fragment, wmma_fragment
from pyptx_ir.fragments.sparse import metadata_fragment, sparse_fragment
from pyptx_ir.plugins.rows import Fragments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_ir.fragments.layout import Fragment
    from pyptx_ir.fragments.mma import Operand

_OPERANDS: Final[Mapping[str, Operand]] = {"a": "a", "b": "b", "c": "c", "d": "d"}


def _operand(name: str) -> Operand:
    found = _OPERANDS.get(name)
    if found is None:
        raise ValueError(f"operand must be one of {', '.join(_OPERANDS)}, got {name!r}")
    return found


def _dense(shape: str, operand: str, element: str, order: str) -> Fragment:
    return mma_fragment(shape, _operand(operand), element, order)


def _sparse(shape: str, operand: str, element: str, _order: str) -> Fragment:
    """Return the layout of an mma.sp operand: the stored half of `a`, the metadata `e`, or an operand as in mma."""
    if operand == "e":
        return metadata_fragment(shape, element)
    return sparse_fragment(shape, element) if operand == "a" else mma_fragment(shape, _operand(operand), element)


def _opaque(shape: str, operand: str, element: str, _order: str) -> Fragment:
    return wmma_fragment(shape, _operand(operand), element)


FRAGMENTS: Final = (Fragments("mma", _dense), Fragments("mma.sp", _sparse), Fragments("wmma", _opaque))
