"""Operators of FlagGems, called as its functions for ATen operators: without dispatch of torch, and without autograd.

An operator with a backward kernel returns its gradients, too, for a gradient of the result that is its last input.
"""

from __future__ import annotations

import os
from functools import partial

os.environ.setdefault("GEMS_VENDOR", "nvidia")  # the package looks for nvidia-smi otherwise

import torch
from flag_gems import fused, ops
from tests.virtual.packages.operators import Operator, cases
from torch.nn import functional

ROWS = ((4, 256), (3, 1000), (2, 7))  # matrix sizes; columns: a power of two, more than a CTA's threads, an odd number
VECTORS = ((256,), (1000,), (7,))
PRODUCTS = ((32, 64, 48), (33, 17, 40), (3, 5, 7))
BATCHES = ((2, 32, 32, 32), (1, 33, 17, 20), (2, 3, 5, 7))
IMAGES = ((1, 2, 8, 16), (2, 1, 9, 12), (1, 1, 5, 3))
EPSILON = 1e-5
TF32 = 3e-3  # error tolerance of products with TF32 MMAs


def normal(*shape):
    return torch.randn(shape)


def normals(names, *shape):
    return {name: normal(*shape) for name in names.split()}


def positives(names, *shape):
    return {name: torch.rand(shape) + 0.1 for name in names.split()}


def fractions(names, *shape):
    return {name: 0.9 * (2 * torch.rand(shape) - 1) for name in names.split()}


def integers(names, *shape, low=-9, high=9):
    return {name: torch.randint(low, high, shape, dtype=torch.int32) for name in names.split()}


def booleans(names, *shape):
    return {name: torch.rand(shape) < 0.5 for name in names.split()}


def indices(count, *shape):
    return torch.randint(0, count, shape)


def permuted(*shape):
    """Return distinct integers as floats."""
    return {"x": torch.randperm(torch.Size(shape).numel()).float().reshape(shape) - 9}


def specials(*shape):
    x = normal(*shape)
    x.view(-1)[:6] = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1.0])
    return {"x": x}


def pulled(function, dy, *inputs):
    """Return the result of a function, and the gradients of its inputs for the gradient dy of the result."""
    inputs = [each.detach().requires_grad_(each.is_floating_point()) for each in inputs]
    result = function(*inputs)
    return result, *torch.autograd.grad(result, [each for each in inputs if each.requires_grad], dy)


def pointwise(name, reference, make=normals, tolerance=1e-5, call=None, names="x"):
    return Operator(name, partial(make, names), call or getattr(ops, name), reference, ROWS, tolerance)


def differentiable(name, reference, tolerance=1e-5, *, result=False):
    """Return a row for an activation and its backward kernel, which gets the input or the result."""
    forward, backward = getattr(ops, name), getattr(ops, f"{name}_backward")

    def call(x, dy):
        y = forward(x)
        return y, backward(dy, y if result else x)

    return Operator(name, partial(normals, "x dy"), call, lambda x, dy: pulled(reference, dy, x), ROWS, tolerance)


def reduction(name, call, reference, make=normals, sizes=ROWS, tolerance=1e-5):
    return Operator(name, partial(make, "x"), call, reference, sizes, tolerance)


def weighted(rows, columns):
    return {"x": normal(rows, columns), "w": normal(columns), "b": normal(columns), "dy": normal(rows, columns)}


def layer_norm(x, w, b, dy):
    y, mean, scale = ops.layer_norm(x, w.shape, w, b, EPSILON)
    return y, *ops.layer_norm_backward(dy, x, w.shape, mean, scale, w, b, [True, True, True])


def rms_norm(x, w, b, dy):
    y, scale = ops.rms_norm_forward(x, w.shape, w, EPSILON)
    return y, *ops.rms_norm_backward(dy, x, scale, w.shape, w, EPSILON)


def scaled_rows(x):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON)


