"""What a kernel returns, told from shapes alone: for meta and fake tensors, tracing, and torch.compile.

Sizes may be symbols. They are compared only as far as the Tiles compare them: a dimension that must agree with another
or with a number is a guard of the graph, any other stays open. Nothing is traced and nothing runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_dsl.binding import bind, merge_sizes, sort_keywords
from pyptx_dsl.contract import check_arguments, dense_strides
from pyptx_dsl.errors import KeywordError
from pyptx_ir.plugins.rows import Output
from pyptx_torch.devices import argument_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch

    from pyptx_dsl.declaration import Declaration


def outputs_of(
    declaration: Declaration,
    tensors: Sequence[torch.Tensor],
    keywords: Mapping[str, object],
    numbers: Mapping[str, object],
) -> tuple[Output, ...]:
    """Check a call as `Kernel.specialize` does, and return its outputs, whose sizes may be symbols."""
    sizes = _sizes(declaration, tensors, keywords, numbers)
    names = declaration.tensors[len(declaration.tensors) - len(declaration.out_specs) :]
    shapes = [tile.resolve_shape(sizes) for tile in declaration.out_specs]
    return tuple(
        Output(name, shape, tile.dtype.name, dense_strides(shape, tile.layout))
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
    # A symbol stands for an int, and does as one wherever sizes are compared and multiplied.
    symbols = {name: cast("int", numbers[name]) for name in declaration.dimensions if name in numbers}
    sizes: Mapping[str, int] = {**given.sizes, **symbols}
    if declaration.tiles:
        names = declaration.tensors[: len(declaration.in_specs)]
        seen = [argument_of(kernel, name, tensor) for name, tensor in zip(names, tensors, strict=True)]
        sizes = merge_sizes(kernel, sizes, check_arguments(kernel, names, declaration.in_specs, seen))
    bound = bind(declaration, sizes, given.templates)
    for row in declaration.raw:
        known = row.name in numbers or row.name in given.raw or row.name in bound
        if not known and given.templates.get(row.name) is None:
            raise KeywordError(f"{kernel} needs the raw parameter {row.name!r}", hint=f"pass {row.name}=…")
    return bound
