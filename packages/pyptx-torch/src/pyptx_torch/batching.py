"""vmap of a kernel's operator: the kernel runs once per example of the batch, and its outputs are stacked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

import torch

from pyptx_dsl.errors import LayoutError
from pyptx_torch import fake
from pyptx_torch.devices import dtype_of
from pyptx_torch.internals import batched
from pyptx_torch.layouts import dense

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_torch.internals import Overload
    from pyptx_torch.operators import Operator


class VmapInfo(Protocol):
    """Batch information that torch passes to a vmap rule."""

    batch_size: int


def run(
    operator: Operator,
    overload: Overload,
    arguments: Sequence[torch.Tensor],
    keywords: Mapping[str, object],
) -> object:
    """Run an operator's overload on tensors, some of which have the batch dimension of the innermost vmap."""

    def rule(
        info: VmapInfo, dims: Sequence[int | None], *tensors: torch.Tensor, **given: object
    ) -> tuple[object, object]:
        size = _size(operator, info, dims)
        if not size:
            return _none(operator, dims, tensors, given)
        made = [_example(operator, overload, number, dims, tensors, given) for number in range(size)]
        if made[0] is None:
            return None, None
        if isinstance(made[0], torch.Tensor):
            return torch.stack(cast("list[torch.Tensor]", made)), 0
        rows = cast("list[tuple[torch.Tensor, ...]]", made)
        return tuple(torch.stack(column) for column in zip(*rows, strict=True)), tuple(0 for _ in rows[0])

    return batched(rule, overload, arguments, keywords)


def _size(operator: Operator, info: VmapInfo, dims: Sequence[int | None]) -> int:
    """Return the number of examples in the batch; raise LayoutError if all examples would write to one tensor."""
    kernel, signature = operator.kernel.name, operator.signature
    for index, (name, dim) in enumerate(zip((*signature.inputs, *signature.outputs), dims, strict=False)):
        written = index in signature.mutated or index >= len(signature.inputs)
        if written and dim is None:
            raise LayoutError(
                f"{kernel} writes to {name}, which has no batch dimension, for each example of a vmap",
                help=f"pass {name} with the batch dimension (in_dims), or let the kernel allocate it",
            )
    return info.batch_size


def _none(
    operator: Operator, dims: Sequence[int | None], tensors: Sequence[torch.Tensor], keywords: Mapping[str, object]
) -> tuple[object, object]:
    """Return a kernel's outputs for an empty batch, without a launch."""
    inputs = len(operator.signature.inputs)
    if len(tensors) > inputs or not operator.signature.outputs:
        return None, None
    shapes = [
        [size for axis, size in enumerate(tensor.shape) if axis != dim]
        for tensor, dim in zip(tensors, dims, strict=True)
    ]
    examples = [tensor.new_empty(shape) for tensor, shape in zip(tensors, shapes, strict=True)]
    declaration, given = operator.kernel.declaration, dict(keywords)
    rows = fake.outputs_of(declaration, examples, operator.read(given), operator.numbers(given))
    made = [
        tensors[0].new_empty((0, *row.shape), dtype=dtype_of(operator.kernel.name, row.name, row.dtype)) for row in rows
    ]
    return (made[0], 0) if len(made) == 1 else (tuple(made), (0,) * len(made))


def _example(
    operator: Operator,
    overload: Overload,
    number: int,
    dims: Sequence[int | None],
    tensors: Sequence[torch.Tensor],
    keywords: Mapping[str, object],
) -> object:
    """Run the kernel for one example. Non-dense tensors are copied, and copied back if the kernel writes to them."""
    whole = [tensor if dim is None else tensor.select(dim, number) for tensor, dim in zip(tensors, dims, strict=True)]
    tiles = operator.kernel.declaration.tiles
    passed = [dense(tensor, tile) for tensor, tile in zip(whole, tiles, strict=False)] if tiles else whole
    made = overload(*passed, **keywords)
    inputs = len(operator.signature.inputs)
    for index, (mine, copied) in enumerate(zip(whole, passed, strict=True)):
        if copied is not mine and (index in operator.signature.mutated or index >= inputs):
            mine.copy_(copied)
    return made
