"""Errors of invalid `ptx` calls for Hopper name the user's line and the legal values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyptx_arch_hopper.wgmma_layout import layout_for_a
from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.errors import DslError, SpecError, TraceError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.shared_memory.tiles import Major, SharedTile
from pyptx_dsl.types import b1, b32, bf16, e4m3, f16, f32, f64, s8, s32, tf32, u16, u32, u64

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).name
K_MAJOR = SharedTile(bf16, (64, 64), stages=2)
MN_MAJOR = SharedTile(bf16, (64, 64), major="MN", stages=2)


def product(**changes: Any) -> None:
    """Call mma_async for m64n64k16 in bf16, with changed arguments; callables are evaluated in the trace."""
    given = {
        "shape": (64, 64, 16),
        "dtype_d": f32,
        "dtype_a": bf16,
        "dtype_b": bf16,
        "d": lambda: reg.array(f32, 32),
        "a": lambda: reg.scalar(u64),
        "b": lambda: reg.scalar(u64),
        **changes,
    }
    made = {key: value() if callable(value) else value for key, value in given.items()}
    (ptx.wgmma.mma_async_sp if "metadata" in made else ptx.wgmma.mma_async)(**made)


def tile(layout: SharedTile) -> Callable[[], Any]:
    return lambda: smem.tile(layout)[0] if layout.stages > 1 else smem.tile(layout)


BYTES = {"dtype_d": s32, "dtype_a": s8, "dtype_b": s8, "shape": (64, 64, 32), "d": lambda: reg.array(s32, 32)}
FP8 = {"dtype_a": e4m3, "dtype_b": e4m3, "shape": (64, 64, 32)}
SPARSE = {"metadata": lambda: reg.scalar(b32), "shape": (64, 64, 32)}
PRODUCTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"dtype_a": f16}, "does not support f32 += f16 x bf16 * supported: f16 += f16 x f16, f32 += f16 x f16"),
    ({"shape": (64, 60, 16)}, "does not support shape (64, 60, 16) * N one of 8, 16, … 256"),
    ({"shape": (64, 64, 64)}, "does not support shape (64, 64, 64) * loop over K = 64 in steps of 16"),
    ({"shape": (128, 64, 16)}, "does not support shape * use (64, N, 16)"),
    ({**BYTES, "shape": (64, 40, 32)}, "does not support shape * 8, 16, 24, 32, 48"),
    ({"d": lambda: reg.array(f32, 16)}, "d must have 32 registers, got 16 * d = reg.array(f32, 32)"),
    ({"d": lambda: reg.array(s32, 32)}, "d must be 32 f32 registers, got the s32 register"),
    ({"dtype_d": f16, "dtype_a": f16, "dtype_b": f16}, "d must have 16 registers, got 32 * d = reg.array(b32, 16)"),
    ({"d": "acc"}, "d must have 32 registers, got "),
    ({"a": lambda: reg.array(b32, 3)}, "a must have 4 registers, got 3 * a = reg.array(b32, 4)"),
    ({"a": lambda: reg.array(f32, 4)}, "a must be 4 b32 registers, got the f32 register"),
    ({"a": lambda: reg.scalar(u32)}, "a must be a descriptor, got the u32 register"),
    ({"a": lambda: reg.array(b32, 4), "a_k_offset": 32}, "a_k_offset=32 is not valid for a matrix in registers"),
    ({"a": lambda: reg.array(b32, 4), "trans_a": 1}, "only 16-bit matrices in shared memory"),
    ({"b": lambda: reg.array(b32, 4)}, "b must be in shared memory"),
    ({"b": lambda: smem.alloc(bf16, (64, 64))}, "the matrix layout of * smem.tile"),
    ({"b": lambda: laid_out((64, 64), None)}, "the major dimension of"),
    ({"scale_a": 0}, "scale_a must be 1 or -1 (negate), got 0"),
    ({**BYTES, "scale_b": -1}, "does not support negation (scale_b=-1)"),
    ({**FP8, "trans_b": 1}, "trans_b=1 is not valid for f32 += e4m3 x e4m3: only 16-bit matrices"),
    ({"trans_b": 2}, "must be 0 (K-major) or 1 (MN-major)"),
    ({"satfinite": True}, "has no satfinite"),
    ({"scale_d": 2}, "scale_d must be True (accumulate) or False, got 2"),
    ({"scale_d": lambda: reg.scalar(f32)}, "scale_d must be a predicate or a 32-bit integer"),
    ({"a_k_offset": 8}, "a descriptor cannot advance by 8 bytes"),
    ({**SPARSE, "selector": 2}, "invalid selector 2 * 0 to 1"),
    (
        {**SPARSE, "dtype_d": s32, "dtype_a": b1, "dtype_b": b1, "shape": (64, 8, 512)},
        "s32 += b1 x b1 does not support sparsity",
    ),
)


def laid_out(shape: tuple[int, int], major: str | None = "K") -> object:
    """Allocate shared memory by `alloc_with_layout`, with the GmmaLayout of a 64 x 64 matrix without swizzle."""
    return smem.alloc_with_layout(bf16, shape, gmma_layout=layout_for_a(dtype=bf16, m=64, k=64), gmma_major=major)


PICTURED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"a": tile(K_MAJOR), "trans_a": 1}, "trans_a=1 contradicts SharedTile(bf16, (64, 64), major='K'"),
    ({"b": tile(MN_MAJOR), "trans_b": 0}, "trans_b=0 contradicts SharedTile(bf16, (64, 64), major='MN'"),
    ({"b": tile(SharedTile(bf16, (32, 64)))}, "b reads 64 x 16, but SharedTile(bf16, (32, 64)"),
    ({"a": tile(SharedTile(tf32, (64, 32)))}, "a is bf16, but SharedTile(tf32"),
    ({"a": lambda: laid_out((128, 64))}, "does not match GmmaLayout"),
    ({"b": lambda: smem.tile(K_MAJOR)[0, 4]}, "begins 576 bytes into SharedTile(bf16, (64, 64)"),
    (
        {**SPARSE, "b": tile(SharedTile(bf16, (64, 64), swizzle="32B"))},
        "b reads 64 bytes of a row, but TMA box rows of",
    ),
)


def refused(body: Callable[[], object]) -> str:
    """Trace a kernel body; return its error, which must name a line of this file."""

    def k() -> None:
        body()

    with pytest.raises(DslError) as caught:
        kernel(k, arch="sm_90a").ptx()
    assert isinstance(caught.value, TraceError | SpecError)
    assert HERE in str(caught.value)
    return str(caught.value)


def told(body: Callable[[], object]) -> str:
    """Return the error message of a kernel body without the quoted source line."""
    return "\n".join(line for line in refused(body).splitlines() if "lambda" not in line)


@pytest.mark.parametrize(("changes", "said"), PRODUCTS, ids=[said.split(" * ")[0] for _, said in PRODUCTS])
def test_a_wrong_product_is_refused_with_what_there_is(changes: dict[str, Any], said: str) -> None:
    message = refused(lambda: product(**changes))
    assert [part for part in said.split(" * ") if part not in message] == [], message


@pytest.mark.parametrize(("changes", "said"), PICTURED, ids=[said for _, said in PICTURED])
def test_a_product_that_contradicts_its_tile_is_refused_with_the_picture(changes: dict[str, Any], said: str) -> None:
    message = refused(lambda: product(**changes))
    assert said in message
    assert "  row 0 " in message


BULK = ptx.cp.async_.bulk
CALLS: tuple[tuple[Callable[[], object], str], ...] = (
    (lambda: ptx.setmaxnreg(100), "invalid register count 100 of setmaxnreg * use 24 to 256 in steps of 8"),
    (lambda: ptx.setmaxnreg_dec(16), "invalid register count 16 of setmaxnreg"),
    (lambda: ptx.wgmma.wait_group(-1), "needs a number of groups"),
    (lambda: ptx.wgmma.descriptor(smem.alloc(bf16, (8, 8))), "the matrix layout of"),
    (lambda: ptx.wgmma.descriptor(smem.tile(K_MAJOR), k=8), "no MMA operand can start at mn=0, k=8 * row 7"),
    (lambda: ptx.wgmma.descriptor(smem.wgmma_tile(bf16, (64, 64))[reg.scalar(u32)]), "is not known while tracing"),
    (lambda: ptx.wgmma.advance(reg.scalar(u32), 32), "expected a descriptor"),
    (lambda: ptx.wgmma.advance(reg.scalar(u64), 32, times=reg.scalar(u64)), "operand 2 of mad.lo.u32"),
    (lambda: descriptor(leading_byte_offset=8), "leading_byte_offset of a matrix descriptor must be a multiple of 16"),
    (
        lambda: descriptor(stride_byte_offset=1 << 18),
        "stride_byte_offset of a matrix descriptor must be a multiple of 16",
    ),
    (lambda: descriptor(swizzle=4), "swizzle of a matrix descriptor must be 0 to 3, got 4"),
    (lambda: descriptor(base_offset=8), "base_offset of a matrix descriptor must be 0 to 7, got 8"),
    (lambda: descriptor(base=reg.scalar(u16)), "expected an address, got the u16 register"),
    (lambda: descriptor(base=ptx.addr(reg.scalar(u32))), "not ptx.addr(register)"),
    (lambda: descriptor(base=7), "expected an address in shared memory"),
    (lambda: load(2, (0,)), "needs 2 coordinates, got 1 * innermost coordinate first"),
    (lambda: load(2, (0, 0), mode="tile::gather4"), "needs 5 coordinates (one column, four rows), got 2"),
    (lambda: load(3, (0, 0, 0), mode="im2col"), "im2col of 3 dimensions needs 1 offset, got 0"),
    (lambda: load(3, (0, 0, 0), offsets=(1,)), "offsets=(1,) need an im2col mode"),
    (lambda: load(1, (0,), mode="tiles"), "invalid mode='tiles'"),
    (lambda: load(1, (0,), cta_group=3), "cta_group must be 1 or 2, got 3"),
    (lambda: load(1, (0,), mbar=None), "needs the mbarrier"),
    (lambda: load(1, (0,), src=reg.scalar(u32)), "expected a tensor map, got the u32 register"),
    (
        lambda: BULK.load(reg.scalar(u32), reg.scalar(u64), 24, mbar=reg.scalar(u32)),
        "invalid size of a bulk copy: 24 bytes",
    ),
    (lambda: BULK.wait_group("all"), "needs a number of groups"),
    (
        lambda: BULK.wait_group(0, read=True, restrict="proxy::async"),
        "does not support the combination read and restrict",
    ),
    (
        lambda: BULK.store(reg.scalar(u64), reg.scalar(u32), 64, scope="gpu"),
        "with scope='gpu' needs one of relaxed * together",
    ),
    (
        lambda: BULK.store(reg.scalar(u64), reg.scalar(u32), 64, sem="relaxed"),
        "with sem='relaxed' needs one of cta, cluster, gpu, sys",
    ),
    (lambda: BULK.store(reg.scalar(u64), reg.scalar(u32), 64, sem="acquire"), "invalid sem='acquire'"),
    (lambda: ptx.tensormap.replace("dims", reg.scalar(u64), 1), "invalid field='dims' * box_dim"),
    (lambda: ptx.tensormap.replace("box_dim", reg.scalar(u64), 64), "box_dim has an ordinal * global_stride"),
    (lambda: ptx.tensormap.replace("rank", reg.scalar(u64), 1, ordinal=0), "rank has no ordinal"),
    (lambda: BULK.tensor_1d.reduce("mul", dst="m", src=reg.scalar(u32), coord=(0,)), "invalid op='mul'"),
    (lambda: ptx.tma.load_3d(reg.scalar(u32), "m", 0, mbar=reg.scalar(u32)), "needs row and col"),
    (lambda: ptx.tma.load_3d(reg.scalar(u32), "m", 0, 32, reg.scalar(u32)), "must be a multiple of 64"),
    (lambda: ptx.tma.load_3d(0, "m", 0, 0, 0, coords=(0, 0, 0)), "are mutually exclusive"),
    (lambda: ptx.tma.load_3d_multicast(0, "m", 0, 0, 0), "needs mask="),
    (lambda: ptx.tma.load_3d_multicast(0, "m", 0, 0, 0, 1, issuer=0, pred=reg.scalar(u32)), "mutually exclusive"),
    (lambda: ptx.cluster.arrive(sem="acquire"), "invalid sem='acquire'"),
    (lambda: ptx.cluster.map_shared_u32(reg.scalar(u64), 0), "a shared address must have 32 bits * map_shared_u64"),
    (lambda: ptx.cluster.map_shared_u32(ptx.addr(reg.scalar(u32)), 0), "pass the address register itself"),
    (lambda: ptx.cluster.arrive_multicast(reg.scalar(u32), 0), "a bit for each of up to 16 CTAs"),
    (lambda: ptx.st_async(b32, reg.scalar(u32), [reg.scalar(b32)] * 3, mbar=reg.scalar(u32)), "1, 2 or 4"),
    (lambda: ptx.multimem.st(f32, reg.scalar(u64), [reg.scalar(f32)] * 3), "takes 1, 2, 4 or 8 registers, got 3"),
    (lambda: ptx.multimem.red("add", f64, reg.scalar(u64), reg.scalar(f64), sem="acquire"), "sem='acquire'"),
    (lambda: ptx.multimem.st(f64, reg.scalar(u64), reg.scalar(f64), scope="gpu"), "together"),
    (lambda: ptx.multimem.cp.async_.bulk(reg.scalar(u64), reg.scalar(u32), 8), "invalid size of a bulk copy: 8 bytes"),
    (lambda: epilogue(12), "frag has 12 registers"),
    (lambda: epilogue(16, tmp_pack=[]), "tmp_bf16 must be 8 b16 registers and tmp_pack 4 b32 registers"),
)


def descriptor(**changes: Any) -> None:
    given = {"leading_byte_offset": 16, "stride_byte_offset": 1024, **changes}
    base = given.pop("base") if "base" in given else reg.scalar(u32)
    ptx.wgmma.make_descriptor(base, **given)


def load(rank: int, coord: tuple[int, ...], **changes: Any) -> None:
    given = {"dst": reg.scalar(u32), "src": reg.scalar(u64), "mbar": reg.scalar(u32), **changes}
    getattr(BULK, f"tensor_{rank}d")(coord=coord, **given)


def epilogue(count: int, **more: Any) -> None:
    place = {"smem_base": reg.scalar(u32), "lane": reg.scalar(u32), "row_stride": 72}
    ptx.stmatrix_x4_trans_f32_bf16(frag=reg.array(f32, count), **place, **more)


@pytest.mark.parametrize(("call", "said"), CALLS, ids=[said.split(" * ")[0] for _, said in CALLS])
def test_a_wrong_call_is_refused_with_what_there_is(call: Callable[[], object], said: str) -> None:
    message = told(call)
    assert [part for part in said.split(" * ") if part not in message] == [], message


def test_a_matrix_that_is_laid_out_by_hand_is_the_tile() -> None:
    def by_hand() -> None:
        layout = layout_for_a(dtype=bf16, m=64, k=64)
        held = smem.alloc_with_layout(
            bf16, (64, 64), layout.smem_swizzle, name="held", gmma_layout=layout, gmma_major="K"
        )
        product(a=held)

    def by_tile() -> None:
        product(a=smem.wgmma_tile(bf16, (64, 64), Major.K, name="held"))

    texts = [kernel(body, arch="sm_90a").ptx().replace(body.__name__, "k") for body in (by_hand, by_tile)]
    assert texts[0] == texts[1]


def test_a_descriptor_of_words_is_the_bits_of_the_manual() -> None:
    """Descriptor fields have 14 bits, of bytes divided by 16. Manual: "Matrix Descriptor Format"."""

    def k() -> None:
        base = reg.scalar(u32)
        ptx.wgmma.make_descriptor(base, leading_byte_offset=32, stride_byte_offset=512, swizzle=2, base_offset=5)
        ptx.wgmma.make_descriptor(base, leading_byte_offset=16, stride_byte_offset=1024, swizzle=1)

    text = kernel(k, arch="sm_90a").ptx()
    first, second = (int(line.split()[-1].rstrip(";")) for line in text.splitlines() if "or.b64" in line)
    assert first == 2 << 16 | 32 << 32 | 5 << 49 | 2 << 62
    assert second == ptx.wgmma.MASKED_DESC_B128
    assert ptx.wgmma.SWIZZLE_128B, (ptx.wgmma.SWIZZLE_64B, ptx.wgmma.SWIZZLE_32B, ptx.wgmma.SWIZZLE_NONE) == (1, 2, 3)
