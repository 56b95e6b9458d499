"""Pallas kernels, compiled by Mosaic GPU: accumulators in tensor memory, CTA pairs, scale factors and warp roles."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from cases import BLACKWELL, Case, Described, corpus, double, eighths, given, made, spread, whole
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas.ops.gpu import blackwell_matmul_mgpu as published

warpgroups = corpus("jax/warpgroups.py")
TILED = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
BYTES = (plgpu.TilingTransform((8, 128)), plgpu.SwizzleTransform(128))


def of_two_blocks(a, b, *, tile=256, step=64):
    """MMA over a CTA pair: each CTA loads half the rows of A and half the columns of B."""
    (rows, depth), columns = a.shape, b.shape[1]
    half, pair = tile // 2, "pair"

    def kernel(a_global, b_global, out_global, left, right, out_shared, total, full, done):
        rank, row, column = lax.axis_index(pair), lax.axis_index("rows"), lax.axis_index("columns")

        def body(k, _):
            at = pl.ds(k * step, step)
            places = ((a_global.at[pl.ds(row * tile, tile), at], left, 0), (b_global.at[at, pl.ds(column * tile, tile)], right, 1))
            for source, into, axis in places:
                plgpu.copy_gmem_to_smem(
                    source, into, full, collective_axes=pair, leader_tracked=plgpu.CopyPartition.PARTITIONED(axis)
                )

            @pl.when(rank == 0)
            def _():
                plgpu.barrier_wait(full)
                plgpu.tcgen05_mma(total, left, right, done, accumulate=k > 0, collective_axis=pair)

            plgpu.barrier_wait(done)

        lax.fori_loop(0, depth // step, body, None)
        out_shared[...] = plgpu.async_load_tmem(total).astype(out_shared.dtype)
        plgpu.wait_load_tmem()
        plgpu.commit_smem()
        mine = pl.ds(row * tile + rank * half, half)
        plgpu.copy_smem_to_gmem(out_shared, out_global.at[mine, pl.ds(column * tile, tile)])
        plgpu.wait_smem_to_gmem(0)

    return plgpu.kernel(
        kernel,
        out_type=jax.ShapeDtypeStruct((rows, columns), a.dtype),
        grid=(rows // tile, columns // tile),
        grid_names=("rows", "columns"),
        cluster=(2,),
        cluster_names=(pair,),
        scratch_types=[
            plgpu.SMEM((half, step), a.dtype, transforms=TILED),
            plgpu.SMEM((step, half), b.dtype, transforms=TILED),
            plgpu.SMEM((half, tile), a.dtype, transforms=TILED),
            plgpu.TMEM((half, tile), jnp.float32, collective=True),
            plgpu.Barrier(num_arrivals=2),
            plgpu.Barrier(orders_tensor_core=True),
        ],
    )(a, b)


def scaled(a, b, left_scales, right_scales):
    """Block-scaled MMA of narrow floats with one scale factor per 32 of K."""
    (rows, depth), columns = a.shape, b.shape[0]

    def kernel(a_global, b_global, sa_global, sb_global, out_global, left, right, sa, sb, out_shared, total, ta, tb, full, done):
        for source, into in ((a_global, left), (b_global, right), (sa_global, sa), (sb_global, sb)):
            plgpu.copy_gmem_to_smem(source, into, full)
        plgpu.barrier_wait(full)
        plgpu.async_copy_scales_to_tmem(sa, ta)
        plgpu.async_copy_scales_to_tmem(sb, tb)
        turned = plgpu.transpose_ref(right, (1, 0))
        plgpu.tcgen05_mma(total, left, turned, done, a_scale=ta, b_scale=tb, accumulate=False)
        plgpu.barrier_wait(done)
        out_shared[...] = plgpu.async_load_tmem(total).astype(out_shared.dtype)
        plgpu.wait_load_tmem()
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(out_shared, out_global)
        plgpu.wait_smem_to_gmem(0)

    return plgpu.kernel(
        kernel,
        out_type=jax.ShapeDtypeStruct((rows, columns), jnp.float16),
        grid=(1,),
        grid_names=("one",),
        scratch_types=[
            plgpu.SMEM((rows, depth), a.dtype, transforms=BYTES),
            plgpu.SMEM((columns, depth), b.dtype, transforms=BYTES),
            plgpu.SMEM(left_scales.shape, left_scales.dtype),
            plgpu.SMEM(right_scales.shape, right_scales.dtype),
            plgpu.SMEM((rows, columns), jnp.float16, transforms=TILED),
            plgpu.TMEM((rows, columns), jnp.float32),
            plgpu.TMEM((rows, depth // 32), left_scales.dtype, layout=plgpu.TMEMLayout.SCALES_LAYOUT),
            plgpu.TMEM((columns, depth // 32), right_scales.dtype, layout=plgpu.TMEMLayout.SCALES_LAYOUT),
            plgpu.Barrier(num_arrivals=4),
            plgpu.Barrier(orders_tensor_core=True),
        ],
    )(a, b, left_scales, right_scales)


def persistent(a, b, *, collective):
    """JAX's own GEMM: tiles are assigned to CTAs dynamically."""
    tuning = {"tile_m": 128, "tile_n": 128, "tile_k": 64, "max_concurrent_steps": 2, "epilogue_tile_n": 64}
    return published.matmul_kernel(a, b, published.TuningConfig(**tuning, collective=collective))


