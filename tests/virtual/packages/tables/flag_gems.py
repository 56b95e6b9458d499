"""Operators of FlagGems, called as its functions for ATen operators: without dispatch of torch, and without autograd.

An operator with a backward kernel returns its gradients, too, for a gradient of the result that is its last input.
"""
# ruff: noqa: FBT003 - the vendor is set before imports; flags of ATen operators are positional

from __future__ import annotations

import math
import os
import sys
from functools import partial

os.environ.setdefault("GEMS_VENDOR", "nvidia")  # the package looks for nvidia-smi otherwise

import torch
from flag_gems import fused, ops
from flag_gems.utils.codegen_config_utils import get_codegen_config
from tests.virtual.packages.operators import Operator, cases
from torch.nn import functional
from triton.runtime import Autotuner

get_codegen_config().prefer_block_pointer = False  # Triton 3.9 has none

ROWS = ((4, 256), (3, 1000), (2, 7))  # matrix sizes; columns: a power of two, more than a CTA's threads, an odd number
VECTORS = ((256,), (1000,), (7,))
PRODUCTS = ((32, 64, 48), (33, 17, 40), (3, 5, 7))
BATCHES = ((2, 32, 32, 32), (1, 33, 17, 20), (2, 3, 5, 7))
IMAGES = ((1, 2, 8, 16), (2, 1, 9, 12), (1, 1, 5, 3))
EPSILON = 1e-5
TF32 = 3e-3  # error tolerance of products with TF32 MMAs


def keep_smallest_configurations():
    """Keep one configuration of each autotuner: the compilation of all of them takes minutes."""
    modules = [module for name, module in sys.modules.items() if name.startswith("flag_gems.")]
    for found in [each for module in modules for each in vars(module).values()]:
        kernel = found
        while hasattr(kernel, "fn"):
            if isinstance(kernel, Autotuner):
                kernel.configs = [
                    min(kernel.configs, key=lambda each: math.prod(int(size) or 1 for size in each.kwargs.values()))
                ]
            kernel = kernel.fn


keep_smallest_configurations()


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


def rms_norm(x, w, dy):
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


