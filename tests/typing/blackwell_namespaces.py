"""Types of the namespaces of Blackwell's plugin. Never run: `nox -s types` checks it.

`assert_type` fails if a type changes; a `# type: ignore[code]` fails if mypy no longer reports that error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

from pyptx import ptx, reg
from pyptx.types import b32, bf16, f32, u32
from pyptx_arch_blackwell.descriptors import InstructionDescriptor
from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory
from pyptx_dsl.registers.register import Reg
from pyptx_ir.fragments.layout import Fragment

if TYPE_CHECKING:
    from pyptx_dsl.shared_memory.allocations import SharedAlloc


def tensor_memory(warp: Reg) -> None:
    """An allocation of tensor memory and its slices have type `TensorMemory`."""
    with ptx.tmem.alloc(512, when=warp == 0, relinquish=True) as t:
        assert_type(t, TensorMemory)
        assert_type(t[0:32, 64:], TensorMemory)
        assert_type(t.quarter(warp), TensorMemory)
        assert_type(t.address(), Reg)
        t.quater(warp)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a typo
    ptx.tmem.alloc("512")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  a number is expected


def products(t: TensorMemory, a: SharedAlloc) -> None:
    """`tcgen05.mma` takes tensor memory, tiles and descriptors."""
    product = InstructionDescriptor("f16", d="f32", a="bf16", b="bf16", m=128, n=256)
    assert_type(product.bits, int)
    assert_type(ptx.tcgen05.descriptor(a, k=16), Reg)
    assert_type(ptx.tcgen05.mma(t, a, a, product), None)
    ptx.tcgen05.mma.async_2sm(t, a, a, shape=(256, 256), dtype_d=f32, dtype_a=bf16, dtype_b=bf16)
    ptx.tcgen05.mma(t, a, a, product, block="16")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  a number is expected
    ptx.tcgen05.mma.async_2sm(t, a, a, product, cta_group=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  its name fixes the group
    ptx.tcgen05.mma_wz(t, a, a)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a typo


def moves(t: TensorMemory) -> None:
    """Loads of tensor memory return registers, and stores to tensor memory take registers."""
    assert_type(ptx.tcgen05.ld(None, t, shape="32x32b"), list[Reg])
    ptx.tcgen05.st(t, reg.array(b32, 8), shape="32x32b")
    assert_type(ptx.tcgen05.fragment(shape=(128, 64)), Fragment)
    ptx.tcgen05.commit(reg.scalar(u32), multicast_mask=3)
