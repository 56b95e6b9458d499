"""Outputs of a kernel from shapes alone: for meta and fake tensors, tracing, and torch.compile.

Sizes may be symbolic (SymInt). torch guards the graph only where a declared `Tile` requires a dimension to equal
another dimension or a number; other dimensions stay dynamic. The kernel is neither traced nor run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from pyptx_dsl.contract.arguments import alignment_of, check_arguments, dense_strides
from pyptx_dsl.errors import KeywordError
from pyptx_dsl.kernels.binding import bind, merge_sizes, sort_keywords
from pyptx_ir.plugins.rows import Output
from pyptx_torch.devices import argument_of
from pyptx_torch.internals import check_later, has_unknown_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch

    from pyptx_dsl.contract.specs import Tile
    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_ir.plugins.rows import Argument


def outputs_of(
    declaration: Declaration,
    tensors: Sequence[torch.Tensor],
    keywords: Mapping[str, object],
    numbers: Mapping[str, object],
) -> tuple[Output, ...]:
    """Check a call as `Kernel.specialize` does, and return the outputs' shapes and types, with symbolic sizes."""
    sizes = _sizes(declaration, tensors, keywords, numbers)
    names = declaration.tensors[len(declaration.tensors) - len(declaration.out_specs) :]
    shapes = [tile.resolve_shape(sizes) for tile in declaration.out_specs]
    return tuple(
        Output(name, shape, tile.dtype.name, dense_strides(shape, tile.layout), alignment_of(tile))
        for name, tile, shape in zip(names, declaration.out_specs, shapes, strict=True)
    )


def _sizes(
    declaration: Declaration,
    tensors: Sequence[torch.Tensor],
    keywords: Mapping[str, object],
    numbers: Mapping[str, object],
) -> Mapping[str, int]:
    kernel = declaration.name
    given = sort_keywords(declaration, keywords)
    # A SymInt behaves like an int in comparisons and products of sizes.
    symbols = {name: cast("int", numbers[name]) for name in declaration.dimensions if name in numbers}
    sizes: Mapping[str, int] = {**given.sizes, **symbols}
    if declaration.tiles:
        names = declaration.tensors[: len(declaration.in_specs)]
        seen = [argument_of(kernel, name, tensor) for name, tensor in zip(names, tensors, strict=True)]
        told = _told if any(map(has_unknown_size, tensors)) else check_arguments
        sizes = merge_sizes(kernel, sizes, told(kernel, names, declaration.in_specs, seen))
    bound = bind(declaration, sizes, given.templates)
    for row in declaration.raw:
        known = row.name in numbers or row.name in given.raw or row.name in bound
        if not known and given.templates.get(row.name) is None:
            raise KeywordError(f"{kernel}: missing raw parameter {row.name!r}", help=f"pass {row.name}=…")
    return bound


def _told(kernel: str, names: Sequence[str], tiles: Sequence[Tile], arguments: Sequence[Argument]) -> dict[str, int]:
    """Check arguments like `check_arguments`, but emit run-time assertions for sizes unknown while torch traces."""
    check_arguments(kernel, names, tiles, [_shapeless(*each) for each in zip(tiles, arguments, strict=True)])
    sizes: dict[str, int] = {}
    for name, tile, argument in zip(names, tiles, arguments, strict=True):
        for axis, (declared, actual) in enumerate(zip(tile.shape, argument.shape, strict=True)):
            wanted = sizes.setdefault(declared, actual) if isinstance(declared, str) else declared
            check_later(actual == wanted, f"{kernel}: {name}.shape[{axis}] does not match {declared} of {tile!r}")
        strides = zip(argument.strides, dense_strides(argument.shape, tile.layout), strict=True)
        for actual, dense in strides:
            check_later(actual == dense, f"{kernel}: {name} is not dense, which Layout.{tile.layout.name} requires")
    return sizes


def _shapeless(tile: Tile, argument: Argument) -> Argument:
    """Return an argument with its sizes and strides set to the Tile's, to check only rank, type and device."""
    if len(argument.shape) != tile.rank:
        return argument
    shape = tuple(size if isinstance(size, int) else 1 for size in tile.shape)
    return replace(argument, shape=shape, strides=dense_strides(shape, tile.layout))
