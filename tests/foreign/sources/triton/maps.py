"""Tensor maps made by the host or by kernels, with and without warp roles."""

import numpy as np
import triton
import triton.language as tl
from cases import HOPPER, NEWER, Case, Described, corpus, double, eighths, given, made, whole

MATMUL = corpus("triton/matmul.py")


@triton.jit
def made_here(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROLES: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=ROLES):
        total = tl.dot(left.load([row, k]), right.load([k, column]), total)
    out.store([row, column], total.to(c.dtype.element_ty))


@triton.jit
def copied(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Copy by TMA of tiles across the edges: loads are padded with zeros, and stores are clipped."""
    into = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    frm = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    at = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    into.store(at, frm.load(at) + 1)


@triton.jit
def turned(x, out, B: tl.constexpr):
    out.store([tl.program_id(1) * B, tl.program_id(0) * B], x.load([tl.program_id(0) * B, tl.program_id(1) * B]).T)


@triton.jit
def filled(x, out, B: tl.constexpr):
    """Copy by TMA of tiles whose elements outside the tensor are zero."""
    v = x.load([tl.program_id(0) * B - 4, 8])
    tl.store(out + tl.program_id(0) * B * B + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :], v)


@triton.jit
def cubes(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    out.store([tl.program_id(0), 0, 0], x.load([tl.program_id(0), 0, 0]) * 2)


@triton.jit
def added(x, out, B: tl.constexpr):
    """TMA reductions: CTAs add their tiles into one output tile."""
    into = tl.make_tensor_descriptor(out, [B, B], [B, 1], [B, B])
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    into.atomic_add([0, 0], tl.load(x + tl.program_id(0) * B * B + at))


@triton.jit
def softmax_of_tiles(x, out, N, BM: tl.constexpr, BN: tl.constexpr):
    frm = tl.make_tensor_descriptor(x, [BM * tl.num_programs(0), N], [N, 1], [BM, BN])
    v = frm.load([tl.program_id(0) * BM, 0])
    v = tl.where(tl.arange(0, BN)[None, :] < N, v, -float("inf"))
    e = tl.exp(v - tl.max(v, 1)[:, None])
    tl.make_tensor_descriptor(out, [BM * tl.num_programs(0), N], [N, 1], [BM, BN]).store(
        [tl.program_id(0) * BM, 0], e / tl.sum(e, 1)[:, None]
    )


def product(name, kernel, arguments, tile, grid, options, **roles):
    constants = dict(zip(("BM", "BN", "BK"), tile, strict=True)) | roles
    options = {"num_warps": 4} | dict(options)
    return Case(name, kernel, arguments, grid, constants=constants, options=options, targets=NEWER)


def here(name, element, out, shape, tile, roles=False, options=()):
    (m, n, k), (bm, bn, _) = shape, tile
    a, b = eighths(m, k), eighths(k, n)
    arguments = {"a": given(a, element), "b": given(b, element), "c": made(double(a) @ double(b), out)}
    sizes = {"M": m, "N": n, "K": k}
    return product(name, made_here, arguments | sizes, tile, (m // bm, n // bn), options, ROLES=roles)


def tile_after_tile(name, shape, tile, grid, roles=False, options=()):
    """Persistent GEMM with a K-major B: a CTA computes several tiles."""
    m, n, k = shape
    a, b = eighths(m, k), eighths(n, k)
    arguments = {"a": given(a, "float16"), "b": given(b, "float16"), "c": made(double(a) @ double(b).T, "float16")}
    sizes = {"M": m, "N": n, "K": k}
    return product(name, MATMUL.persistent, arguments | sizes, tile, grid, options, SPECIALISED=roles)


# Triton 3.9 cannot split a host-made tensor map's box over two warpgroups: both compute the same tile of 64 rows.
def by_host(name, element, shape, tile, roles=False, options=()):
    """GEMM with a K-major B and float16 results."""
    (m, n, k), (bm, bn, bk) = shape, tile
    a, b = eighths(m, k), eighths(n, k)
    maps = {
        "a": Described(given(a, element), (bm, bk)),
        "b": Described(given(b, element), (bn, bk)),
        "c": Described(made(double(a) @ double(b).T, "float16"), (bm, bn)),
    }
    sizes = {"M": m, "N": n, "K": k}
    return product(name, MATMUL.through_maps, maps | sizes, tile, (m // bm, n // bn), options, SPECIALISED=roles)


X, T = eighths(50, 72), eighths(64, 128)
F = eighths(40, 40)
EDGES = np.pad(F, ((4, 24), (0, 24)))[:64, 8:40].reshape(2, 32, 32)
CUBE, ADDED = eighths(3, 8, 16), eighths(4, 32, 32)
S = eighths(32, 48)
E = np.exp(double(S) - S.max(1, keepdims=True))
I = whole(50, 72)

CASES = [
    here("device-maps", "float16", "float16", (128, 128, 128), (64, 64, 64)),
    here("device-maps-bfloat16", "bfloat16", "bfloat16", (128, 64, 128), (64, 64, 64), options={"num_stages": 4}),
    here("device-maps-eight-warps", "float16", "float16", (128, 128, 64), (128, 64, 32), options={"num_warps": 8}),
    here("device-maps-single", "float32", "float32", (64, 64, 64), (64, 32, 32)),
    here("device-maps-of-a-cluster", "float16", "float16", (256, 128, 128), (128, 64, 64), options={"num_ctas": 2}),
    here("device-maps-narrow", "float16", "float16", (64, 32, 64), (64, 16, 32)),
    here("device-maps-roles", "float16", "float16", (128, 128, 192), (128, 64, 64), True, {"num_stages": 3}),
    by_host("host-maps", "float16", (128, 128, 128), (64, 64, 64)),
    by_host("host-maps-wide", "float16", (128, 256, 64), (128, 256, 64), options={"num_warps": 8}),
    by_host("host-maps-e4m3", "float8_e4m3fn", (64, 64, 256), (64, 64, 128)),
    by_host("host-maps-tf32", "float32", (64, 64, 64), (64, 64, 32)),
    by_host("host-maps-roles", "float16", (128, 128, 256), (64, 128, 64), True, {"num_stages": 2}),
    by_host("host-maps-roles-bfloat16", "bfloat16", (64, 64, 192), (64, 64, 64), True, {"num_stages": 3}),
    tile_after_tile("persistent", (128, 192, 128), (64, 64, 64), 4),
    tile_after_tile("persistent-roles", (256, 128, 128), (128, 64, 64), 2, True, {"num_stages": 2}),
    Case(
        "map-of-odd-sizes",
        copied,
        {"x": given(X), "out": made(double(X) + 1, "float32"), "M": 50, "N": 72},
        (2, 3),
        constants={"BM": 32, "BN": 32},
        targets=HOPPER,
    ),
    Case(
        "map-of-integers",
        copied,
        {"x": given(I), "out": made(I + 1, "int32"), "M": 50, "N": 72},
        (2, 3),
        constants={"BM": 32, "BN": 32},
        targets=HOPPER,
    ),
    Case(
        "map-transposed",
        turned,
        {"x": Described(given(T, "float16"), (32, 32)), "out": Described(made(T.T, "float16"), (32, 32))},
        (2, 4),
        constants={"B": 32},
        targets=HOPPER,
    ),
    Case(
        "map-beyond-the-tensor",
        filled,
        {"x": Described(given(F), (32, 32)), "out": made(double(EDGES), "float32")},
        2,
        constants={"B": 32},
        targets=HOPPER,
    ),
    Case(
        "map-of-three-dimensions",
        cubes,
        {"x": Described(given(CUBE), (1, 8, 16)), "out": Described(made(double(CUBE) * 2, "float32"), (1, 8, 16))},
        3,
        constants={"A": 1, "B": 8, "C": 16},
        targets=HOPPER,
    ),
    Case(
        "map-reductions",
        added,
        {"x": given(ADDED), "out": made(double(ADDED).sum(0), "float32")},
        4,
        constants={"B": 32},
        targets=HOPPER,
    ),
    Case(
        "softmax-of-tiles",
        softmax_of_tiles,
        {"x": given(S), "out": made(E / E.sum(1, keepdims=True), "float32"), "N": 48},
        2,
        constants={"BM": 16, "BN": 64},
        targets=HOPPER,
    ),
]
