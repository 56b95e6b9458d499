"""What a kernel's parameters are filled with, a row for each, in the order of the entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_launch.tensor_maps import arguments_of

if TYPE_CHECKING:
    from pyptx_launch._shim import MapArguments
    from pyptx_launch.tensor_maps import TensorMapLike


@dataclass(frozen=True, slots=True)
class Pointer:
    """`.param .u64`: the address of tensor `index`; inputs count first, then outputs."""

    index: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number by value, of a PTX type; `value` is used when a launch gives none, and with None a launch must."""

    type: str
    name: str
    value: int | float | None = None


@dataclass(frozen=True, slots=True)
class Map:
    """`.param .align 64 .b8 name[128]`: the tensor map of tensor `index`, by value."""

    index: int
    map: TensorMapLike


@dataclass(frozen=True, slots=True)
class MapPointer:
    """`.param .u64`: the address of the tensor map of tensor `index`, kept in the device's memory."""

    index: int
    map: TensorMapLike


Parameter = Pointer | Scalar | Map | MapPointer

Row = tuple[str, int, str, str, "int | float | None", "MapArguments | None"]


def row_of(parameter: Parameter) -> Row:
    """Return a parameter as the compiled part takes it; checks a tensor map's rules."""
    match parameter:
        case Pointer(index):
            return ("pointer", index, "", "", None, None)
        case Scalar(type_, name, value):
            return ("scalar", 0, type_, name, value, None)
        case Map(index, map_):
            return ("map", index, "", "", None, arguments_of(map_))
        case MapPointer(index, map_):
            return ("map_pointer", index, "", "", None, arguments_of(map_))
