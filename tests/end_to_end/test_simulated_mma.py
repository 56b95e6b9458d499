"""WGMMAs update one accumulator in the order of issue, regardless of when they complete."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import bf16, f32, u32

pytestmark = pytest.mark.hopper

A = SharedTile(bf16, (64, 64))
B = SharedTile(bf16, (64, 64), major="MN")


@kernel(
    in_specs=(A.tma_tile(64, 64), B.tma_tile(64, 64)),
    out_specs=(Tile(64, 64, f32),),
    grid=1,
    block=128,
    arch="sm_90a",
)
def multiply(a: Any, b: Any, c: Any) -> None:
    """C = A B. Outstanding WGMMAs stay in flight across CTA barriers, where some of them may complete."""
    sA, sB, full = smem.tile(A), smem.tile(B), smem.mbarrier(1)
    tid, acc = reg.from_(ptx.special.tid.x(), u32), reg.wgmma_frag(m=64, n=64, dtype=f32)
    with ptx.if_(tid == 0):
        ptx.mbarrier.init(full[0], 1)
        ptx.fence.proxy_async_shared_cta()
        ptx.mbarrier.arrive_expect_tx(full[0], A.stage_bytes + B.stage_bytes)
        ptx.cp.async_.bulk.tensor_2d(dst=sA, src=a, coord=(0, 0), mbar=full[0])
        ptx.cp.async_.bulk.tensor_2d(dst=sB, src=b, coord=(0, 0), mbar=full[0])
    ptx.bar.sync()
    ptx.mbarrier.wait(full[0], 0)
    ptx.wgmma.fence()
    for k in range(0, 64, 16):
        ptx.wgmma.mma_async(
            shape=(64, 64, 16),
            dtype_d=f32,
            dtype_a=bf16,
            dtype_b=bf16,
            d=acc,
            a=sA,
            b=sB,
            a_k_offset=A.offset(k=k),
            b_k_offset=B.offset(k=k),
            scale_d=k > 0,  # the first WGMMA overwrites the accumulator
        )
        ptx.wgmma.commit_group()
    for _ in range(4):
        ptx.bar.sync()
    ptx.wgmma.wait_group(0)
    (pc,) = ptx.global_ptrs(c)
    held = ptx.wgmma.fragment(shape=(64, 64, 16), operand="d", dtype=f32)
    for i in range(held.count):
        ptx.st(f32, ptx.addr(pc + (held.row(tid, i) * 64 + held.column(tid, i)) * 4), acc[i])
    ptx.ret()


@pytest.mark.parametrize("schedule", [{}, {"delay_async": True}, *({"seed": seed} for seed in range(1, 6))])
def test_products_on_one_accumulator_land_in_the_order_of_issue(schedule: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((64, 64)).astype(ml_dtypes.bfloat16) for _ in range(2))
    result = multiply.simulate(a, b, **schedule)
    assert result.findings == ()
    np.testing.assert_allclose(result.outputs[0], a.astype(np.float64) @ b.astype(np.float64), rtol=0, atol=1e-4)