def batch_norm(x, dy, w, b, groups):  # noqa: ARG001 - an input
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
    pointwise("logit", lambda x: torch.logit(x / 2), positives, call=lambda x: ops.logit(x / 2)),
    pointwise("ceil", torch.ceil),
    pointwise("floor_", torch.floor),
    pointwise("round", torch.round, lambda names, *size: {"x": 9 * normal(*size)}),
    pointwise("relu", torch.relu),
    pointwise("celu", functional.celu),
    pointwise("hardsigmoid", functional.hardsigmoid),
    pointwise("softplus", functional.softplus),
    pointwise("softshrink", functional.softshrink),
    pointwise("log_sigmoid", functional.logsigmoid),
    pointwise("isnan", torch.isnan, lambda names, *size: specials(*size)),
    pointwise("isfinite", torch.isfinite, lambda names, *size: specials(*size)),
    pointwise("signbit", torch.signbit, lambda names, *size: specials(*size)),
    pointwise("nan_to_num", lambda x: torch.nan_to_num(x, 1.0, 2.0, 3.0), lambda names, *size: specials(*size),
              call=lambda x: ops.nan_to_num(x, 1.0, 2.0, 3.0)),
    pointwise("bitwise_not", torch.bitwise_not, integers),
    pointwise("logical_not", torch.logical_not, booleans),
    pointwise("add", lambda x, y: x + 3 * y, names="x y", call=lambda x, y: ops.add(x, y, alpha=3)),
    pointwise("sub", torch.sub, names="x y"),
    pointwise("mul", torch.mul, names="x y"),
    pointwise("true_divide", torch.true_divide, positives, names="x y"),
    pointwise("floor_divide", torch.floor_divide, partial(integers, low=1), names="x y"),
    pointwise("remainder", torch.remainder, partial(integers, low=1), names="x y"),
    pointwise("pow_tensor_tensor", torch.pow, positives, names="x y"),
    pointwise("maximum", torch.maximum, names="x y"),
    pointwise("minimum", torch.minimum, names="x y"),
    pointwise("atan2", torch.atan2, names="x y"),
    pointwise("hypot", torch.hypot, names="x y"),
    pointwise("logaddexp", torch.logaddexp, names="x y"),
    pointwise("copysign", torch.copysign, names="x y"),
    pointwise("lt", torch.lt, names="x y"),
    pointwise("eq", torch.eq, integers, names="x y"),
    pointwise("isclose", torch.isclose, integers, names="x y"),
    pointwise("bitwise_and_tensor", torch.bitwise_and, integers, names="x y"),
    pointwise("bitwise_left_shift", torch.bitwise_left_shift, partial(integers, low=0), names="x y",
              call=lambda x, y: ops.bitwise_left_shift(x, y, out=torch.empty_like(x))),
    pointwise("logical_xor", torch.logical_xor, booleans, names="x y"),
    pointwise("lerp_tensor", torch.lerp, names="x y w"),
    pointwise("clamp_tensor", torch.clamp, names="x y z"),
    pointwise("addcmul", lambda x, y, z: x + 2 * y * z, names="x y z",
              call=lambda x, y, z: ops.addcmul(x, y, z, value=2)),
    pointwise("addcdiv", lambda x, y, z: x + 2 * y / z, positives, names="x y z",
              call=lambda x, y, z: ops.addcdiv(x, y, z, value=2)),
    pointwise("where_self", torch.where, lambda names, *size: booleans("c", *size) | normals("x y", *size)),
    pointwise("masked_fill", lambda x, m: x.masked_fill(m, 2.0),
              lambda names, *size: normals("x", *size) | booleans("m", *size),
              call=lambda x, m: ops.masked_fill(x, m, 2.0)),
    differentiable("gelu", functional.gelu),
    differentiable("silu", functional.silu),
    differentiable("sigmoid", torch.sigmoid, result=True),
    differentiable("tanh", torch.tanh, result=True),
    Operator("elu", partial(normals, "x dy"), lambda x, dy: (ops.elu(x), ops.elu_backward(dy, 1, 1, 1, False, x)),
             lambda x, dy: pulled(functional.elu, dy, x), ROWS),
    Operator("threshold", partial(normals, "x dy"),
             lambda x, dy: (ops.threshold(x, 0.5, 2.0), ops.threshold_backward(dy, x, 0.5)),
             lambda x, dy: pulled(lambda x: functional.threshold(x, 0.5, 2.0), dy, x), ROWS),
    Operator("glu", lambda m, n: normals("x", m, 2 * n) | normals("dy", m, n),
             lambda x, dy: (ops.glu(x), ops.glu_backward(dy, x)), lambda x, dy: pulled(functional.glu, dy, x), ROWS),
    Operator("broadcast-add", lambda m, n: {"x": normal(m, 1, n), "y": normal(5, 1)}, ops.add, torch.add, ROWS),
    Operator("transposed-mul", lambda m, n: {"x": normal(m, n), "y": normal(n, m)}, lambda x, y: ops.mul(x, y.T),
             lambda x, y: x * y.T, ROWS),
)  # fmt: skip

