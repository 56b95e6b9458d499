"""Kernels that the bundle tests export: one with every launch option, and small kernels."""

from __future__ import annotations

from pyptx import Layout, Tile, kernel, ptx, reg
from pyptx.types import b16, bf16, f32, f64, from_name, s32, u8, u32
from pyptx_dsl.contract.im2col import Im2col
from pyptx_ir.element_types import BY_NAME

THREADS = 128


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    raw_params=[("f32", "alpha"), ("u32", "count")],
    grid=lambda N: -(-N // THREADS),
    block=(THREADS, 1, 1),
    arch="sm_80",
)
def scale(X, Y, *, twice: bool = False, dtype=f32):
    """Multiply the first `count` elements by `alpha`, once or twice; copy later elements. `dtype` is `mul`'s type."""
    px, py = ptx.global_ptrs(X, Y)
    tid = reg.from_(ptx.special.tid.x(), u32)
    block = reg.from_(ptx.special.ctaid.x(), u32)
    index = reg.scalar(u32)
    ptx.inst.mad.lo.u32(index, block, THREADS, tid)
    ptx.ret(pred=index >= X.shape[0])
    alpha, count, value = reg.scalar(f32), reg.scalar(u32), reg.scalar(f32)
    ptx.inst.ld.param.f32(alpha, ptx.addr("alpha"))
    ptx.inst.ld.param.u32(count, ptx.addr("count"))
    ptx.inst.ld.global_.f32(value, ptx.addr(px + index * 4))
    with ptx.if_(index < count):
        for _ in range(1 + twice):
            ptx.inst.mul[str(dtype)](value, value, alpha)
    ptx.inst.st.global_.f32(ptx.addr(py + index * 4), value)
    ptx.ret()


@kernel(
    in_specs=(Tile("M", 64, bf16, tma_box=(8, 32)), Tile("M", s32)),
    out_specs=(Tile("M", f32),),
    raw_params=[("f32", "alpha"), ("u64", "register"), ("s16", "config"), ("b32", "bits")],
    cluster=(2, 1, 1),
    grid=(4, 3, 2),
    block=(32, 4, 1),
    smem=100_000,
    mutates=("new",),
    launch={"cooperative": True, "priority": -1},
)
def everything(X, new, Y):  # noqa: ARG001  the entry takes them
    """Kernel with a tensor map, scalars (one named like a C keyword), a 3D launch and launch attributes."""
    X.tma_desc()
    ptx.ret()


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    raw_params=[("f32", "alpha"), ("u32", "count")],
    grid=lambda N, rounding: (N, len(rounding), 1),
    arch="sm_80",
)
def rounded(X, Y, *, rounding="fast", steps=1):  # noqa: ARG001  the tests check the launch; the kernel does not run
    """Kernel with two template values, a string and a number, that distinguish specializations."""
    ptx.ret()


@kernel(
    in_specs=tuple(Tile("N", from_name(name)) for name in BY_NAME),
    out_specs=(Tile("N", f32),),
    grid=(1, 1, 1),
    arch="sm_80",
)
def typed(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T, U, out_):  # noqa: ARG001, E741  one of each type
    """Kernel with an array of each element type that PTX and the array frameworks share."""
    ptx.ret()


WINDOW = Im2col.convolution((3, 5), pixels=128, channels=64, padding=(1, 2), stride=(1, 2))


@kernel(
    in_specs=(Tile("N", 32, "W", 64, bf16, layout=Layout.TMA_128B, im2col=WINDOW),),
    out_specs=(Tile("N", f32),),
    grid=(1, 1, 1),
)
def columns(X, Y):  # noqa: ARG001  the entry takes it
    """Kernel with an im2col tensor map."""
    X.tma_desc()
    ptx.ret()


@kernel(grid=(7, 1, 1), block=(64, 1, 1), arch="sm_80")
def nothing(*, label=""):  # noqa: ARG001  a template value of any text
    """Kernel without arrays."""
    ptx.ret()


@kernel(
    in_specs=(Tile("M", "K", f32, align=16), Tile("K", "M", b16, layout=Layout.COL), Tile(3, "M", u8)),
    out_specs=(Tile("M", "K", f32), Tile("M", f64)),
    raw_params=[("f32", "alpha"), ("s16", "shift"), ("u64", "seed")],
    grid=lambda M, K, scheme: (M, K, 1 + (scheme == "exact")),
    block=(32, 1, 1),
    arch="sm_80",
)
def blend(A, new, flags, Y, norms, *, scheme="fast"):  # noqa: ARG001  tests check the launch; it does not run
    """Kernel with arrays of many element types and layouts, and scalars set at launch; all sizes have the same code."""
    ptx.ret()


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    raw_params=[(("u32", "s64", "f32", "u16")[number % 4], f"p{number}") for number in range(20)],
    grid=lambda N: N,
    arch="sm_80",
)
def many(X, Y):  # noqa: ARG001  the tests check the launch; the kernel does not run
    """Kernel with 20 scalars."""
    ptx.ret()


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=(1, 1, 1), tma_slots="pointer")
def pointed(X, Y):  # noqa: ARG001  the entry takes it
    """Kernel with a pointer to a tensor map, which a C program would have to keep alive."""
    X.tma_desc()
    ptx.ret()


@kernel(in_specs=(Tile("N", f32),), grid=(1, 1, 1), raw_params=[("b8.align64.array128", "place")])
def placed(X):  # noqa: ARG001  the entry takes it
    """Kernel with a byte-array parameter, for which calls cannot pass a value."""
    ptx.ret()


@kernel(in_specs=(Tile("N", f32),), grid=lambda N: 2 * N, cluster=2, persistent=3, launch={"priority": -1})
def lasting(X):  # noqa: ARG001  the entry takes it
    """Persistent kernel with three CTAs per SM, in clusters of two."""
    ptx.ret()


@kernel
def undescribed(X):  # noqa: ARG001  the entry takes it
    """Kernel with an array parameter but without `in_specs`."""
    ptx.ret()


not_a_kernel = 7
