"""Tensor maps as plain data for the JSON of kernel bundles, and back: `restore(Field("", plain(d))) == d`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from pyptx_dsl.json_fields import MOST_BYTES
from pyptx_dsl.types import TYPES
from pyptx_ir.plugins.packed import PACKED_ELEMENTS
from pyptx_ir.plugins.rows import FILLS, INTERLEAVES, L2_PROMOTIONS, SWIZZLES, Im2col, TensorMap

if TYPE_CHECKING:
    from pyptx_dsl.json_fields import Field

__all__ = ["plain", "restore"]

_MEMBERS: Final = (
    *("dtype", "shape", "strides", "box", "element_strides", "swizzle", "interleave", "l2_promotion", "fill"),
)
_IM2COL: Final = ("lower", "upper", "channels", "pixels")
_TYPES: Final = (*(row.name for row in TYPES), *PACKED_ELEMENTS)
_MOST_CORNER: Final = 1 << 15
_MOST_RANK: Final = 5


def plain(described: TensorMap) -> dict[str, object]:
    """Return a tensor map as a dictionary of strings, integers and lists; with key `im2col` only in im2col mode."""
    found = _plain(described, _MEMBERS)
    return found if described.im2col is None else {**found, "im2col": _plain(described.im2col, _IM2COL)}


def _plain(row: object, members: tuple[str, ...]) -> dict[str, object]:
    values: dict[str, object] = {name: getattr(row, name) for name in members}
    lists = {name: list(cast("tuple[object, ...]", each)) for name, each in values.items() if isinstance(each, tuple)}
    return {**values, **lists}


def restore(field: Field) -> TensorMap:
    """Return the tensor map in a JSON field of a kernel bundle; sizes are integers. `encode` checks the map."""
    value = field.value
    columns = isinstance(value, dict) and "im2col" in cast("dict[str, object]", value)
    found = field.members((*_MEMBERS, "im2col") if columns else _MEMBERS)
    im2col = _im2col(found["im2col"]) if columns else None
    shape, strides, steps = (_whole(found[name]) for name in ("shape", "strides", "element_strides"))
    box = _whole(found["box"]) if im2col is None else ()
    if len({len(each) for each in (shape, strides, box if im2col is None else shape, steps)}) > 1:
        raise field.wrong("its shape, strides, box and element_strides differ in length")
    return TensorMap(
        found["dtype"].choice(_TYPES),
        shape,
        strides,
        box,
        steps,
        found["swizzle"].choice(SWIZZLES),
        found["interleave"].choice(INTERLEAVES),
        found["l2_promotion"].choice(L2_PROMOTIONS),
        found["fill"].choice(FILLS),
        im2col,
    )


def _im2col(field: Field) -> Im2col:
    found = field.members(_IM2COL)
    lower, upper = (
        tuple(item.integer(-_MOST_CORNER, _MOST_CORNER) for item in found[name].items(_MOST_RANK))
        for name in ("lower", "upper")
    )
    channels, pixels = (found[name].integer(1, MOST_BYTES) for name in ("channels", "pixels"))
    return Im2col(lower, upper, channels, pixels)


def _whole(field: Field) -> tuple[int, ...]:
    return tuple(item.integer(1, MOST_BYTES) for item in field.items(_MOST_RANK, 1))
