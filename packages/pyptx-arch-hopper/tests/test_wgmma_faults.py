"""Findings for wgmma with wrong operands, or issued by only some of the warpgroup's warps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_dsl.types import bf16, f32, u32, u64
from pyptx_sim import run

if TYPE_CHECKING:
    from pyptx_dsl.kernels.kernel import Kernel

A = SharedTile(bf16, (64, 64))
B = SharedTile(bf16, (64, 64), major="MN")
MIDDLE = 3 * 128  # bytes: the tile starts at row 3 of a swizzle pattern
DISTANCES = {"leading_byte_offset": 16, "stride_byte_offset": 1024}
SCHEDULES = [{}, {"seed": 3}, {"delay_async": True}]


def multiply(fault: str) -> Kernel:
    """Return a kernel with an MMA of two tiles loaded by TMA, correct or with an injected fault."""

    def product(a: object, b: object, c: object) -> None:
        sA, sB, full = smem.tile(A), smem.tile(B), smem.mbarrier(1)
        region, into = sA, sA
        if fault == "in the middle of a swizzle pattern":
            region = smem.alloc(bf16, 64 * 67, align=1024)
            into = region.address(MIDDLE // 2)
        tid, acc = reg.from_(ptx.special.tid.x(), u32), reg.wgmma_frag(m=64, n=64, dtype=f32)
        with ptx.if_(tid == 0):
            ptx.mbarrier.init(full[0], 1)
            ptx.fence.proxy_async_shared_cta()
            ptx.mbarrier.arrive_expect_tx(full[0], A.stage_bytes + B.stage_bytes)
            ptx.cp.async_.bulk.tensor_2d(dst=into, src=a, coord=(0, 0), mbar=full[0])
            ptx.cp.async_.bulk.tensor_2d(dst=sB, src=b, coord=(0, 0), mbar=full[0])
        ptx.bar.sync(0)
        ptx.mbarrier.wait(full[0], 0)
        descriptor = ptx.wgmma.descriptor(sA)
        if fault == "another swizzle":
            descriptor = ptx.wgmma.make_descriptor(sA, **{**DISTANCES, "stride_byte_offset": 512}, swizzle=2)
        if fault == "in the middle of a swizzle pattern":
            descriptor = ptx.wgmma.make_descriptor(region, **DISTANCES, swizzle=1, addr_byte_offset=MIDDLE)
        if fault == "a row too far":
            descriptor = ptx.wgmma.make_descriptor(sA, **DISTANCES, swizzle=1, addr_byte_offset=128)
        if fault == "another base offset":
            descriptor = ptx.wgmma.make_descriptor(sA, **DISTANCES, swizzle=1, base_offset=1)
        if fault == "onto itself":
            descriptor = ptx.wgmma.make_descriptor(sA, **{**DISTANCES, "stride_byte_offset": 512}, swizzle=1)
        if fault == "out of memory":
            descriptor = ptx.wgmma.make_descriptor(sA, **{**DISTANCES, "stride_byte_offset": 65536}, swizzle=1)
        if fault == "of two minds":
            high = reg.scalar(u64)
            ptx.cvt(u64, u32, high, (tid >> 6) * 2)
            descriptor = descriptor + high
        with ptx.if_(tid < (96 if fault == "three warps" else 128)):
            ptx.wgmma.fence()
            for k in range(0, 64, 16):
                ptx.wgmma.mma_async(
                    shape=(64, 64, 16),
                    dtype_d=f32,
                    dtype_a=bf16,
                    dtype_b=bf16,
                    d=acc,
                    a=descriptor,
                    b=sB,
                    a_k_offset=A.offset(k=k),
                    b_k_offset=B.offset(k=k),
                    scale_d=k > 0,
                    trans_b=1,
                )
            ptx.wgmma.commit_group()
            ptx.wgmma.wait_group(0)
        held, (pc,) = ptx.wgmma.fragment(shape=(64, 64, 16), operand="d", dtype=f32), ptx.global_ptrs(c)
        for i in range(0, held.count, 2):
            place = held.row(tid, i) * 64 + held.column(tid, i)
            ptx.inst.st.global_.v2.f32(ptx.addr(pc + place * 4), acc[i : i + 2])
        ptx.ret()

    specs = (A.tma_tile(64, 64), B.tma_tile(64, 64))
    return kernel(product, in_specs=specs, out_specs=(Tile(64, 64, f32),), grid=1, block=128, arch="sm_90a")


def simulate(fault: str, **schedule: Any) -> Any:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((64, 64)).astype(ml_dtypes.bfloat16) for _ in range(2))
    result = multiply(fault).simulate(a, b, checks="all", **schedule)
    return result, a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize("where", ["", "in the middle of a swizzle pattern"])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_a_product_without_a_fault_is_right_and_clean(where: str, schedule: dict[str, Any]) -> None:
    result, expected = simulate(where, **schedule)
    assert result.findings == ()
    np.testing.assert_allclose(result.outputs[0], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("fault", "rule", "words"),
    [
        (
            "another swizzle",
            "wgmma-descriptor",
            "written with 128B swizzle, read with 64B swizzle",
        ),
        ("a row too far", "wgmma-descriptor", "written with 128B swizzle, read with 128B swizzle from row 1"),
        (
            "another base offset",
            "wgmma-descriptor",
            "written with 128B swizzle, read with 128B swizzle with base offset 1",
        ),
        ("onto itself", "wgmma-descriptor", "overlaps itself"),
        ("out of memory", "out-of-bounds", "64 x 16 matrix"),
        ("of two minds", "wgmma-descriptor", "not uniform across the warpgroup"),
    ],
)
def test_a_wrong_descriptor_is_found(fault: str, rule: str, words: str) -> None:
    result, _ = simulate(fault)
    found = [finding for finding in result.findings if finding.rule == rule and words in finding.message]
    assert found, [str(finding) for finding in result.findings]
    assert all(finding.help and finding.origin[0].file == __file__ for finding in found)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_a_warpgroup_waits_for_all_of_its_warps(schedule: dict[str, Any]) -> None:
    result, _ = simulate("three warps", **schedule)
    (finding,) = (finding for finding in result.findings if finding.rule == "deadlock")
    assert "waiting for other warps of the warpgroup: warp 3 (exited)" in finding.notes[0]


PRODUCT = """\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .b32 %r<20>;
.reg .b64 %rd<20>;
.reg .f32 %f<8>;
.shared .align 1024 .b8 factors[4096];
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd1, %rd1, %rd2;
mov.u32 %r9, factors;
mad.lo.u32 %r10, %r1, 32, %r9;
FILL
bar.sync 0;
bfe.u32 %r9, %r9, 4, 14;
cvt.u64.u32 %rd10, %r9;
or.b64 %rd10, %rd10, 0x0000001000080000;
add.u64 %rd11, %rd10, 128;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd11, 0, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
FIRST
add.f32 %f4, %f0, %f3;
SECOND
st.global.f32 [%rd1], %f4;
ret;
}
"""
WAIT = "wgmma.wait_group.sync.aligned 0;"
FENCE = "fence.proxy.async.shared::cta;"
STORED = f"""
mov.u32 %r11, 0x3f803f80;
st.shared.v4.u32 [%r10], {{%r11, %r11, %r11, %r11}};
st.shared.v4.u32 [%r10+16], {{%r11, %r11, %r11, %r11}};
{FENCE}
"""
COPIED = """
mad.wide.u32 %rd3, %r1, 28, %rd1; // 32 bytes for each thread: 4 are in %rd1
cp.async.cg.shared.global [%r10], [%rd3], 16;
cp.async.cg.shared.global [%r10+16], [%rd3+16], 16;
cp.async.wait_all;
"""


@pytest.mark.hopper
@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_sums_that_are_read_before_the_wait_are_those_of_the_gpu(schedule: dict[str, Any], checks: str) -> None:
    """An accumulator read before wait_group is only a warning: ptxas inserts the wait, and the result is right."""
    out, text = np.zeros(128, np.float32), PRODUCT.replace("FILL", STORED)
    late = text.replace("FIRST", "").replace("SECOND", WAIT)
    found = run(late, grid=1, block=128, args=[out], checks=checks, **schedule).findings
    np.testing.assert_array_equal(out, np.full(128, 32, np.float32))
    assert [(each.rule, each.severity) for each in found] == [("wgmma-register-before-wait", "warning")] * (
        checks == "all"
    )
    assert all(each.help is not None and "C7517" in each.help for each in found)
    right = text.replace("FIRST", WAIT).replace("SECOND", "")
    assert run(right, grid=1, block=128, args=[out], **schedule).findings == ()


@pytest.mark.hopper
@pytest.mark.parametrize(("fence", "rules"), [("", {"missing-proxy-fence"}), (FENCE, set())], ids=["faulty", "mended"])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_factors_that_threads_have_copied_are_shown_by_a_fence(
    schedule: dict[str, Any], fence: str, rules: set[str]
) -> None:
    """`cp.async` writes through the generic proxy, so wgmma needs a proxy fence. Manual: "Async proxy"."""
    out = np.full(1024, 0x3F803F80, np.uint32)
    text = PRODUCT.replace("FILL", COPIED + fence).replace("FIRST", WAIT).replace("SECOND", "")
    assert {each.rule for each in run(text, grid=1, block=128, args=[out], **schedule).findings} == rules
    np.testing.assert_array_equal(out[:128].view(np.float32), np.full(128, 32, np.float32))
