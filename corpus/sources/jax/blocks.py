# SPDX-License-Identifier: Apache-2.0
"""Kernels in Pallas, compiled by Triton: elements, GEMM, rows, a scan in a loop, attention."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt

F32, F16, BF16 = jnp.float32, jnp.float16, jnp.bfloat16


def gated_kernel(x, y, out):
    out[...] = x[...] * jax.nn.sigmoid(x[...]) * y[...]


def gated(x, y):
    block = pl.BlockSpec((512,), lambda i: (i,))
    options = plt.CompilerParams(num_warps=4)
    return pl.pallas_call(
        gated_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0] // 512,),
        in_specs=[block, block],
        out_specs=block,
        compiler_params=options,
    )(x, y)


def product_kernel(x, y, out, *, step):
    def body(k, total):
        return total + pl.dot(x[:, pl.ds(k * step, step)], y[pl.ds(k * step, step), :])

    start = jnp.zeros(out.shape, F32)
    out[...] = lax.fori_loop(0, x.shape[1] // step, body, start).astype(out.dtype)


def product(x, y, *, tile=64, step=32):
    (rows, depth), columns = x.shape, y.shape[1]
    return pl.pallas_call(
        partial(product_kernel, step=step),
        out_shape=jax.ShapeDtypeStruct((rows, columns), x.dtype),
        grid=(rows // tile, columns // tile),
        in_specs=[pl.BlockSpec((tile, depth), lambda i, j: (i, 0)), pl.BlockSpec((depth, tile), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((tile, tile), lambda i, j: (i, j)),
        compiler_params=plt.CompilerParams(num_warps=4, num_stages=3),
    )(x, y)


def softmax_kernel(x, out):
    values = x[...].astype(F32)
    powers = jnp.exp(values - values.max())
    out[...] = (powers / powers.sum()).astype(out.dtype)


def softmax(x):
    block = pl.BlockSpec((None, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        softmax_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0],),
        in_specs=[block],
        out_specs=block,
        compiler_params=plt.CompilerParams(num_warps=4),
    )(x)


def recurrence_kernel(decay, x, out):
    def body(t, state):
        state = state * decay[...] + x[t, :]
        out[t, :] = state
        return state

    lax.fori_loop(0, x.shape[0], body, jnp.zeros(x.shape[1:], F32))


def recurrence(decay, x):
    columns = pl.BlockSpec((x.shape[0], 128), lambda i: (0, i))
    return pl.pallas_call(
        recurrence_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[1] // 128,),
        in_specs=[pl.BlockSpec((128,), lambda i: (i,)), columns],
        out_specs=columns,
        compiler_params=plt.CompilerParams(num_warps=2),
    )(decay, x)


def attention_kernel(q, k, v, out, *, step):
    mine = q[...]

    def body(at, state):
        total, largest, length = state
        place = pl.ds(at * step, step)
        scores = pl.dot(mine, k[place, :], trans_b=True)
        peak = jnp.maximum(largest, scores.max(1))
        weights, fade = jnp.exp2(scores - peak[:, None]), jnp.exp2(largest - peak)
        total = total * fade[:, None] + pl.dot(weights.astype(v.dtype), v[place, :])
        return total, peak, length * fade + weights.sum(1)

    rows, width = mine.shape
    start = jnp.zeros((rows, width), F32), jnp.full((rows,), -jnp.inf, F32), jnp.zeros((rows,), F32)
    total, _, length = lax.fori_loop(0, k.shape[0] // step, body, start)
    out[...] = (total / length[:, None]).astype(out.dtype)


def attention(q, k, v, *, tile=64, step=64):
    mine, all_of = pl.BlockSpec((tile, q.shape[1]), lambda i: (i, 0)), pl.BlockSpec(k.shape, lambda i: (0, 0))
    return pl.pallas_call(
        partial(attention_kernel, step=step),
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        grid=(q.shape[0] // tile,),
        in_specs=[mine, all_of, all_of],
        out_specs=mine,
        compiler_params=plt.CompilerParams(num_warps=4, num_stages=2),
    )(q, k, v)


CASES = {
    "gated": (gated, [((4096,), F32)] * 2),
    "product": (product, [((512, 512), F16)] * 2),
    "product-wide": (partial(product, tile=128, step=64), [((512, 512), BF16)] * 2),
    "softmax": (softmax, [((128, 1024), F16)]),
    "recurrence": (recurrence, [((512,), F32), ((64, 512), F32)]),
    "attention": (attention, [((512, 64), F16)] * 3),
}
