"""Declarations of the entry parameters that contain array descriptors, or the addresses of descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax.nodes import Parameter
from pyptx_ir.syntax.operands import Immediate

if TYPE_CHECKING:
    from pyptx_ir.plugins.descriptor_rows import DescriptorKind

__all__ = ["descriptor_parameter", "has_room", "kind_of_size"]


def descriptor_parameter(tensor: str, kind: DescriptorKind, slots: str) -> Parameter:
    """Return the entry parameter for a tensor's descriptor: its bytes, or its address if `slots="pointer"`."""
    if slots == "pointer":
        return Parameter("u64", tensor + kind.suffix)
    size = (Immediate(str(kind.size)),)
    return Parameter("b8", tensor + kind.suffix, alignment=kind.alignment, dimensions=size)


def has_room(parameter: Parameter, kind: DescriptorKind) -> bool:
    """Return whether a parameter has the size and the alignment of an array descriptor, such as a tensor map."""
    return _has_size(parameter, kind) and (parameter.alignment or 1) >= kind.alignment


def kind_of_size(parameter: Parameter) -> DescriptorKind | None:
    """Return the first descriptor kind with the size of a parameter; None if no kind has that size."""
    if parameter.type != "b8" or not parameter.dimensions:  # a descriptor parameter is always an array of bytes
        return None
    from pyptx_ir.plugins.descriptors import descriptor_kinds

    return next((kind for kind in descriptor_kinds() if _has_size(parameter, kind)), None)


def _has_size(parameter: Parameter, kind: DescriptorKind) -> bool:
    from pyptx_ir.isa.modules.sizes import value_of

    return parameter.type == "b8" and [value_of(size) for size in parameter.dimensions] == [kind.size]
