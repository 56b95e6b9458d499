"""`jax.vmap` of a kernel: one launch per item of the batch, in one call of XLA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from pyptx_jax.arguments import bytes_of

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Input, Output, Specialization

# XLA aligns every GPU array to this ("kXlaAllocatedBufferAlignBytes"), and kernels may rely on it.
ALIGNMENT: Final = 128


def vmap_method(special: Specialization) -> Literal["expand_dims", "broadcast_all", "sequential"]:
    """Return the method by which jax batches the call of a kernel.

    Items are contiguous in a batch. If each item is aligned like a separate array, the call takes whole batches. Arrays
    shared by all launches then have a batch dimension of 1. A kernel that writes to its inputs needs an input for each
    launch. Otherwise jax copies the items out and calls the kernel for one after the other.
    """
    rows: tuple[Input | Output, ...] = (*special.inputs, *special.outputs)
    if any(bytes_of(row) % ALIGNMENT for row in rows):
        return "sequential"
    return "broadcast_all" if special.mutated else "expand_dims"