REDUCTIONS = (
    reduction("sum", ops.sum, torch.sum),
    reduction("sum_dim", lambda x: ops.sum_dim(x, [-1]), lambda x: x.sum(-1)),
    reduction("sum_dim-0", lambda x: ops.sum_dim(x, [0], keepdim=True), lambda x: x.sum(0, keepdim=True)),
    reduction("mean", ops.mean, torch.mean),
    reduction("mean_dim", lambda x: ops.mean_dim(x, [-1]), lambda x: x.mean(-1)),
    reduction("max", ops.max, torch.max),
    reduction("max_dim", lambda x: tuple(ops.max_dim(x, 1)), lambda x: tuple(x.max(1))),
    reduction("min_dim", lambda x: tuple(ops.min_dim(x, 0)), lambda x: tuple(x.min(0))),
    reduction("amax", lambda x: ops.amax(x, [-1]), lambda x: x.amax(-1)),
    reduction("aminmax", lambda x: tuple(ops.aminmax(x, dim=1)), lambda x: tuple(x.aminmax(dim=1))),
    reduction("argmax", lambda x: ops.argmax(x, 1), lambda x: x.argmax(1)),
    reduction("argmax-all", ops.argmax, torch.argmax),
    reduction("argmin", lambda x: ops.argmin(x, 0), lambda x: x.argmin(0)),
    reduction("prod_dim", lambda x: ops.prod_dim(x, 1), lambda x: x.prod(1), positives, ((4, 64), (3, 33), (2, 7))),
    reduction("all_dim", lambda x: ops.all_dim(x, 0), lambda x: x.all(0), booleans),
    reduction("any", ops.any, torch.any, booleans),
    reduction("count_nonzero", lambda x: ops.count_nonzero(x, 1), lambda x: x.count_nonzero(1), integers),
    reduction("var_mean", lambda x: tuple(ops.var_mean(x, [1])), lambda x: tuple(torch.var_mean(x, 1))),
    reduction("std", lambda x: ops.std(x, [1]), lambda x: x.std(1)),
    reduction("vector_norm", lambda x: ops.vector_norm(x, 2, [1]), lambda x: x.norm(2, 1)),
    reduction("vector_norm-1", lambda x: ops.vector_norm(x, 1), lambda x: x.abs().sum()),
    reduction("vector_norm-inf", lambda x: ops.vector_norm(x, torch.inf, [0]), lambda x: x.abs().amax(0)),
    reduction("cumsum", lambda x: ops.cumsum(x, 1), lambda x: x.cumsum(1)),
    reduction("cumsum-0", lambda x: ops.cumsum(x, 0), lambda x: x.cumsum(0)),
    reduction("normed_cumsum", ops.normed_cumsum, lambda x: x.cumsum(-1) / x.sum(-1, keepdim=True), positives),
    reduction("cummax", lambda x: tuple(ops.cummax(x, 1)), lambda x: tuple(x.cummax(1))),
    reduction("cummin", lambda x: tuple(ops.cummin(x, 0)), lambda x: tuple(x.cummin(0))),
    reduction("trace", ops.trace, torch.trace),
    Operator("softmax", partial(normals, "x dy"), softmax("softmax"),
             lambda x, dy: pulled(lambda x: x.softmax(-1), dy, x), ROWS),
    Operator("log_softmax", partial(normals, "x dy"), softmax("log_softmax"),
             lambda x, dy: pulled(lambda x: x.log_softmax(-1), dy, x), ROWS),
    Operator("softmax-0", partial(normals, "x"), lambda x: ops.softmax(x, 0), lambda x: x.softmax(0), ROWS),
    Operator("layer_norm", weighted, layer_norm,
             lambda x, w, b, dy: pulled(lambda x, w, b: functional.layer_norm(x, w.shape, w, b, EPSILON), dy, x, w, b),
             ROWS),
    Operator("rms_norm", lambda *size: {name: each for name, each in weighted(*size).items() if name != "b"},
             rms_norm,
             lambda x, w, dy: pulled(lambda x, w: scaled_rows(x) * w, dy, x, w), ROWS),
    Operator("group_norm", grouped, group_norm,
             lambda x, dy, w, b, groups: pulled(
                 lambda x, w, b: functional.group_norm(x, int(groups), w, b, EPSILON), dy, x, w, b),
             ((2, 8, 4, 64), (1, 6, 2, 300), (1, 3, 3, 7))),
    Operator("batch_norm", grouped, batch_norm,
             lambda x, dy, w, b, groups: pulled(
                 lambda x, w, b: functional.batch_norm(x, None, None, w, b, True, 0.1, EPSILON), dy, x, w, b),
             ((2, 8, 4, 64), (1, 6, 2, 300), (3, 3, 3, 7))),
    Operator("mse_loss", partial(normals, "x y"), ops.mse_loss, functional.mse_loss, ROWS),
    Operator("soft_margin_loss", lambda *size: normals("x", *size) | {"y": normal(*size).sign()},
             ops.soft_margin_loss, functional.soft_margin_loss, ROWS),
    Operator("nll_loss_forward", labelled, lambda x, target: ops.nll_loss_forward(x, target)[0],
             functional.nll_loss, ROWS),
)  # fmt: skip

