"""Tables of Tiles and of a kernel's parameters, for notebooks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from pyptx_ir.drawing import element, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyptx_dsl.contract.launch import Dims
    from pyptx_dsl.contract.specs import Tile
    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_ir.drawing import Markup

_HEAD: Final = ("shape", "type", "bytes", "layout", "TMA box", "alignment")
PARAMETER: Final = ("parameter", "role", *_HEAD)
"""Names of the columns of a table of parameters."""


def tile_table(tile: Tile) -> Markup:
    """Return a table of a Tile: shape, element type, size in bytes, layout, TMA box, required alignment."""
    return table(repr(tile), _HEAD, [_row(tile)])


def parameter_table(declaration: Declaration) -> Markup:
    """Return a table of a kernel's parameters, followed by its grid, CTA size, target and template parameters."""
    grid, block = _sizes(declaration.grid), _sizes(declaration.block)
    launch = f"grid {grid}, block {block}, cluster {_sizes(declaration.cluster)}, target {declaration.target.name}"
    templates = ", ".join(f"{name}={value!r}" for name, value in declaration.templates.items())
    named = [element("p", f"template parameters: {templates}")] if templates else []
    rows = table(f"kernel {declaration.name}", PARAMETER, parameters(declaration))
    return element("div", rows, element("p", launch), *named)


def parameters(declaration: Declaration) -> Iterator[Sequence[object]]:
    """Yield a row for each parameter of a kernel, with the cells that `PARAMETER` names."""
    inputs = len(declaration.in_specs)
    for index, name in enumerate(declaration.tensors):
        written = "input, written" if index in declaration.mutated else "input"
        role = written if index < inputs or not declaration.tiles else "output"
        yield name, role, *(_row(declaration.tiles[index]) if declaration.tiles else [""] * len(_HEAD))
    for raw in declaration.raw:
        yield raw.name, "number" if raw.is_scalar else "bytes", "", str(raw.type), "", "", "", raw.alignment or ""


def _row(tile: Tile) -> Sequence[object]:
    layout = tile.layout.name + (f" (swizzle {tile.swizzle})" if tile.swizzle else "")
    box = "im2col" if tile.im2col else "" if tile.tma_box is None else _product(tile.tma_box)
    return _product(tile.shape), str(tile.dtype), _bytes(tile), layout, box, tile.align


def _product(sizes: Sequence[object]) -> str:
    return " x ".join(map(str, sizes))


def _bytes(tile: Tile) -> int | str:
    """Return the size of the array; for named dimensions a product such as `4 B N`."""
    fixed = math.prod(size for size in tile.shape if isinstance(size, int)) * tile.dtype.bits
    names = [size for size in tile.shape if isinstance(size, str)]
    whole = -(-fixed // 8)
    if not names:
        return whole
    return " ".join([str(whole) if fixed % 8 == 0 else str(fixed / 8), *names])


def _sizes(sizes: Dims | Callable[..., object]) -> str:
    return "a function of the dimensions" if callable(sizes) else _product(sizes)
