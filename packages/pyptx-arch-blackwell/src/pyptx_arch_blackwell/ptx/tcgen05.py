"""`ptx.tcgen05`: tensor memory and MMAs of the fifth generation of tensor cores (sm_100a, sm_103a, sm_110a).

Manual: "TensorCore 5th Generation Family Instructions".
"""

from __future__ import annotations

from typing import ClassVar

from pyptx_arch_blackwell import descriptors
from pyptx_arch_blackwell.ptx import allocation, copies, loads_and_stores, matrix_descriptors, synchronization
from pyptx_arch_blackwell.ptx import mma as mma_calls

__all__ = ["Tcgen05", "tcgen05"]


class Tcgen05:
    """`ptx.tcgen05`: tensor memory and MMA functions; each call emits one instruction unless stated otherwise."""

    BLACKWELL_MASKED_DESC_B128: ClassVar = matrix_descriptors.MASKED_B128
    """Descriptor bits with address 0: 128-byte swizzle, 1024 bytes between groups of 8 rows."""
    InstructionDescriptor: ClassVar = descriptors.InstructionDescriptor
    SharedDescriptor: ClassVar = descriptors.SharedDescriptor
    ZeroColumnMask: ClassVar = descriptors.ZeroColumnMask

    alloc = staticmethod(allocation.alloc)
    dealloc = staticmethod(allocation.dealloc)
    relinquish_alloc_permit = staticmethod(allocation.relinquish_alloc_permit)

    mma: ClassVar = mma_calls.mma
    mma_sp = staticmethod(mma_calls.mma_sp)
    mma_ws = staticmethod(mma_calls.mma_ws)
    mma_ws_sp = staticmethod(mma_calls.mma_ws_sp)

    ld = staticmethod(loads_and_stores.ld)
    st = staticmethod(loads_and_stores.st)
    fragment = staticmethod(loads_and_stores.fragment)
    wait_ld = staticmethod(synchronization.wait_ld)
    wait_st = staticmethod(synchronization.wait_st)

    cp = staticmethod(copies.cp)
    shift = staticmethod(copies.shift)

    commit = staticmethod(synchronization.commit)
    fence_before_thread_sync = staticmethod(synchronization.fence_before_thread_sync)
    fence_after_thread_sync = staticmethod(synchronization.fence_after_thread_sync)

    descriptor = staticmethod(matrix_descriptors.descriptor)
    advance = staticmethod(matrix_descriptors.advance)
    make_descriptor = staticmethod(matrix_descriptors.make_descriptor)
    masked_descriptor = staticmethod(matrix_descriptors.masked_descriptor)
    make_instr_desc_f16bf16_f32 = staticmethod(matrix_descriptors.make_instr_desc_f16bf16_f32)


tcgen05 = Tcgen05()