def grouped(batch, channels, groups, length):
    return normals("x dy", batch, channels, length) | normals("w b", channels) | {"groups": torch.tensor(groups)}


def group_norm(x, dy, w, b, groups):
    n, c, length = x.shape
    y, mean, scale = ops.group_norm(x, w, b, n, c, length, int(groups), EPSILON)
    return y, *ops.group_norm_backward(dy, x, mean, scale, w, n, c, length, int(groups), [True, True, True])


def batch_norm(x, dy, w, b, groups):
    zero, one = torch.zeros_like(w), torch.ones_like(w)
    y, mean, scale = ops.batch_norm(x, w, b, zero, one, True, 0.1, EPSILON)
    return y, *ops.batch_norm_backward(dy, x, w, zero, one, mean, scale, True, EPSILON, [True, True, True])


def softmax(name):
    forward, backward = getattr(ops, name), getattr(ops, f"{name}_backward")

    def call(x, dy):
        y = forward(x, -1)
        return y, backward(dy, y, -1, x.dtype)

    return call


def factors(m, k, n):
    return {"a": normal(m, k), "b": normal(k, n), "c": normal(m, n)}


def batch_factors(count, m, k, n):
    return {"a": normal(count, m, k), "b": normal(count, k, n), "c": normal(count, m, n)}


def matrix_vector(m, k):
    return {"a": normal(m, k), "x": normal(k), "y": normal(m)}


def selected(rows, columns):
    return {"x": normal(rows, columns), "i": indices(columns, columns // 2 + 1)}


def gathered(rows, columns):
    return {"x": normal(rows, columns), "i": indices(columns, rows, columns // 2 + 1)}


def scattered(rows, columns):
    i = torch.stack([torch.randperm(columns)[: columns // 2] for _ in range(rows)])
    return {"x": normal(rows, columns), "i": i, "s": normal(rows, columns // 2)}


def embedded(rows, columns):
    return {"w": normal(rows + 3, columns), "i": indices(rows + 3, 2 * rows), "dy": normal(2 * rows, columns)}


def embedding(w, i, dy):
    return ops.embedding(w, i), ops.embedding_backward(dy, i, w.shape[0])


def labelled(rows, columns):
    return {"x": functional.log_softmax(normal(rows, columns), -1), "target": indices(columns, rows)}


def attended(batch, heads, steps, width):
    return normals("q k v", batch, heads, steps, width)


def filtered(batch, channels, height, width):
    return {"x": normal(batch, channels, height, width), "w": normal(4, channels, 3, 3), "b": normal(4)}


POINTWISE = (
    pointwise("abs", torch.abs),
    pointwise("neg", torch.neg),
    pointwise("exp", torch.exp),
    pointwise("exp2", torch.exp2),
    pointwise("expm1", torch.expm1),
    pointwise("log", torch.log, positives),
    pointwise("log10", torch.log10, positives),
    pointwise("sqrt", torch.sqrt, positives),
    pointwise("rsqrt", torch.rsqrt, positives),
    pointwise("reciprocal", torch.reciprocal, positives),
    pointwise("square", torch.square),
    pointwise("sin", torch.sin),
    pointwise("cos", torch.cos),
    pointwise("tan", torch.tan, fractions),
    pointwise("acos", torch.acos, fractions),
    pointwise("atan", torch.atan),
    pointwise("cosh", torch.cosh),
    pointwise("erf", torch.erf),
    pointwise("i0", torch.special.i0, tolerance=1e-4),
    pointwise("special_i1", torch.special.i1, tolerance=1e-4),
    pointwise("digamma_", torch.digamma, positives, 1e-4),
    pointwise("logit", torch.logit, positives, call=lambda x: ops.logit(x / 2),
              reference=None) if False else pointwise("logit", lambda x: torch.logit(x / 2), positives,
                                                      call=lambda x: ops.logit(x / 2)),
)  # fmt: skip


@cases(POINTWISE)
def test_operator(operator, size):
    operator.check(size)