def mapped(array, box, tiles=(8, 64)):
    """Return a tensor map of a matrix that is stored tile by tile; `box` is the shape of its boxes, in elements."""
    (rows, columns), (height, width) = box, tiles
    return Described(array, (rows // height, columns // width, *tiles), "128B", tiles=tiles)


def product(name, function, shape, boxes, grid, shared_bytes, block=128, cluster=1):
    m, n, k = shape
    a, b = eighths(m, k), eighths(k, n)
    arrays = (given(a, "float16"), given(b, "float16"), made(double(a) @ double(b), "float16"))
    arguments = {name: mapped(array, box) for name, array, box in zip("abc", arrays, boxes, strict=True)}
    shapes = [((m, k), jnp.float16), ((k, n), jnp.float16)]
    return Case(name, function, arguments, grid, block, cluster, shared_bytes, options={"shapes": shapes}, targets=BLACKWELL)


def turned(scales):
    """Return scale factors in blocks of 128 rows x 4, with rows r, r + 32, r + 64 and r + 96 adjacent."""
    blocks = scales.reshape(-1, 4, 32, scales.shape[1] // 4, 4).transpose(0, 3, 2, 1, 4)
    return np.ascontiguousarray(blocks).reshape(-1, 32, 16)


A, B = eighths(128, 256), eighths(128, 256)
SA, SB = (whole(128, 8, low=120, high=130, dtype="uint8") for _ in range(2))
SCALED = double(A) * spread(np.exp2(SA - 127.0), 32) @ (double(B) * spread(np.exp2(SB - 127.0), 32)).T
NARROW, EXPONENT = jnp.float8_e4m3fn, jnp.float8_e8m0fnu

CASES = [
    product("tensor-memory", warpgroups.product_in_tensor_memory, (256, 128, 256), [(128, 64), (64, 128), (128, 128)], (1, 2), 100000),
    product("two-blocks", of_two_blocks, (256, 256, 192), [(128, 64), (64, 128), (128, 256)], (2, 1), 100000, cluster=2),
    product("tiles-as-they-come", partial(persistent, collective=False), (256, 384, 128), [(128, 64), (64, 128), (128, 64)], 6, 120000, 256),
    product("tiles-as-they-come-to-pairs", partial(persistent, collective=True), (512, 256, 128), [(128, 64), (64, 128), (128, 64)], 4, 120000,
            256, 2),
    Case("mxfp8", scaled, {
        "a": mapped(given(A, "float8_e4m3fn"), (128, 256), (8, 128)), "b": mapped(given(B, "float8_e4m3fn"), (128, 256), (8, 128)),
        "sa": Described(given(turned(SA)), (2, 32, 16)), "sb": Described(given(turned(SB)), (2, 32, 16)),
        "c": mapped(made(SCALED, "float16"), (128, 128))},
        1, 128, shared_bytes=200000, targets=BLACKWELL,
        options={"shapes": [((128, 256), NARROW), ((128, 256), NARROW), ((1, 2, 32, 16), EXPONENT), ((1, 2, 32, 16), EXPONENT)]}),
]
