"""The descriptor of acme_1: address of an array, and its size in bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyptx_ir.plugins.descriptor_rows import DescriptorCode, DescriptorKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_dsl.contract.specs import Tile
    from pyptx_dsl.json_fields import Field

_MOST_BYTES = 1 << 32


@dataclass(frozen=True, slots=True)
class Slice:
    """Descriptor of an array without its address: the length in bytes."""

    length: int

    @classmethod
    def of(cls, array: Any, *, dtype: str | None = None, skipped: int = 0) -> Slice:
        """Return the descriptor fields of an array without the `skipped` bytes at its end."""
        del dtype  # unused: the descriptor has no element type
        return cls(getattr(array, "array", array).nbytes - skipped)


def _describe(tile: Tile, sizes: Mapping[str, int]) -> Slice:
    return Slice(math.prod(tile.resolve_shape(sizes)) * tile.dtype.bytes)


def _plain(described: Slice) -> dict[str, object]:
    return {"length": described.length}


def _restore(field: Field) -> Slice:
    return Slice(field.members(("length",))["length"].integer(1, _MOST_BYTES))


def _array_alignment(_described: Slice) -> int:
    return 16


def _storage(name: str, _described: Slice) -> Sequence[str]:
    return [f"uint64_t {name}_words[2];", f"void *{name} = {name}_words;"]


def _encoding(name: str, described: Slice, address: str) -> Sequence[str]:
    return [f"{name}_words[0] = {address};", f"{name}_words[1] = {described.length};"]


def _expresses(_described: Slice) -> bool:
    return True


SLICE = DescriptorKind(
    name="acme_slice",
    described=Slice,
    size=16,
    alignment=8,
    suffix="_slice",
    example='Tile("N", f32)',
    describe=_describe,
    plain=_plain,
    restore=_restore,
    array_alignment=_array_alignment,
    code=DescriptorCode((), _storage, _encoding, _expresses),
)
