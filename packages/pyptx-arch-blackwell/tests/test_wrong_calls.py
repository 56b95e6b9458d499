"""Errors of invalid calls: they name the user's line and the legal values."""

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
    """Call an MMA of f32 += bf16 x bf16, M = 128, N = 256, with some arguments changed."""
    plain = {} if "idesc" in changes else BF16
    given = {"d": bench.t, "a": bench.a, "b": bench.b, **plain, **changes}
    getattr(ptx.tcgen05, name)(**given)


def tile(*shape: int, dtype: Any = bf16, **more: Any) -> Any:
    return smem.tile(SharedTile(dtype, shape, **more))


CASES: tuple[tuple[Callable[[Bench], object], str], ...] = (
    # MMA
    (lambda b: product(b, shape=(96, 64)), "M = 96 * M is 64 or 128"),
    (lambda b: product(b, shape=(128, 20)), "n=20 * 0 to 504 in steps of 8"),
    (lambda b: product(b, shape=(128, 24), cta_group=2), "N = 24 * N is 16, 32, … 256"),
    (lambda b: product(b, shape=(128, 64, 32)), "depth=32 * its K is 16"),
    (lambda b: product(b, dtype_a=e4m3), "no products of e4m3 x bf16 * f16: f16, bf16"),
    (lambda b: product(b, dtype_d=s32), "d='s32' of kind::f16 * d is f16 or f32"),
    (lambda b: product(b, dtype_d=f16), "f16 += bf16 x bf16 * sums of bf16 are f32"),
    (lambda b: product(b, shape=None), "which product? * shape=(M, N, K), dtype_d="),
    (
        lambda b: product(b, idesc=IDESC, shape=(128, 256)),
        "shape, types and transpositions are in idesc * say them once",
    ),
    (lambda b: product(b, idesc=IDESC, kind="tf32"), "kind='tf32', and idesc is of kind::f16"),
    (lambda b: product(b, idesc=b.f32), "idesc is a 32-bit register, and * is a f32 one"),
    (lambda b: product(b, idesc=1 << 6), "idesc of kind::f16: bit 6 of descriptor 0x40 is set"),
    (lambda b: product(b, idesc=b.u32, kind="f17"), "kind='f17' means nothing here * one of f16, tf32"),
    (lambda b: product(b, cta_group=3), "cta_group=3 * 1 for one block, 2 for a pair"),
    (lambda b: product(b, trans_a=2), "trans_a=2: 0 is K-major, 1 is MN-major"),
    (lambda b: product(b, accumulate=2), "accumulate=2 * True, False, a predicate"),
    (lambda b: product(b, accumulate=b.f32), "accumulate is a predicate or a 32-bit integer, and * is a f32 register"),
    (lambda b: product(b, accumulate=False, scale_d=True), "scale_d, accumulate say the same"),
    (lambda b: product(b, scale_d=True, enable_input_d=True), "enable_input_d, scale_d say the same"),
    (lambda b: product(b, scale_input_d=16), "scale_input_d=16 * 0 to 15"),
    (lambda b: product(b, scale_input_d=1, scale_c=1), "scale_input_d and scale_c say the same"),
    (
        lambda b: product(b, shape=(128, 64), dtype_a=e4m3, dtype_b=e4m3, scale_input_d=1),
        "scale_input_d of kind::f8f6f4 * f16 and tf32 have it",
    ),
    (lambda b: product(b, ashift=True), "ashift moves the rows of a matrix in tensor memory * a=t[…]"),
    (
        lambda b: product(b, a=b.t, ashift=True, collector_a="fill"),
        "ashift with collector_a='fill' * lastuse or discard",
    ),
    (lambda b: product(b, a=b.t, ashift=True, shape=(64, 64)), "ashift with M = 64"),
    (lambda b: product(b, collector_a="keep"), "collector_a='keep' means nothing here * fill, use, lastuse, discard"),
    (lambda b: product(b, disable_output_lanes=list(b.words)[:3]), "is a vector of 3; it must be a vector of 4"),
    (lambda b: product(b, sparse_metadata=b.t), "sparse_metadata of a dense product * mma_sp"),
    # Addresses and operands
    (lambda b: product(b, d=64), "d=64 is no place in tensor memory * tcgen05.alloc"),
    (lambda b: product(b, d=b.a), "d is a place in tensor memory, and * is a u64 register * lane << 16 | column"),
    (lambda b: product(b, d=b.t[:, 0:128]), "d has 256 columns, and TensorMemory * has 128"),
    (lambda b: product(b, d=b.t[16:]), "d with M = 128 begins at lane 0, not 16"),
    (lambda b: product(b, a=b.t[:, 0:4]), "a has 8 columns, and TensorMemory * has 4"),
    (lambda b: product(b, a=b.t, trans_a=1), "a in tensor memory is K-major"),
    (lambda b: product(b, a=b.taddr), "a is a descriptor in a u64 register, and * ptx.addr(register)"),
    (lambda b: product(b, a=b.t, a_k_offset=32), "a_k_offset=32 of TensorMemory"),
    (lambda b: product(b, b=b.t), "b lies in shared memory"),
    (lambda b: product(b, b=b.u32), "b is a descriptor in a u64 register, and * is a u32 one * ptx.tcgen05.descriptor"),
    (lambda b: product(b, b=None), "b=None is no descriptor"),
    (lambda b: product(b, a=tile(64, 64)), "a reads 128 x 16, and SharedTile * has 64 x 64 * row 0"),
    (lambda b: product(b, a=tile(128, 64), trans_a=1), "a is MN-major, and SharedTile * is not"),
    (lambda b: product(b, a=tile(128, 64, dtype=e4m3)), "elements of kind::f16 lie in 16 bits, and * has 8"),
    (lambda b: product(b, a=smem.alloc(bf16, (128, 64))), "does not say how its matrix lies * smem.tile"),
    (lambda b: product(b, a_k_offset=8), "a descriptor cannot advance by 8 bytes"),
    (
        lambda b: product(b, dtype_a=tf32, dtype_b=tf32, trans_b=1, b=tile(256, 32, dtype=tf32)),
        "b is MN-major, and SharedTile",
    ),
    # Scale factors
    (lambda b: product(b, **MXF4), "kind::mxf4 multiplies by scales in tensor memory * scale_a=t[…]"),
    (lambda b: product(b, **MXF4, scale_a=b.t), "kind::mxf4 multiplies by scales"),
    (lambda b: product(b, scale_a=b.t, scale_b=b.t), "no scaled products of bf16 x bf16"),
    (lambda b: product(b, scale_vec="1X"), "kind::f16 has no scales * mxf8f6f4, mxf4, mxf4nvf4"),
    (
        lambda b: product(b, **{**MXF4, "kind": None}, scale_a=b.t, scale_b=b.t),
        "of several kinds * kind= one of mxf8f6f4, mxf4, mxf4nvf4",
    ),
    (
        lambda b: product(b, **MXF4, scale_a=b.t, scale_b=b.t, block=16),
        "kind::mxf4 has no 'block16' * it has 2X, block32",
    ),
    (lambda b: product(b, **MXF4, scale_a=b.t, scale_b=b.t, block=32, scale_vec="2X"), "say the same"),
    (
        lambda b: product(b, **{**MXF4, "kind": "mxf4nvf4"}, dtype_scale=ue4m3, scale_a=b.t, scale_b=b.t),
        "how many values of kind::mxf4nvf4 share a scale? * block=16",
    ),
    (
        lambda b: product(b, **{**MXF4, "kind": "mxf4nvf4"}, dtype_scale=ue4m3, scale_a=b.t, scale_b=b.t, block=32),
        "with block32 and scales of ue4m3 * scale_vec::4X or block16",
    ),
    (
        lambda b: product(b, **MXF4, scale_a=b.t, scale_b=b.t[:, 0:2]),
        "scale_b has 4 columns, and TensorMemory * has 2",
    ),
    (
        lambda b: product(b, idesc=FINE, scale_a=b.t, scale_b=b.t, block=16),
        "scale_a: 4 factors begin at byte 0, not 2 * scale_a_id is in idesc",
    ),
    (
        lambda b: product(b, **{**MXF4, "shape": (128, 128, 96)}, scale_a=b.t, scale_b=b.t),
        "K = 96 needs sm_103a; this kernel targets sm_100a",
    ),
    (
        lambda b: product(b, **MXF4, scale_a=b.t, scale_b=b.t, disable_output_lanes=list(b.words)[:4]),
        "disable_output_lanes of kind::mxf4",
    ),
    (lambda b: product(b, idesc=b.u32, scale_a=b.t, scale_b=b.t), "a product with scales is of which kind?"),
    # Sparse and weight-stationary MMA
    (
        lambda b: product(b, "mma_sp", shape=(64, 64), d=b.t[16:], metadata=b.t),
        "metadata begins at lane 0, and d at 16",
    ),
    (lambda b: product(b, shape=(64, 64), a=b.t[16:]), "a begins at lane 16, and d at 0"),
    (
        lambda b: product(b, "mma_sp", **BYTES, metadata=b.t[:, 0:1]),
        "metadata has 2 columns, and TensorMemory * has 1",
    ),
    (lambda b: product(b, "mma_sp", metadata=None), "a sparse product has metadata in tensor memory"),
    (lambda b: product(b, "mma_sp", metadata=b.t, idesc=IDESC), "idesc is of a dense product * ptx.tcgen05.mma"),
    (lambda b: product(b, "mma_ws", shape=(128, 32)), "N = 32 * N is 64, 128 or 256"),
    (lambda b: product(b, "mma_ws", collector="b4::fill"), "collector='b4::fill' means nothing here"),
    (lambda b: product(b, "mma_ws", kind="mxf4", idesc=b.u32), "kind::mxf4 has no mma.ws"),
    (lambda b: product(b, "mma_ws", zero_columns=b.u32), "zero_columns is a descriptor in a u64 register"),
    (
        lambda b: product(b, "mma_ws", shape=(32, 64), zero_columns=ZeroColumnMask(shift=20)),
        "zero_columns: a mask of columns, shifted by 20",
    ),
    # Loads, stores, copies
    (lambda b: ptx.tcgen05.ld(list(b.words)[:3], b.t, shape="32x32b"), "3 registers of 32x32b * 1, 2, 4"),
    (lambda b: ptx.tcgen05.ld(list(b.words)[:4], b.t, shape="16x256b", count=2), "4 registers with count=2 of 16x256b"),
    (lambda b: ptx.tcgen05.ld(list(b.words), b.t, shape="8x8b"), "shape='8x8b' * one of 32x32b, 16x64b"),
    (lambda b: ptx.tcgen05.ld(None, b.taddr, shape="32x32b"), "how many registers? * count="),
    (lambda b: ptx.tcgen05.ld("acc", b.t), "dst_regs is a list of 32-bit registers, not 'acc'"),
    (lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t[:, 0:4], shape="32x32b"), "32x32b x8 has 8 columns, and * has 4"),
    (lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t[8:40], shape="32x32b"), "begins at a multiple of 32 lanes"),
    (lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t, shape="16x32bx2"), "16x32bx2 is two accesses * offset="),
    (lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t, shape="32x32b", offset=8), "offset=8 of 32x32b"),
    (lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t, shape="32x32b", redval=b.u32), "redval, abs_ and nan"),
    (
        lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t, shape="32x32b", red="max", dtype=f32),
        "where is it to be written",
    ),
    (
        lambda b: ptx.tcgen05.ld(list(b.words)[:8], b.t, shape="32x32b", red="max", redval=b.u32, dtype=f32),
        "needs * the target is sm_100a",
    ),
    (lambda b: ptx.tcgen05.ld([b.a], b.t, shape="32x32b"), "%rd0 * 32 bits"),
    (lambda b: ptx.tcgen05.st(b.t, list(b.words)[:5], shape="16x64b"), "5 registers of 16x64b"),
    (lambda b: ptx.tcgen05.cp(b.t, b.a, size="64x64b"), "size='64x64b' * 128x256b"),
    (lambda b: ptx.tcgen05.cp(b.t, b.a, size="64x128b"), "multicast=None of 64x128b * warpx2::02_13 or warpx2::01_23"),
    (lambda b: ptx.tcgen05.cp(b.t, b.a, multicast="warpx4"), "128x256b has no multicast"),
    (lambda b: ptx.tcgen05.cp(b.t, b.a, decompress="b5"), 'decompress=\'b5\' * "b4" or "b6"'),
    (lambda b: ptx.tcgen05.cp(b.t, b.u32, src_is_addr=True), "the source is a descriptor"),
    (lambda b: ptx.tcgen05.shift(b.t[16:]), "begins at lane 16 * at a multiple of 32"),
    # Allocation and commits
    (lambda _: ptx.tcgen05.alloc(smem.alloc(b32, 1), 48), "48 columns * 32, 64, 128, 256, 512"),
    (lambda b: ptx.tcgen05.dealloc(b.taddr, 600), "600 columns"),
    (lambda b: ptx.tcgen05.dealloc(b.t[:, 32:], 32), "is no register * part.address()"),
    (lambda b: ptx.tcgen05.commit(b.u32, space="cta"), "space='cta' * leave space out"),
    (lambda b: ptx.tcgen05.commit(b.u32, multicast=True), "and to which blocks? * multicast_mask="),
    (lambda b: ptx.tcgen05.commit(b.u32, multicast_mask=1 << 16), "multicast_mask=65536 * 16 blocks"),
    # Descriptors
    (lambda b: ptx.tcgen05.descriptor(b.u32), "does not say how its matrix lies * stride_bytes="),
    (lambda b: ptx.tcgen05.descriptor(b.u32, stride_bytes=1000), "stride=1000"),
    (lambda b: ptx.tcgen05.descriptor(b.u32, stride_bytes=1024, swizzle="96B"), "swizzle='96B' * one of NONE, 32B"),
    (lambda b: ptx.tcgen05.descriptor(b.u32, stride_bytes=1024, version=0), "version=0"),
    (lambda _: ptx.tcgen05.descriptor(tile(128, 64), stride_bytes=1024), "the tile says it * row 0"),
    (lambda _: ptx.tcgen05.descriptor(tile(128, 64), k=8), "no product can begin at mn=0, k=8"),
    (lambda _: ptx.tcgen05.make_instr_desc_f16bf16_f32(m=60), "m=60"),
    (lambda _: ptx.tcgen05.make_instr_desc_f16bf16_f32(scale_a=2), "scale_a=2 * -1 to negate"),
    # Tensor memory
    (lambda b: b.t[0:129], "lanes 0:129 of a part of tensor memory that has 128 lanes"),
    (lambda b: b.t[:, 8:8], "columns 8:8"),
    (lambda b: b.t[:, b.u32], "columns of tensor memory are a slice of numbers * t.advance"),
    (lambda b: b.t[0, 0, 0], "not 3 dimensions"),
    (lambda b: b.t[:, ::2], "are a slice of numbers"),
    (lambda b: b.t[0:32].quarter(b.u32), "has no quarters"),
    (lambda b: b.t.quarter(b.f32), "no number of a warp"),
    (lambda b: ptx.tmem.at(b.a), "is a u64 register, and no address"),
    (lambda _: ptx.tmem.at(64), "64 is no register"),
    (lambda b: ptx.tmem.at(b.taddr, 1024), "1024 columns"),
    (lambda b: ptx.tmem.alloc(b.u32), "how many has to be known here"),
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
