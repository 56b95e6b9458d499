# SPDX-License-Identifier: Apache-2.0
"""Whole-array functions of JAX, which XLA splits into kernels: fusions, reductions, scans, sorting, gathering."""

import jax
import jax.numpy as jnp
from jax import lax

F32, F16, BF16, I32 = jnp.float32, jnp.float16, jnp.bfloat16, jnp.int32


def layer_norm(x, weight, bias):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * weight + bias


def mathematics(x):
    return jnp.tanh(x) + lax.erf(x) * lax.lgamma(x) + jnp.power(x, 2.3) + jnp.sin(x)


def narrowed(x):
    return x.astype(jnp.float8_e4m3fn), x.astype(jnp.int8), x.astype(BF16), jnp.round(x).astype(jnp.uint4)


def attention(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(F32)
    weights = jax.nn.softmax(jnp.where(jnp.tri(q.shape[1], dtype=bool), scores, -1e9), -1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights.astype(q.dtype), v)


def pooled(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def iterated(x):
    return lax.fori_loop(0, 10, lambda i, value: jnp.sin(value) * i + value, x)


def normal(key):
    return jax.random.normal(jax.random.wrap_key_data(key), (4096,))


CASES = {
    "softmax": (lambda x: jax.nn.softmax(x, -1), [((1024, 2048), F32)]),
    "layer-norm": (layer_norm, [((1024, 1024), F16), ((1024,), F16), ((1024,), F16)]),
    "dense": (lambda x, w, b: jax.nn.gelu(x @ w + b), [((512, 512), BF16), ((512, 512), BF16), ((512,), BF16)]),
    "attention": (attention, [((2, 256, 4, 64), BF16)] * 3),
    "mathematics": (mathematics, [((4096,), F32)]),
    "narrowed": (narrowed, [((4096,), F32)]),
    "turned": (lambda x: (x.T + 1).sum(0), [((1024, 512), F32)]),
    "sums": (lambda x: (jnp.cumsum(x, -1), jnp.argmax(x, -1)), [((128, 512), F32)]),
    "sorted": (lambda x: jnp.sort(x, -1), [((256, 1024), I32)]),
    "gathered": (lambda x, i: jnp.take(x, i, 0) * 2j, [((512, 64), jnp.complex64), ((128,), I32)]),
    "scattered": (lambda x, i, y: x.at[i].add(y), [((4096,), F32), ((512,), I32), ((512,), F32)]),
    "pooled": (pooled, [((4, 32, 32, 16), F32)]),
    "iterated": (iterated, [((1024,), F32)]),
    "random": (normal, [((2,), jnp.uint32)]),
}
