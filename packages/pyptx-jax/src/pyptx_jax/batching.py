"""What `jax.vmap` does with a kernel: as many launches as the batch has items, in one call of XLA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from pyptx_jax.arguments import bytes_of

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Input, Output, Specialization

# XLA starts every array of a GPU at a multiple of this ("kXlaAllocatedBufferAlignBytes"), and kernels may rely on it.
ALIGNMENT: Final = 128


def vmap_method(special: Specialization) -> Literal["expand_dims", "broadcast_all", "sequential"]:
    """Return how jax batches the call of a kernel.

    Items lie one behind the other in a batch. Where each of them starts as well aligned as an array of its own, the
    call takes whole batches, and 1 for the batch dimension of what all launches share; a kernel that writes to its
    inputs needs an input for each launch. Otherwise jax copies the items out, one after the other.
    """
    rows: tuple[Input | Output, ...] = (*special.inputs, *special.outputs)
    if any(bytes_of(row) % ALIGNMENT for row in rows):
        return "sequential"
    return "broadcast_all" if special.mutated else "expand_dims"
