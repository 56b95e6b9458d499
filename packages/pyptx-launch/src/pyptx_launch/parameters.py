"""Kernel parameters of a plan, one object per parameter, in the order of the entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyptx_launch.errors import LaunchError
from pyptx_launch.tensor_maps import packed

if TYPE_CHECKING:
    from pyptx_launch.tensor_maps import TensorMapLike


@dataclass(frozen=True, slots=True)
class Pointer:
    """`.param .u64`: the address of tensor argument `index`; inputs are counted first, then outputs."""

    index: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """Scalar of a PTX type, by value. `value` is the default; with None, each launch must pass a value."""

    type: str
    name: str
    value: int | float | None = None


@dataclass(frozen=True, slots=True)
class Map:
    """`.param .align 64 .b8 name[128]`: the tensor map of tensor argument `index`, by value."""

    index: int
    map: TensorMapLike


@dataclass(frozen=True, slots=True)
class MapPointer:
    """`.param .u64`: the address in device memory of the tensor map of tensor argument `index`."""

    index: int
    map: TensorMapLike


Parameter = Pointer | Scalar | Map | MapPointer

# Parameter description for the native extension: SlotKind, tensor index; ScalarKind, bytes and value; packed tensor
# map.
Row = tuple[int, int, int, int, "int | float | None", bytes]

_KINDS: Final = {"b": 0, "u": 1, "s": 2, "f": 3, "bf": 4}
SCALAR_TYPES: Final = {
    f"{letters}{bits}": (_KINDS[letters], bits // 8)
    for letters, widths in (("b", (8, 16, 32, 64)), ("u", (8, 16, 32, 64)), ("s", (8, 16, 32, 64)), ("f", (16, 32, 64)))
    for bits in widths
} | {"bf16": (_KINDS["bf"], 2)}


def row_of(parameter: Parameter) -> Row:
    """Return a parameter as the tuple that the native extension takes; checks the rules of a tensor map."""
    match parameter:
        case Pointer(index):
            return (0, index, 0, 0, None, b"")
        case Scalar(type_, name, value):
            if type_ not in SCALAR_TYPES:
                raise LaunchError(f"unsupported type {type_} of scalar {name}: types are {', '.join(SCALAR_TYPES)}")
            return (1, 0, *SCALAR_TYPES[type_], value, b"")
        case Map(index, map_):
            return (2, index, 0, 0, None, packed(map_))
        case MapPointer(index, map_):
            return (3, index, 0, 0, None, packed(map_))


def size_of(row: Row) -> int:
    """Return the size of a parameter in bytes."""
    return (8, row[3], 128, 8)[row[0]]