MATRICES = (
    Operator("mm", factors, lambda a, b, c: ops.mm(a, b), lambda a, b, c: a @ b, PRODUCTS, TF32),
    Operator("mm-transposed", factors, lambda a, b, c: ops.mm(b.T, a.T), lambda a, b, c: (a @ b).T, PRODUCTS, TF32),
    Operator("addmm", factors, lambda a, b, c: ops.addmm(c, a, b, beta=2, alpha=3),
             lambda a, b, c: 2 * c + 3 * a @ b, PRODUCTS, TF32),
    Operator("bmm", batch_factors, lambda a, b, c: ops.bmm(a, b), lambda a, b, c: a @ b, BATCHES, TF32),
    Operator("baddbmm", batch_factors, lambda a, b, c: ops.baddbmm(c, a, b, beta=2, alpha=3),
             lambda a, b, c: 2 * c + 3 * a @ b, BATCHES, TF32),
    Operator("mv", matrix_vector, lambda a, x, y: ops.mv(a, x), lambda a, x, y: a @ x, ROWS),
    Operator("addmv", matrix_vector, lambda a, x, y: ops.addmv(y, a, x, beta=2, alpha=3),
             lambda a, x, y: 2 * y + 3 * a @ x, ROWS),
    Operator("addr", matrix_vector, lambda a, x, y: ops.addr(a, y, x), lambda a, x, y: a + torch.outer(y, x), ROWS),
    Operator("dot", partial(normals, "x y"), ops.dot, torch.dot, VECTORS),
    Operator("kron", lambda m, n: {"x": normal(m, 3), "y": normal(2, n)}, ops.kron, torch.kron,
             ((4, 64), (3, 33), (2, 7))),
    Operator("outer", lambda m, n: {"x": normal(m), "y": normal(n)}, fused.outer, torch.outer, ROWS),
    Operator("attention", attended, lambda q, k, v: ops.scaled_dot_product_attention_forward(q, k, v)[0],
             functional.scaled_dot_product_attention, ((1, 2, 64, 64), (1, 1, 33, 64), (2, 1, 7, 64)), TF32),
)  # fmt: skip

