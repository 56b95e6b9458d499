"""Kernels of pyptx-torch's tests, among them kernels without inputs, without outputs, and with scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyptx_dsl import ptx, reg
from pyptx_dsl.contract.specs import Layout, Tile
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import PtxType, b32, f32, f64, s32, u32, u64

if TYPE_CHECKING:
    from pyptx_dsl.kernels.kernel import Kernel

LANES = 32


def index() -> Any:
    """Return the index of this thread in a one-dimensional grid."""
    lane = reg.from_(ptx.special.tid.x(), u32)
    return lane + reg.from_(ptx.special.ctaid.x(), u32) * LANES


def load(pointer: Any, number: Any, dtype: PtxType) -> Any:
    value = reg.scalar(dtype)
    getattr(ptx.inst.ld.global_, dtype.name)(value, ptx.addr(pointer + number * dtype.bytes))
    return value


def store(pointer: Any, number: Any, value: Any, dtype: PtxType) -> None:
    getattr(ptx.inst.st.global_, dtype.name)(ptx.addr(pointer + number * dtype.bytes), value)


def parameter(name: str, dtype: PtxType) -> Any:
    value = reg.scalar(dtype)
    getattr(ptx.inst.ld.param, dtype.name)(value, ptx.addr(name))
    return value


def build_double(size: int | str = "N", dtype: PtxType = f32) -> Kernel[Any]:
    """Return a kernel Y = X + X, for a fixed number of elements, or any multiple of 32."""
    grid = (lambda N: N // LANES) if isinstance(size, str) else size // LANES

    @kernel(in_specs=(Tile(size, dtype),), out_specs=(Tile(size, dtype),), grid=grid, block=LANES)
    def double(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        value = load(px, index(), dtype)
        store(py, index(), value + value, dtype)
        ptx.ret()

    return double


@kernel(in_specs=(Tile("N", s32),), out_specs=(Tile("N", s32),), grid=lambda N: N, cluster=2, persistent=2)
def blocks(X, Y):
    """Compute Y[i] = number of CTAs, in a grid-stride loop."""
    (py,) = ptx.global_ptrs(Y)
    count = reg.from_(ptx.special.nctaid.x(), u32)
    for at in ptx.range_(ptx.special.ctaid.x(), X.shape[0], count):
        store(py, at, count, s32)
    ptx.ret()


double = build_double()
whole_double = build_double(dtype=s32)


@kernel(
    in_specs=(Tile("B", "N", f32),),
    out_specs=(Tile("B", "N", f32),),
    grid=lambda B, N: B * N // LANES,
    block=LANES,
    raw_params=[("f32", "alpha")],
)
def power(X, Y, *, times=1, dtype=f32):
    """Compute Y = X * alpha^times, with a call argument alpha and two template values."""
    px, py = ptx.global_ptrs(X, Y)
    value, alpha = load(px, index(), dtype), parameter("alpha", f32)
    for _ in range(times):
        value = value * alpha
    store(py, index(), value, dtype)
    ptx.ret()


@kernel(in_specs=(Tile("N", f32),), grid=lambda N: N // LANES, block=LANES, raw_params=[("f32", "alpha")])
def scale_(X):
    """Compute X *= alpha; a kernel without outputs."""
    (px,) = ptx.global_ptrs(X)
    store(px, index(), load(px, index(), f32) * parameter("alpha", f32), f32)
    ptx.ret()


@kernel(
    in_specs=(Tile("N", f32), Tile("N", f32)),
    out_specs=(Tile("N", f32),),
    grid=lambda N: N // LANES,
    block=LANES,
    mutates=("Total",),
)
def accumulate(X, Total, Before):
    """Compute Before = Total; Total += X."""
    px, pt, pb = ptx.global_ptrs(X, Total, Before)
    value, total = load(px, index(), f32), load(pt, index(), f32)
    store(pb, index(), total, f32)
    store(pt, index(), total + value, f32)
    ptx.ret()


@kernel(out_specs=(Tile("N", f32),), grid=lambda N: N // LANES, block=LANES, raw_params=[("f32", "alpha")])
def fill(Y):
    """Compute Y = alpha; a kernel without inputs."""
    (py,) = ptx.global_ptrs(Y)
    store(py, index(), parameter("alpha", f32), f32)
    ptx.ret()


@kernel(out_specs=(Tile("N", u64),), grid=lambda N: N // LANES, block=LANES, raw_params=[("u64", "word")])
def fill_words(Y):
    """Compute Y = word, a 64-bit scalar."""
    (py,) = ptx.global_ptrs(Y)
    store(py, index(), parameter("word", u64), u64)
    ptx.ret()


@kernel(
    in_specs=(Tile("N", f32), Tile("N", f32)),
    out_specs=(Tile("N", f32), Tile("N", f32)),
    grid=lambda N: N // LANES,
    block=LANES,
)
def sum_and_difference(A, B, C, D):
    """Compute C = A + B, D = A - B."""
    pa, pb, pc, pd = ptx.global_ptrs(A, B, C, D)
    a, b = load(pa, index(), f32), load(pb, index(), f32)
    store(pc, index(), a + b, f32)
    store(pd, index(), a - b, f32)
    ptx.ret()


@kernel(
    in_specs=(Tile("M", "N", f32, Layout.COL),),
    out_specs=(Tile("M", "N", f32, Layout.COL),),
    grid=lambda M, N: M * N // LANES,
    block=LANES,
)
def double_columns(X, Y):
    """Compute Y = X + X, both stored by columns."""
    px, py = ptx.global_ptrs(X, Y)
    value = load(px, index(), f32)
    store(py, index(), value + value, f32)
    ptx.ret()


def build_product(dtype: PtxType = f64, size: int | str = "N") -> tuple[Kernel[Any], Kernel[Any]]:
    """Return kernels Y = X W, and its gradients: DX = W DY, DW = X DY."""
    tile = Tile(size, dtype)
    grid = (lambda N: N // LANES) if isinstance(size, str) else size // LANES

    @kernel(in_specs=(tile, tile), out_specs=(tile,), grid=grid, block=LANES)
    def product(X, W, Y):
        px, pw, py = ptx.global_ptrs(X, W, Y)
        store(py, index(), load(px, index(), dtype) * load(pw, index(), dtype), dtype)
        ptx.ret()

    @kernel(in_specs=(tile, tile, tile), out_specs=(tile, tile), grid=grid, block=LANES)
    def product_gradients(X, W, DY, DX, DW):
        px, pw, pg, pa, pb = ptx.global_ptrs(X, W, DY, DX, DW)
        gradient = load(pg, index(), dtype)
        store(pa, index(), load(pw, index(), dtype) * gradient, dtype)
        store(pb, index(), load(px, index(), dtype) * gradient, dtype)
        ptx.ret()

    return product, product_gradients


@kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), grid=1, block=1)
def negate_one(X, Y):
    """Compute Y = -X, of one element."""
    px, py = ptx.global_ptrs(X, Y)
    value = load(px, reg.from_(ptx.special.tid.x(), u32), f32)
    store(py, reg.from_(ptx.special.tid.x(), u32), -value, f32)
    ptx.ret()


@kernel(in_specs=(Tile("N", b32),), out_specs=(Tile("N", b32),), grid=lambda N: N // LANES, block=LANES)
def copy_bits(X, Y):
    """Compute Y = X, for any type of 32 bits."""
    px, py = ptx.global_ptrs(X, Y)
    store(py, index(), load(px, index(), b32), b32)
    ptx.ret()
