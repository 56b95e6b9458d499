"""A kernel's call as an XLA custom call, which jit, vmap, scan, shard_map and other transformations trace."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, cast

import jax

from pyptx_dsl.origin import locate, user_frame
from pyptx_ir.plugins.rows import Input
from pyptx_jax.arguments import dimension_order, result_of
from pyptx_jax.batching import vmap_method
from pyptx_jax.errors import NotDifferentiableError
from pyptx_jax.framework import agreeing, hide_frames, scope, struct, varying_along, with_tangents, zeros
from pyptx_jax.numbers import opened, operands_of
from pyptx_jax.records import RECORDS
from pyptx_jax.targets import register
from pyptx_launch import xla

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_ir.plugins.rows import Argument, Launchable, Specialization
    from pyptx_jax.numbers import Operand

    Call: TypeAlias = Callable[..., Sequence[jax.Array]]

hide_frames("pyptx_dsl", "pyptx_jax")


def specialized(
    kernel: Launchable[Declaration],
    arguments: Sequence[Argument],
    keywords: Mapping[str, object],
    numbers: Iterable[str] = (),
) -> Specialization:
    """Check a call and return the traced specialization; without declared `Tile`s, its inputs are the arrays as passed.

    The scalars named in `numbers` have no value in the specialization: their values are operands of the custom call.
    """
    left = tuple(numbers)
    special = opened(kernel.specialize(arguments, {**keywords, **dict.fromkeys(left, 0)}), left)
    if special.inputs or not arguments:
        return special
    named = zip(kernel.declaration.tensors, arguments, strict=False)
    return replace(special, inputs=tuple(Input(name, row.shape, row.dtype, row.strides, 1) for name, row in named))


def bind(
    special: Specialization, arrays: Sequence[jax.Array], numbers: Mapping[str, jax.Array] | None = None
) -> object:
    """Call a kernel on arrays or tracers; return its outputs, then the new values of the inputs that it mutates.

    `numbers` are the values of traced scalars. Returns a single array itself, several arrays as a tuple, or None.
    """
    register()
    alike, axes = agreeing([*arrays, *(numbers or {}).values()])
    operands = operands_of(numbers or {})
    call = _nothing(special, axes) if 0 in special.grid else _custom_call(special, alike, axes, operands)
    results = _not_differentiable(special.entry, call)(*alike)
    return results[0] if len(results) == 1 else tuple(results) or None


def _nothing(special: Specialization, axes: frozenset[str]) -> Call:
    """Return a function that launches nothing, for a kernel whose grid has no CTAs because an array is empty."""
    outputs = [result_of(special.entry, row, frozenset()) for row in special.outputs]

    def named(*arrays: jax.Array) -> Sequence[jax.Array]:
        made = [varying_along(zeros(row.shape, row.dtype), axes) for row in outputs]
        return (*made, *(arrays[index] for index in special.mutated))

    named.__name__ = special.entry
    return named


def _custom_call(
    special: Specialization, arrays: Sequence[jax.Array], axes: frozenset[str], operands: Sequence[Operand]
) -> Call:
    """Return the custom call of a kernel for arrays with these shapes and dtypes, under the kernel's name."""
    outputs = [result_of(special.entry, row, axes) for row in special.outputs]
    mutated = [struct(arrays[index].shape, arrays[index].dtype, axes) for index in special.mutated]
    orders = [dimension_order(row) for row in special.inputs]
    call = jax.ffi.ffi_call(
        xla.NAME,
        [*outputs, *mutated],
        vmap_method="sequential" if operands else vmap_method(special),
        has_side_effect=not (outputs or mutated),
        input_layouts=[*orders, *(() for _ in operands)],
        output_layouts=[*map(dimension_order, special.outputs), *(orders[index] for index in special.mutated)],
        input_output_aliases={index: len(outputs) + number for number, index in enumerate(special.mutated)},
    )
    frame = user_frame()
    record = RECORDS.write(special, (frame.f_code.co_filename, frame.f_lineno) if frame else None, operands)

    def named(*arrays: jax.Array) -> Sequence[jax.Array]:
        with scope(special.entry):
            return call(*arrays, record=record)

    named.__name__ = special.entry
    return named


def _not_differentiable(name: str, call: Call) -> Call:
    """Return the custom call with a derivative rule that raises NotDifferentiableError at the line of the call."""
    place = locate(user_frame())

    def refuse(_primals: object, _tangents: object) -> NoReturn:
        raise NotDifferentiableError(
            f"{name} is a plain kernel without a derivative",
            where=place,
            help="use pyptx.differentiable_kernel with the kernel of its gradients, or jax.lax.stop_gradient on "
            "its inputs",
        )

    return cast("Call", with_tangents(call, refuse))
