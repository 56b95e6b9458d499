"""`jax.vmap` of a kernel: one launch per item of the batch, in one XLA custom call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from pyptx_jax.arguments import bytes_of

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Input, Output, Specialization

# Bytes to which XLA aligns every GPU array ("kXlaAllocatedBufferAlignBytes"); kernels may rely on this alignment.
ALIGNMENT: Final = 128


def vmap_method(special: Specialization) -> Literal["expand_dims", "broadcast_all", "sequential"]:
    """Return the method by which jax.vmap batches the custom call of a kernel (jax.ffi's vmap_method).

    - `sequential`: jax copies each item out of the batch and calls the kernel once per item. Required if an array's
      size is not a multiple of `ALIGNMENT`, because items are contiguous in a batch and would be misaligned.
    - `broadcast_all`: one custom call launches all items; each launch has its own copy of every input, because the
      kernel writes to inputs.
    - `expand_dims`: one custom call launches all items; an input without a batch has a batch dimension of 1.
    """
    rows: tuple[Input | Output, ...] = (*special.inputs, *special.outputs)
    if any(bytes_of(row) % ALIGNMENT for row in rows):
        return "sequential"
    return "broadcast_all" if special.mutated else "expand_dims"