INDEXING = (
    Operator("index_select", selected, lambda x, i: ops.index_select(x, 1, i), lambda x, i: x[:, i], ROWS),
    Operator("index", selected, lambda x, i: ops.index(x, [None, i]), lambda x, i: x[:, i], ROWS),
    Operator("gather", gathered, lambda x, i: ops.gather(x, 1, i), lambda x, i: x.gather(1, i), ROWS),
    Operator("scatter", scattered, lambda x, i, s: ops.scatter(x, 1, i, s), lambda x, i, s: x.scatter(1, i, s), ROWS),
    Operator("scatter-add", scattered, lambda x, i, s: ops.scatter(x, 1, i % 3, s, reduce="add"),
             lambda x, i, s: x.scatter_add(1, i % 3, s), ROWS),
    Operator("index_add", scattered, lambda x, i, s: ops.index_add(x, 1, i[0], s),
             lambda x, i, s: x.index_add(1, i[0], s), ROWS),
    Operator("index_put", scattered, lambda x, i, s: ops.index_put(x, [i[0] % 2], x[0], accumulate=True),
             lambda x, i, s: x.index_put((i[0] % 2,), x[0], accumulate=True), ROWS),
    Operator("embedding", embedded, embedding, lambda w, i, dy: pulled(lambda w: w[i], dy, w), ROWS),
    Operator("nonzero", partial(booleans, "x"), ops.nonzero, torch.nonzero, ROWS),
    Operator("masked_select", lambda *size: normals("x", *size) | booleans("m", *size), ops.masked_select,
             torch.masked_select, ROWS),
    Operator("one_hot", lambda m, n: {"i": indices(n, m)}, lambda i: ops.one_hot(i, 1009),
             lambda i: functional.one_hot(i, 1009), ROWS),
    Operator("sort", permuted, lambda x: tuple(ops.sort(x, 1)), lambda x: tuple(x.sort(1)), ROWS),
    Operator("sort-descending", permuted, lambda x: tuple(ops.sort(x, 0, descending=True)),
             lambda x: tuple(x.sort(0, descending=True)), ROWS),
    Operator("topk", permuted, lambda x: tuple(ops.topk(x, 5)), lambda x: tuple(x.topk(5)), ROWS),
    Operator("unique", partial(integers, "x"), lambda x: ops._unique2(x)[0], torch.unique, ROWS),
    Operator("isin", partial(integers, "x y"), lambda x, y: ops.isin(x, y[0, :4]),
             lambda x, y: torch.isin(x, y[0, :4]), ROWS),
    Operator("bincount", lambda m, n: {"x": indices(9, n)}, fused.bincount, torch.bincount, ROWS),
    Operator("repeat", partial(normals, "x"), lambda x: ops.repeat(x, (2, 3)), lambda x: x.repeat(2, 3), ROWS),
    Operator("repeat_interleave", partial(normals, "x"), lambda x: ops.repeat_interleave_self_int(x, 3, 0),
             lambda x: x.repeat_interleave(3, 0), ROWS),
    Operator("flip", partial(normals, "x"), lambda x: ops.flip(x, [1]), lambda x: x.flip(1), ROWS),
    Operator("roll", partial(normals, "x"), lambda x: ops.roll(x, 3, 1), lambda x: x.roll(3, 1), ROWS),
    Operator("cat", partial(normals, "x y"), lambda x, y: ops.cat([x, y], 1), lambda x, y: torch.cat([x, y], 1), ROWS),
    Operator("stack", partial(normals, "x y"), lambda x, y: ops.stack([x, y], 1),
             lambda x, y: torch.stack([x, y], 1), ROWS),
    Operator("pad", partial(normals, "x"), lambda x: ops.pad(x, [2, 3], "constant", 4.0),
             lambda x: functional.pad(x, [2, 3], "constant", 4.0), ROWS),
    Operator("tril", partial(normals, "x"), ops.tril, torch.tril, ROWS),
    Operator("triu", partial(normals, "x"), lambda x: ops.triu(x, 1), lambda x: x.triu(1), ROWS),
    Operator("diag", partial(normals, "x"), lambda x: ops.diag(x, -1), lambda x: x.diag(-1), ((256,), (100,), (7,))),
    Operator("arange", lambda n: {"x": torch.zeros(n)}, lambda x: ops.arange(len(x), device=x.device),
             lambda x: torch.arange(len(x)), VECTORS),
    Operator("slice_scatter", lambda m, n: {"x": normal(m, n), "s": normal(m, n // 2)},
             lambda x, s: ops.slice_scatter(x, s, dim=1, start=0, end=2 * s.shape[1], step=2),
             lambda x, s: x.slice_scatter(s, 1, 0, 2 * s.shape[1], 2), ROWS),
)  # fmt: skip

PICTURES = (
    Operator("upsample_nearest2d", partial(normals, "x"), lambda x: ops.upsample_nearest2d(x, (11, 20)),
             lambda x: functional.interpolate(x, (11, 20)), IMAGES),
    Operator("upsample_bicubic2d", partial(normals, "x"), lambda x: ops.upsample_bicubic2d(x, (11, 20), False),
             lambda x: functional.interpolate(x, (11, 20), mode="bicubic"), IMAGES),
    Operator("upsample_linear1d", partial(normals, "x"), lambda x: ops.upsample_linear1d(x, (20,), False),
             lambda x: functional.interpolate(x, (20,), mode="linear"), ((2, 3, 16), (1, 2, 33), (1, 1, 5))),
    Operator("avg_pool2d", partial(normals, "x"), lambda x: ops.avg_pool2d(x, 3, 2, 1),
             lambda x: functional.avg_pool2d(x, 3, 2, 1), IMAGES),
    Operator("max_pool2d", partial(normals, "x"), lambda x: tuple(ops.max_pool2d_with_indices(x, 3, 2, 1)),
             lambda x: functional.max_pool2d(x, 3, 2, 1, return_indices=True), IMAGES),
    Operator("conv2d", filtered, lambda x, w, b: ops.conv2d(x, w, b, padding=1),
             lambda x, w, b: functional.conv2d(x, w, b, padding=1), IMAGES, TF32),
    Operator("conv1d", lambda n, c, k: {"x": normal(n, c, k), "w": normal(4, c, 3), "b": normal(4)},
             lambda x, w, b: ops.conv1d(x, w, b, padding=1), lambda x, w, b: functional.conv1d(x, w, b, padding=1),
             ((2, 3, 16), (1, 2, 33), (1, 1, 5)), TF32),
    Operator("reflection_pad2d", partial(normals, "x"), lambda x: ops.reflection_pad2d(x, (1, 2, 2, 1)),
             lambda x: functional.pad(x, (1, 2, 2, 1), "reflect"), IMAGES),
    Operator("pixel_unshuffle", partial(normals, "x"), lambda x: ops.pixel_unshuffle(x, 2),
             lambda x: functional.pixel_unshuffle(x, 2), ((1, 2, 8, 16), (2, 1, 10, 12), (1, 1, 2, 6))),
)  # fmt: skip

FUSED = (
    Operator("silu_and_mul", partial(normals, "x y"), fused.silu_and_mul, lambda x, y: functional.silu(x) * y, ROWS,
             gradients="x y"),
    Operator("gelu_and_mul", partial(normals, "x y"), fused.gelu_and_mul, lambda x, y: functional.gelu(x) * y, ROWS,
             gradients="x y"),
    Operator("skip_layer_norm", weighted,
             lambda x, w, b, r: fused.skip_layer_norm(x, r, w.shape, w, b, EPSILON),
             lambda x, w, b, r: functional.layer_norm(x + r, w.shape, w, b, EPSILON), ROWS),
    Operator("fused_add_rms_norm", weighted,
             lambda x, w, b, r: tuple(fused.fused_add_rms_norm(x, r, w.shape, w, EPSILON)),
             lambda x, w, b, r: (scaled_rows(x + r) * w, x + r), ROWS),
    Operator("cross_entropy_loss", lambda m, n: {"x": normal(m, n), "target": indices(n, m)},
             fused.cross_entropy_loss, functional.cross_entropy, ROWS, gradients="x"),
)  # fmt: skip


@cases(POINTWISE)
def test_pointwise(operator, size):
    operator.check(size)


@cases(REDUCTIONS)
def test_reduction(operator, size):
    operator.check(size)


@cases(MATRICES)
def test_matrices(operator, size):
    operator.check(size)


@cases(INDEXING)
def test_indexing(operator, size):
    operator.check(size)


@cases(PICTURES)
def test_picture(operator, size):
    operator.check(size)


@cases(FUSED)
def test_fused(operator, size):
    operator.check(size)
