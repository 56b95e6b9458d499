"""Small kernels for the tests; each docstring is the kernel's formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl import ptx, reg
from pyptx_dsl.contract.specs import Layout, Tile
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import PtxType, b8, b16, b32, b64, f32, s32, u32

if TYPE_CHECKING:
    from pyptx_dsl.kernels.kernel import Kernel

_BITS = {8: b8, 16: b16, 32: b32, 64: b64}


def thread(element: int = 4) -> reg.Reg:
    """Emit code for the byte offset of this thread's element (`element` bytes each); CTAs have 32 threads."""
    tid, block = reg.scalar(u32), reg.scalar(u32)
    ptx.inst.mov.u32(tid, ptx.special.tid.x())
    ptx.inst.mov.u32(block, ptx.special.ctaid.x())
    ptx.inst.mad.lo.u32(tid, block, 32, tid)
    return tid * element


def load(pointer: reg.Reg, offset: reg.Reg) -> reg.Reg:
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(pointer + offset))
    return value


def store(pointer: reg.Reg, offset: reg.Reg, value: reg.Reg) -> None:
    ptx.inst.st.global_.f32(ptx.addr(pointer + offset), value)


VECTOR = Tile("N", f32)


@kernel(in_specs=(VECTOR, VECTOR), out_specs=(VECTOR,), grid=lambda N: N // 32, block=32, arch="sm_80")
def product(X, W, Y, *, scale: float = 1.0):
    """Compute y = x · w · scale."""
    x, w, y = ptx.global_ptrs(X, W, Y)
    at = thread()
    value = load(x, at) * load(w, at)
    store(y, at, value * scale)
    ptx.ret()


@kernel(in_specs=(VECTOR,) * 3, out_specs=(VECTOR, VECTOR), grid=lambda N: N // 32, block=32, arch="sm_80")
def product_gradients(X, W, G, DX, DW, *, scale: float = 1.0):
    """Compute dx = g · w · scale, dw = g · x · scale."""
    x, w, g, dx, dw = ptx.global_ptrs(X, W, G, DX, DW)
    at = thread()
    gradient = load(g, at) * scale
    store(dx, at, gradient * load(w, at))
    store(dw, at, gradient * load(x, at))
    ptx.ret()


MATRIX, ROW = Tile("B", "N", f32), Tile("N", f32)


@kernel(in_specs=(MATRIX, ROW), out_specs=(MATRIX,), grid=lambda B, N: (N // 32, B), block=32, arch="sm_80")
def add_row(X, W, Y):
    """Compute y = x + w, the same w for every row."""
    x, w, y = ptx.global_ptrs(X, W, Y)
    row = reg.scalar(u32)
    ptx.inst.mov.u32(row, ptx.special.ctaid.y())
    at = thread()
    x += row * (X.shape[1] * 4)
    y += row * (X.shape[1] * 4)
    store(y, at, load(x, at) + load(w, at))
    ptx.ret()


@kernel(in_specs=(VECTOR,), grid=lambda N: N // 32, block=32, arch="sm_80")
def double(X):
    """Compute x = 2 · x, in place."""
    (x,) = ptx.global_ptrs(X)
    at = thread()
    value = load(x, at)
    store(x, at, value + value)
    ptx.ret()


@kernel(
    in_specs=(VECTOR, VECTOR),
    out_specs=(VECTOR,),
    mutates=("TOTAL",),
    grid=lambda N: N // 32,
    block=32,
    arch="sm_80",
)
def accumulate(X, TOTAL, OLD):
    """Compute old = total, total += x."""
    x, total, old = ptx.global_ptrs(X, TOTAL, OLD)
    at = thread()
    value = load(total, at)
    store(old, at, value)
    store(total, at, value + load(x, at))
    ptx.ret()


@kernel(out_specs=(VECTOR,), raw_params=[("f32", "value")], grid=lambda N: N // 32, block=32, arch="sm_80")
def fill(Y):
    """Compute y = value."""
    (y,) = ptx.global_ptrs(Y)
    value = reg.scalar(f32)
    ptx.inst.ld.param.f32(value, ptx.addr("value"))
    store(y, thread(), value)
    ptx.ret()


@kernel(in_specs=(VECTOR,), out_specs=(VECTOR,), grid=lambda N: N // 32, block=32, arch="sm_80")
def writes_to_its_input(X, Y):
    """Compute x = 0: write to an input that the kernel does not declare in `mutates`."""
    x, _ = ptx.global_ptrs(X, Y)
    store(x, thread(), reg.scalar(f32, init=0.0))
    ptx.ret()


@kernel(in_specs=(VECTOR,), out_specs=(VECTOR,), grid=lambda N: N // 32, block=32, arch="sm_80")
def trapping(X, Y):
    """Execute `trap`, which aborts the launch."""
    del X, Y
    ptx.inst.trap()
    ptx.ret()


def copy_of(dtype: PtxType, layout: Layout = Layout.ROW) -> Kernel:
    """Return a kernel y = x for M x 32 elements of `dtype`; it copies elements in memory order, as bits."""
    bits = dtype.bits
    tile = Tile("M", 32, dtype, layout)
    word = {8: "b8", 16: "b16", 32: "b32", 64: "b64"}[bits]

    @kernel(in_specs=(tile,), out_specs=(tile,), grid=lambda M: M, block=32, arch="sm_90")
    def copy(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        at = thread(bits // 8)
        value = reg.scalar(_BITS[max(bits, 16)])
        getattr(ptx.inst.ld.global_, word)(value, ptx.addr(x + at))
        getattr(ptx.inst.st.global_, word)(ptx.addr(y + at), value)
        ptx.ret()

    return copy


@kernel(in_specs=(VECTOR, VECTOR), out_specs=(VECTOR,), grid=lambda N: N // 32, block=32, arch="sm_80")
def first_gradient(W, G, DX, *, scale: float = 1.0):
    """Compute dx = g · w · scale."""
    w, g, dx = ptx.global_ptrs(W, G, DX)
    at = thread()
    store(dx, at, load(g, at) * load(w, at) * scale)
    ptx.ret()


INDICES = Tile("N", s32)


def _index(pointer: reg.Reg, offset: reg.Reg) -> reg.Reg:
    index = reg.scalar(u32)
    ptx.inst.ld.global_.u32(index, ptx.addr(pointer + offset))
    return index * 4


@kernel(in_specs=(VECTOR, INDICES), out_specs=(VECTOR,), grid=lambda N: N // 32, block=32, arch="sm_80")
def pick(X, AT, Y):
    """Compute y = x[at]."""
    x, indices, y = ptx.global_ptrs(X, AT, Y)
    at = thread()
    store(y, at, load(x, _index(indices, at)))
    ptx.ret()


@kernel(in_specs=(INDICES, VECTOR), out_specs=(VECTOR, INDICES), grid=lambda N: N // 32, block=32, arch="sm_80")
def pick_gradients(AT, G, DX, DAT):
    """Compute dx[at] = g, where `at` is a permutation, and the gradient of `at`, 0."""
    indices, g, dx, dat = ptx.global_ptrs(AT, G, DX, DAT)
    at = thread()
    store(dx, _index(indices, at), load(g, at))
    store(dat, at, reg.scalar(f32, init=0.0))
    ptx.ret()


@kernel(in_specs=(MATRIX, ROW, MATRIX), out_specs=(MATRIX, MATRIX), grid=lambda B, N: N // 32, block=32, arch="sm_80")
def wrong_gradients(X, W, G, DX, DW):
    """Compute two gradients, both of the first input's shape."""
    x, _, _, dx, dw = ptx.global_ptrs(X, W, G, DX, DW)
    at = thread()
    store(dx, at, load(x, at))
    store(dw, at, load(x, at))
    ptx.ret()


@kernel(in_specs=(VECTOR,), out_specs=(VECTOR, INDICES), grid=lambda N: N // 32, block=32, arch="sm_80")
def root(X, Y, ONES):
    """Compute y = sqrt(x), and a second output of integer ones."""
    x, y, ones = ptx.global_ptrs(X, Y, ONES)
    at = thread()
    value = load(x, at)
    ptx.inst.sqrt.rn.f32(value, value)
    store(y, at, value)
    ptx.inst.st.global_.u32(ptx.addr(ones + at), reg.scalar(u32, init=1))
    ptx.ret()


@kernel(in_specs=(VECTOR, VECTOR, INDICES), out_specs=(VECTOR,), grid=lambda N: N // 32, block=32, arch="sm_80")
def root_gradient(Y, G, G_ONES, DX):
    """Compute dx = g / (2 · y) + the gradient of the integer output, which is 0."""
    y, g, zero, dx = ptx.global_ptrs(Y, G, G_ONES, DX)
    at = thread()
    value = load(y, at)
    ptx.inst.add.f32(value, value, value)
    ptx.inst.div.rn.f32(value, load(g, at), value)
    store(dx, at, value + load(zero, at))
    ptx.ret()
