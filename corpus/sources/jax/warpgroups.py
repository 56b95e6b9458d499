# SPDX-License-Identifier: Apache-2.0
"""Kernels in Pallas, compiled by Mosaic GPU: TMA copies, wgmma, warp specialization."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

F32, F16, BF16 = jnp.float32, jnp.float16, jnp.bfloat16


def scaled_kernel(x, y, out):
    out[...] = x[...] * 2.0 + y[...]


def scaled(x, y):
    return pl.pallas_call(
        scaled_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), compiler_params=plgpu.CompilerParams()
    )(x, y)


def normalised_kernel(x, out):
    powers = jnp.exp(x[...])
    out[...] = powers / jnp.broadcast_to(jnp.sum(powers), powers.shape)


def normalised(x):
    return pl.pallas_call(
        normalised_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), compiler_params=plgpu.CompilerParams()
    )(x)


def product(a, b, *, tile=128, step=64, stages=4):
    """C = A · B with wgmma, copies some steps ahead."""
    (rows, depth), columns = a.shape, b.shape[1]
    swizzle = plgpu.SwizzleTransform(128)
    layout = (plgpu.TilingTransform((8, 64)), swizzle)

    def kernel(a_global, b_global, out_global, out_shared, total):
        row, column = pl.program_id(0), pl.program_id(1)

        def body(_, left, right):
            plgpu.wgmma(total, left, right)
            plgpu.wgmma_wait(1)

        plgpu.emit_pipeline(
            body,
            grid=(depth // step,),
            in_specs=[
                plgpu.BlockSpec((tile, step), lambda k: (row, k), transforms=layout, delay_release=1),
                plgpu.BlockSpec((step, tile), lambda k: (k, column), transforms=layout, delay_release=1),
            ],
            max_concurrent_steps=stages,
        )(a_global, b_global)
        out_shared[...] = total[...].astype(out_shared.dtype)
        plgpu.commit_smem()
        place = (pl.ds(row * tile, tile), pl.ds(column * tile, tile))
        plgpu.copy_smem_to_gmem(out_shared, out_global.at[place])
        plgpu.wait_smem_to_gmem(0)

    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((rows, columns), a.dtype),
        grid=(rows // tile, columns // tile),
        in_specs=[pl.BlockSpec(memory_space=plgpu.GMEM)] * 2,
        out_specs=pl.BlockSpec(memory_space=plgpu.GMEM),
        scratch_shapes=[plgpu.SMEM((tile, tile), a.dtype, transforms=layout), plgpu.ACC((tile, tile), F32)],
    )(a, b)


def product_with_roles(a, b, *, tile=128, step=64, stages=4):
    """The same, with one warpgroup for copies and two for MMA, half of the rows each."""
    (rows, depth), columns = a.shape, b.shape[1]
    layout = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
    half = tile // 2

    def kernel(a_global, b_global, out_global, out_shared):
        row, column = lax.axis_index("rows"), lax.axis_index("columns")
        mine = pl.ds(lax.axis_index("groups") * half, half)

        def compute(pipeline):
            total = pipeline(plgpu.layout_cast(jnp.zeros((half, tile), F32), plgpu.Layout.WGMMA))
            out_shared[mine] = total.astype(out_shared.dtype)
            plgpu.commit_smem()
            place = (pl.ds(row * tile + lax.axis_index("groups") * half, half), pl.ds(column * tile, tile))
            plgpu.copy_smem_to_gmem(out_shared.at[mine], out_global.at[place])
            plgpu.wait_smem_to_gmem(0)

        def body(_, left, right, total):
            def multiply(accumulator):
                plgpu.wgmma(accumulator, left.at[mine], right)

            return pl.run_state(multiply)(plgpu.ACC.init(total))

        plgpu.emit_pipeline_warp_specialized(
            body,
            grid=(depth // step,),
            in_specs=[
                plgpu.BlockSpec((tile, step), lambda k: (row, k), transforms=layout),
                plgpu.BlockSpec((step, tile), lambda k: (k, column), transforms=layout),
            ],
            max_concurrent_steps=stages,
            num_compute_wgs=2,
            wg_axis="groups",
            memory_registers=40,
            compute_context=compute,
        )(a_global, b_global)

    return plgpu.kernel(
        kernel,
        out_shape=jax.ShapeDtypeStruct((rows, columns), a.dtype),
        grid=(rows // tile, columns // tile),
        grid_names=("rows", "columns"),
        num_threads=3,
        thread_name="groups",
        scratch_shapes=[plgpu.SMEM((tile, tile), a.dtype, transforms=layout)],
    )(a, b)


def product_in_tensor_memory(a, b, *, tile=128, step=64):
    """The same with tcgen05, alternating between two buffers."""
    (rows, depth), columns = a.shape, b.shape[1]
    layout = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))

    def kernel(a_global, b_global, out_global, left, right, out_shared, total, full, free):
        row, column = lax.axis_index("rows"), lax.axis_index("columns")

        def body(k, _):
            slot = lax.rem(k, 2)

            @pl.when(k >= 2)
            def _():
                plgpu.barrier_wait(free.at[slot])

            place = pl.ds(k * step, step)
            plgpu.copy_gmem_to_smem(a_global.at[pl.ds(row * tile, tile), place], left.at[slot], full.at[slot])
            plgpu.copy_gmem_to_smem(b_global.at[place, pl.ds(column * tile, tile)], right.at[slot], full.at[slot])
            plgpu.barrier_wait(full.at[slot])
            plgpu.tcgen05_mma(total, left.at[slot], right.at[slot], free.at[slot], accumulate=k > 0)

        lax.fori_loop(0, depth // step, body, None)
        for k in range(2):
            plgpu.barrier_wait(free.at[k])
        out_shared[...] = plgpu.async_load_tmem(total).astype(out_shared.dtype)
        plgpu.wait_load_tmem()
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(out_shared, out_global.at[pl.ds(row * tile, tile), pl.ds(column * tile, tile)])
        plgpu.wait_smem_to_gmem(0)

    return plgpu.kernel(
        kernel,
        out_shape=jax.ShapeDtypeStruct((rows, columns), a.dtype),
        grid=(rows // tile, columns // tile),
        grid_names=("rows", "columns"),
        scratch_shapes=[
            plgpu.SMEM((2, tile, step), a.dtype, transforms=layout),
            plgpu.SMEM((2, step, tile), b.dtype, transforms=layout),
            plgpu.SMEM((tile, tile), a.dtype, transforms=layout),
            plgpu.TMEM((tile, tile), F32),
            plgpu.Barrier(num_arrivals=2, num_barriers=2),
            plgpu.Barrier(num_barriers=2, orders_tensor_core=True),
        ],
    )(a, b)


CASES = {
    "scaled": (scaled, [((128, 128), F32)] * 2),
    "scaled-half": (scaled, [((128, 128), F16)] * 2),
    "normalised": (normalised, [((256,), F32)]),
    "product": (product, [((1024, 1024), F16)] * 2),
    "product-narrow": (partial(product, tile=64, stages=2), [((1024, 1024), BF16)] * 2),
    "roles": (product_with_roles, [((1024, 1024), F16)] * 2),
    "roles-deep": (partial(product_with_roles, stages=6), [((1024, 4096), BF16), ((4096, 1024), BF16)]),
    "memory": (product_in_tensor_memory, [((1024, 1024), F16)] * 2),
    "memory-narrow": (partial(product_in_tensor_memory, step=128), [((512, 512), BF16)] * 2),
    "product-deep": (partial(product, stages=6), [((1024, 4096), F16), ((4096, 1024), F16)]),
}
