"""Errors of invalid `ptx.tcgen05` calls name the user's line and the legal values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyptx_arch_blackwell.descriptors import InstructionDescriptor, ZeroColumnMask
from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.errors import DslError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_dsl.types import b32, bf16, e2m1, e4m3, f16, f32, pred, s32, tf32, u32, u64, ue4m3

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).name
BF16 = {"shape": (128, 256), "dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16}
IDESC = InstructionDescriptor("f16", f32, bf16, bf16, 128, 256)
FINE = InstructionDescriptor("mxf4nvf4", f32, e2m1, e2m1, 128, 128, scale=ue4m3, scale_a_id=2)
BYTES = {"shape": (128, 64), "dtype_a": e4m3, "dtype_b": e4m3}
MXF4 = {"kind": "mxf4", "shape": (128, 128), "dtype_d": f32, "dtype_a": e2m1, "dtype_b": e2m1}


class Bench:
    def __init__(self) -> None:
        self.taddr, self.a, self.b, self.p = reg.scalar(b32), reg.scalar(u64), reg.scalar(u64), reg.scalar(pred)
        self.t = ptx.tmem.at(self.taddr)
        self.f32, self.u32 = reg.scalar(f32), reg.scalar(u32)
        self.words = reg.array(b32, 128)


def product(bench: Bench, name: str = "mma", **changes: Any) -> None:
    """Call `ptx.tcgen05.mma` for f32 += bf16 x bf16, M = 128, N = 256, with changed arguments."""
    plain = {} if "idesc" in changes else BF16
    given = {"d": bench.t, "a": bench.a, "b": bench.b, **plain, **changes}
    getattr(ptx.tcgen05, name)(**given)


def tile(*shape: int, dtype: Any = bf16, **more: Any) -> Any:
    return smem.tile(SharedTile(dtype, shape, **more))


CASES: tuple[tuple[Callable[[Bench], object], str], ...] = (
    # Wrong arguments of ptx.tcgen05.mma
    (lambda b: product(b, shape=(96, 64)), "M = 96, must be 64 or 128"),
    (lambda b: product(b, shape=(128, 20)), "got 20 * 0 to 504 in steps of 8"),
    (lambda b: product(b, shape=(128, 24), cta_group=2), "N = 24, must be 16, 32, … 256"),
    (lambda b: product(b, shape=(128, 64, 32)), "depth=32 * use 16"),
    (lambda b: product(b, dtype_a=e4m3), "no tcgen05.mma kind supports an MMA of e4m3 x bf16 * f16: f16, bf16"),
    (lambda b: product(b, dtype_d=s32), "invalid d 's32' for kind::f16 * use d=f16 or f32"),
    (lambda b: product(b, dtype_d=f16), "bf16 x bf16 with an f16 accumulator * accumulate bf16 in f32"),
    (lambda b: product(b, shape=None), "missing shape and types * shape=(M, N, K), dtype_d="),
    (
        lambda b: product(b, idesc=IDESC, shape=(128, 256)),
        "already contains shape, types and transpositions * leave out idesc",
    ),
    (lambda b: product(b, idesc=IDESC, kind="tf32"), "kind='tf32', but idesc has kind::f16"),
    (lambda b: product(b, idesc=b.f32), "idesc must be a 32-bit register, got the f32 register"),
    (lambda b: product(b, idesc=1 << 6), "invalid idesc for kind::f16: reserved bit 6 is set"),
    (lambda b: product(b, idesc=b.u32, kind="f17"), "invalid kind='f17' * use one of f16, tf32"),
    (lambda b: product(b, cta_group=3), "invalid cta_group 3 * use 1 for one CTA, 2 for a CTA pair"),
    (lambda b: product(b, trans_a=2), "trans_a must be 0 (K-major) or 1 (MN-major), got 2"),
    (lambda b: product(b, accumulate=2), "accumulate=2 * True, False, a predicate"),
    (
        lambda b: product(b, accumulate=b.f32),
        "accumulate must be a predicate or a 32-bit integer, got the f32 register",
    ),
    (lambda b: product(b, accumulate=False, scale_d=True), "scale_d, accumulate have the same meaning"),
    (lambda b: product(b, scale_d=True, enable_input_d=True), "enable_input_d, scale_d have the same meaning"),
    (lambda b: product(b, scale_input_d=16), "invalid scale_input_d 16 * 0 to 15"),
    (lambda b: product(b, scale_input_d=1, scale_c=1), "scale_input_d and scale_c have the same meaning"),
    (
        lambda b: product(b, shape=(128, 64), dtype_a=e4m3, dtype_b=e4m3, scale_input_d=1),
        "kind::f8f6f4 does not support scale_input_d * use f16 or tf32",
    ),
    (lambda b: product(b, ashift=True), "ashift needs operand A in tensor memory * a=t[…]"),
    (
        lambda b: product(b, a=b.t, ashift=True, collector_a="fill"),
        "ashift does not support collector_a='fill' * lastuse or discard",
    ),
    (lambda b: product(b, a=b.t, ashift=True, shape=(64, 64)), "ashift does not support M = 64"),
    (lambda b: product(b, collector_a="keep"), "invalid collector_a='keep' * fill, use, lastuse, discard"),
    (lambda b: product(b, disable_output_lanes=list(b.words)[:3]), "is a vector of 3; it must be a vector of 4"),
    (lambda b: product(b, sparse_metadata=b.t), "sparse_metadata is not valid for a dense MMA * mma_sp"),
    # Wrong tensor memory addresses and operand types
    (lambda b: product(b, d=64), "d must be a tensor memory address, got 64 * tcgen05.alloc"),
    (lambda b: product(b, d=b.a), "d must be a tensor memory address, got the u64 register * lane << 16 | column"),
    (lambda b: product(b, d=b.t[:, 0:128]), "d needs 256 columns, TensorMemory * has 128"),
    (lambda b: product(b, d=b.t[16:]), "d with M = 128 must start at lane 0, got 16"),
    (lambda b: product(b, a=b.t[:, 0:4]), "a needs 8 columns, TensorMemory * has 4"),
    (lambda b: product(b, a=b.t, trans_a=1), "a in tensor memory must be K-major"),
    (lambda b: product(b, a=b.taddr), "a must be a descriptor in a u64 register, got * ptx.addr(register)"),
    (lambda b: product(b, a=b.t, a_k_offset=32), "a_k_offset=32 is not valid for TensorMemory"),
    (lambda b: product(b, b=b.t), "b must be in shared memory"),
    (
        lambda b: product(b, b=b.u32),
        "b must be a descriptor in a u64 register, got the u32 register * ptx.tcgen05.descriptor",
    ),
    (lambda b: product(b, b=None), "b must be a descriptor, got None"),
    (lambda b: product(b, a=tile(64, 64)), "a reads 128 x 16, but SharedTile * has 64 x 64 * row 0"),
    (lambda b: product(b, a=tile(128, 64), trans_a=1), "a is MN-major, but SharedTile * is not"),
    (lambda b: product(b, a=tile(128, 64, dtype=e4m3)), "elements of kind::f16 have 16 bits in memory, but * has 8"),
    (lambda b: product(b, a=smem.alloc(bf16, (128, 64))), "the matrix layout of * smem.tile"),
    (lambda b: product(b, a_k_offset=8), "a descriptor cannot advance by 8 bytes"),
    (
        lambda b: product(b, dtype_a=tf32, dtype_b=tf32, trans_b=1, b=tile(256, 32, dtype=tf32)),
        "b is MN-major, but SharedTile",
    ),
    # Wrong scale factors of an MMA
    (lambda b: product(b, **MXF4), "kind::mxf4 needs scale_a and scale_b in tensor memory * scale_a=t[…]"),
    (lambda b: product(b, **MXF4, scale_a=b.t), "kind::mxf4 needs scale_a and scale_b"),
    (lambda b: product(b, scale_a=b.t, scale_b=b.t), "no tcgen05.mma kind supports a block-scaled MMA of bf16 x bf16"),
    (lambda b: product(b, scale_vec="1X"), "kind::f16 has no scale factors * mxf8f6f4, mxf4, mxf4nvf4"),
    (
        lambda b: product(b, **{**MXF4, "kind": None}, scale_a=b.t, scale_b=b.t),
        "ambiguous kind * pass kind= one of mxf8f6f4, mxf4, mxf4nvf4",
    ),
    (
        lambda b: product(b, **MXF4, scale_a=b.t, scale_b=b.t, block=16),
        "kind::mxf4 does not support 'block16' * use 2X, block32",
    ),
    (lambda b: product(b, **MXF4, scale_a=b.t, scale_b=b.t, block=32, scale_vec="2X"), "have the same meaning"),
    (
        lambda b: product(b, **{**MXF4, "kind": "mxf4nvf4"}, dtype_scale=ue4m3, scale_a=b.t, scale_b=b.t),
        "kind::mxf4nvf4 needs block= or scale_vec= * block=16",
    ),
    (
        lambda b: product(b, **{**MXF4, "kind": "mxf4nvf4"}, dtype_scale=ue4m3, scale_a=b.t, scale_b=b.t, block=32),
        "ue4m3 scale factors of kind::mxf4nvf4 with .block32 * scale_vec::4X or block16",
    ),
    (
        lambda b: product(b, **MXF4, scale_a=b.t, scale_b=b.t[:, 0:2]),
        "scale_b needs 4 columns, TensorMemory * has 2",
    ),
    (
        lambda b: product(b, idesc=FINE, scale_a=b.t, scale_b=b.t, block=16),
        "scale_a: invalid scale factor ID 2: 4 scale factors start at byte 0 * set scale_a_id in idesc",
    ),
    (
        lambda b: product(b, **{**MXF4, "shape": (128, 128, 96)}, scale_a=b.t, scale_b=b.t),
        "K = 96 needs sm_103a; this kernel targets sm_100a",
    ),
    (
        lambda b: product(b, **MXF4, scale_a=b.t, scale_b=b.t, disable_output_lanes=list(b.words)[:4]),
        "kind::mxf4 does not support disable_output_lanes",
    ),
    (lambda b: product(b, idesc=b.u32, scale_a=b.t, scale_b=b.t), "an MMA with scale factors needs kind="),
    # Wrong options of sparse and weight-stationary MMAs
    (
        lambda b: product(b, "mma_sp", shape=(64, 64), d=b.t[16:], metadata=b.t),
        "metadata starts at lane 0, d at lane 16",
    ),
    (lambda b: product(b, shape=(64, 64), a=b.t[16:]), "a starts at lane 16, d at lane 0"),
    (
        lambda b: product(b, "mma_sp", **BYTES, metadata=b.t[:, 0:1]),
        "metadata needs 2 columns, TensorMemory * has 1",
    ),
    (lambda b: product(b, "mma_sp", metadata=None), "a sparse MMA needs metadata in tensor memory"),
    (lambda b: product(b, "mma_sp", metadata=b.t, idesc=IDESC), "idesc describes a dense MMA * ptx.tcgen05.mma"),
    (lambda b: product(b, "mma_ws", shape=(128, 32)), "N = 32, must be 64, 128 or 256"),
    (lambda b: product(b, "mma_ws", collector="b4::fill"), "invalid collector='b4::fill'"),
    (lambda b: product(b, "mma_ws", kind="mxf4", idesc=b.u32), "kind::mxf4 is not supported"),
    (lambda b: product(b, "mma_ws", zero_columns=b.u32), "zero_columns must be a descriptor in a u64 register"),
    (
        lambda b: product(b, "mma_ws", shape=(32, 64), zero_columns=ZeroColumnMask(shift=20)),
        "zero_columns: invalid zero-column mask: shift 20",
    ),
    # Wrong tcgen05.ld, tcgen05.st and tcgen05.cp calls
    (lambda b: ptx.tcgen05.ld(list(b.words)[:3], b.t, shape="32x32b"), "3 registers of 32x32b * 1, 2, 4"),
    (lambda b: ptx.tcgen05.ld(list(b.words)[:4], b.t, shape="16x256b", count=2), "4 registers with count=2 of 16x256b"),
    (lambda b: ptx.tcgen05.ld(list(b.words), b.t, shape="8x8b"), "shape='8x8b' * one of 32x32b, 16x64b"),
    (lambda b: ptx.tcgen05.ld(None, b.taddr, shape="32x32b"), "the number of registers is unknown * count="),
    (lambda b: ptx.tcgen05.ld("acc", b.t), "dst_regs must be a list of 32-bit registers, got 'acc'"),
    (lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t[:, 0:4], shape="32x32b"), "32x32b x8 needs 8 columns, * has 4"),
    (lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t[8:40], shape="32x32b"), "accesses 32 lanes, aligned to 32"),
    (lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t, shape="16x32bx2"), "16x32bx2 needs offset= * offset="),
    (lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t, shape="32x32b", offset=8), "offset=8 of 32x32b"),
    (lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t, shape="32x32b", redval=b.u32), "redval, abs_ and nan"),
    (
        lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t, shape="32x32b", red="max", dtype=f32),
        "needs redval=",
    ),
    (
        lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t, shape="32x32b", red="max", redval=b.u32, dtype=f32),
        "needs * the target is sm_100a",
    ),
    (lambda b: ptx.tcgen05.ld([b.a], b.t, shape="32x32b"), "%rd0 * 32 bits"),
    (lambda b: ptx.tcgen05.st(b.t, list(b.words)[:5], shape="16x64b"), "5 registers of 16x64b"),
    (lambda b: ptx.tcgen05.cp(b.t, b.a, size="64x64b"), "size='64x64b' * 128x256b"),
    (lambda b: ptx.tcgen05.cp(b.t, b.a, size="64x128b"), "multicast=None of 64x128b * warpx2::02_13 or warpx2::01_23"),
    (lambda b: ptx.tcgen05.cp(b.t, b.a, multicast="warpx4"), "leave multicast= out for 128x256b"),
    (lambda b: ptx.tcgen05.cp(b.t, b.a, decompress="b5"), 'decompress=\'b5\' * "b4" or "b6"'),
    (lambda b: ptx.tcgen05.cp(b.t, b.u32, src_is_addr=True), "the source must be a descriptor"),
    (lambda b: ptx.tcgen05.shift(b.t[16:]), "starts at lane 16 * start at a multiple of 32"),
    # Wrong tcgen05.alloc, tcgen05.dealloc and tcgen05.commit calls
    (lambda _: ptx.tcgen05.alloc(smem.alloc(b32, 1), 48), "48 columns * 32, 64, 128, 256, 512"),
    (lambda b: ptx.tcgen05.dealloc(b.taddr, 600), "600 columns"),
    (lambda b: ptx.tcgen05.dealloc(b.t[:, 32:], 32), "not a register *  region.address()"),
    (lambda b: ptx.tcgen05.commit(b.u32, space="cta"), "space='cta' * leave space out"),
    (lambda b: ptx.tcgen05.commit(b.u32, multicast=True), "needs multicast_mask= * multicast_mask="),
    (lambda b: ptx.tcgen05.commit(b.u32, multicast_mask=1 << 16), "multicast_mask=65536 * 16 blocks"),
    # Wrong arguments of ptx.tcgen05.descriptor and of the other functions that compute a matrix descriptor
    (lambda b: ptx.tcgen05.descriptor(b.u32), "the matrix layout of * stride_bytes="),
    (lambda b: ptx.tcgen05.descriptor(b.u32, stride_bytes=1000), "stride=1000"),
    (lambda b: ptx.tcgen05.descriptor(b.u32, stride_bytes=1024, swizzle="96B"), "swizzle='96B' * one of NONE, 32B"),
    (lambda b: ptx.tcgen05.descriptor(b.u32, stride_bytes=1024, version=0), "version=0"),
    (lambda _: ptx.tcgen05.descriptor(tile(128, 64), stride_bytes=1024), "the tile defines it * row 0"),
    (lambda _: ptx.tcgen05.descriptor(tile(128, 64), k=8), "no MMA operand can start at mn=0, k=8"),
    (lambda _: ptx.tcgen05.make_instr_desc_f16bf16_f32(m=60), "m=60"),
    (lambda _: ptx.tcgen05.make_instr_desc_f16bf16_f32(scale_a=2), "scale_a=2 * -1 to negate"),
    # Wrong regions and allocations of tensor memory
    (lambda b: b.t[0:129], "lanes 0:129 is out of range: the region has 128 lanes"),
    (lambda b: b.t[:, 8:8], "columns 8:8"),
    (lambda b: b.t[:, b.u32], "columns of tensor memory must be a slice of numbers * t.advance"),
    (lambda b: b.t[0, 0, 0], "not 3 dimensions"),
    (lambda b: b.t[:, ::2], "must be a slice of numbers"),
    (lambda b: b.t[0:32].quarter(b.u32), "needs all 128 lanes"),
    (lambda b: b.t.quarter(b.f32), "needs a 32-bit warp index"),
    (lambda b: ptx.tmem.at(b.a), "needs a 32-bit address, got the u64 register"),
    (lambda _: ptx.tmem.at(64), "needs an address register, got 64"),
    (lambda b: ptx.tmem.at(b.taddr, 1024), "1024 columns"),
    (lambda b: ptx.tmem.alloc(b.u32), "must be known while tracing"),
    (lambda _: ptx.tmem.alloc(100), "100 columns"),
)


def ids() -> list[str]:
    return [f"{number}-{says.partition(' * ')[0][:60]}" for number, (_, says) in enumerate(CASES)]


@pytest.mark.parametrize(("call", "says"), CASES, ids=ids())
def test_a_wrong_call_is_told_at_its_line_with_what_there_is(call: Callable[[Bench], object], says: str) -> None:
    def k() -> None:
        bench = Bench()
        call(bench)
        ptx.ret()

    with pytest.raises(DslError) as caught:
        kernel(k, arch="sm_100a", version=(9, 0), block=(128, 1, 1)).ptx()
    text = " ".join(str(caught.value).split())
    assert HERE in text
    for part in says.split(" * "):
        assert " ".join(part.split()) in text, text
