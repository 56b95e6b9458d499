"""Operators of Liger-Kernel, forward and backward, each with its reference in torch."""

from __future__ import annotations

from functools import partial

import torch
from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction
from liger_kernel.ops.dyt import LigerDyTFunction
from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction
from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction
from liger_kernel.ops.geglu import LigerGELUMulFunction
from liger_kernel.ops.group_norm import LigerGroupNormFunction
from liger_kernel.ops.jsd import LigerJSDFunction
from liger_kernel.ops.kl_div import LigerKLDivLossFunction
from liger_kernel.ops.layer_norm import LigerLayerNormFunction
from liger_kernel.ops.poly_norm import LigerPolyNormFunction
from liger_kernel.ops.relu_squared import LigerReLUSquaredFunction
from liger_kernel.ops.rms_norm import LigerRMSNormFunction
from liger_kernel.ops.rope import LigerRopeFunction
from liger_kernel.ops.softmax import LigerSoftmaxFunction
from liger_kernel.ops.sparsemax import LigerSparsemaxFunction
from liger_kernel.ops.swiglu import LigerSiLUMulFunction
from liger_kernel.ops.tvd import LigerTVDLossFunction
from tests.virtual.packages.operators import Operator, cases
from torch.nn import functional

ROWS = ((4, 256), (3, 1000), (2, 7))  # matrix sizes; columns: a power of two, more than a CTA's threads, an odd number
EPSILON = 1e-6


def normal(*shape):
    return torch.randn(shape)


def matrices(names, rows, columns):
    return {name: normal(rows, columns) for name in names.split()}


def weighted(names, rows, columns):
    return {"x": normal(rows, columns)} | {name: normal(columns) for name in names.split()}


def scaled_rows(x):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON)


def probabilities(rows, columns, *, logarithms=(False, False)):
    both = (functional.log_softmax(normal(rows, columns), -1) for _ in range(2))
    return {name: each if log else each.exp() for name, each, log in zip("pq", both, logarithms, strict=True)}


def labelled(rows, columns):
    return {"x": normal(rows, columns), "target": torch.randint(0, columns, (rows,))}


def turned(batch, heads, steps, width):
    angles = torch.outer(torch.arange(steps, dtype=torch.float32), 10 ** -torch.linspace(0, 2, width // 2))
    both = torch.cat([angles, angles], -1)[None]
    return {
        "q": normal(batch, heads, steps, width), "k": normal(batch, 1, steps, width), "c": both.cos(), "s": both.sin(),
    }  # fmt: skip


def rotated(q, k, c, s):
    half = q.shape[-1] // 2
    return tuple(x * c + torch.cat([-x[..., half:], x[..., :half]], -1) * s for x in (q, k))


def sparsemax(x):
    ordered = x.sort(-1, descending=True).values
    sums, places = ordered.cumsum(-1) - 1, torch.arange(1, x.shape[-1] + 1)
    count = (ordered * places > sums).sum(-1, keepdim=True)
    return (x - sums.gather(-1, count - 1) / count).clamp_min(0)


def jsd(p, q):
    """Return the Jensen-Shannon divergence of two distributions given as logarithms."""
    middle = (p.exp() + q.exp()) / 2
    return ((p.exp() * (p - middle.log()) + q.exp() * (q - middle.log())) / 2).sum() / p.shape[0]


def grouped(batch, channels, groups, length):
    return {"x": normal(batch, channels, length), "w": normal(channels), "b": normal(channels),
            "groups": torch.tensor(groups)}  # fmt: skip


def projected(rows, width, classes):
    return {"x": normal(rows, width), "w": normal(classes, width) / width**0.5,
            "target": torch.randint(0, classes, (rows,))}  # fmt: skip


OPERATORS = (
    Operator("rms-norm", partial(weighted, "w"), lambda x, w: LigerRMSNormFunction.apply(x, w, EPSILON),
             lambda x, w: scaled_rows(x) * w, ROWS, gradients="x w"),
    Operator("fused-add-rms-norm", lambda *size: weighted("w", *size) | {"r": normal(*size)},
             lambda x, w, r: LigerFusedAddRMSNormFunction.apply(x, r, w, EPSILON),
             lambda x, w, r: (scaled_rows(x + r) * w, x + r), ROWS, gradients="x w r"),
    Operator("layer-norm", partial(weighted, "w b"), lambda x, w, b: LigerLayerNormFunction.apply(x, w, b, EPSILON),
             lambda x, w, b: functional.layer_norm(x, x.shape[-1:], w, b, EPSILON), ROWS, gradients="x w b"),
    Operator("group-norm", grouped,
             lambda x, w, b, groups: LigerGroupNormFunction.apply(x, w, b, x.shape[1], int(groups), EPSILON),
             lambda x, w, b, groups: functional.group_norm(x, int(groups), w, b, EPSILON),
             ((2, 8, 4, 64), (1, 6, 2, 300), (1, 3, 3, 7)), gradients="x w b"),
    Operator("poly-norm", lambda *size: {"x": normal(*size), "w": normal(3), "b": normal()},
             lambda x, w, b: LigerPolyNormFunction.apply(x, w, b, EPSILON),
             lambda x, w, b: w[0] * scaled_rows(x**3) + w[1] * scaled_rows(x**2) + w[2] * scaled_rows(x) + b, ROWS,
             gradients="x w b"),
    Operator("softmax", partial(matrices, "x"), LigerSoftmaxFunction.apply, lambda x: x.softmax(-1), ROWS,
             gradients="x"),
    Operator("sparsemax", partial(matrices, "x"), lambda x: LigerSparsemaxFunction.apply(x, -1), sparsemax, ROWS,
             gradients="x"),
    Operator("dyt", lambda *size: weighted("gamma beta", *size) | {"alpha": torch.tensor([0.5])},
             lambda x, gamma, beta, alpha: LigerDyTFunction.apply(x, alpha, gamma, beta),
             lambda x, gamma, beta, alpha: gamma * torch.tanh(alpha * x) + beta, ROWS, 1e-4,
             gradients="x gamma beta alpha"),
    Operator("geglu", partial(matrices, "a b"), LigerGELUMulFunction.apply,
             lambda a, b: functional.gelu(a, approximate="tanh") * b, ROWS, 1e-4, gradients="a b"),
    Operator("swiglu", partial(matrices, "a b"), LigerSiLUMulFunction.apply, lambda a, b: functional.silu(a) * b, ROWS,
             gradients="a b"),
    Operator("relu-squared", partial(matrices, "x"), LigerReLUSquaredFunction.apply, lambda x: x.relu() ** 2, ROWS,
             gradients="x"),
    Operator("rope", turned, LigerRopeFunction.apply, rotated, ((2, 4, 8, 64), (1, 2, 5, 48), (1, 3, 3, 6)),
             gradients="q k"),
    Operator("cross-entropy", labelled,
             lambda x, target: LigerCrossEntropyFunction.apply(x, target, None)[0],
             functional.cross_entropy, ROWS, gradients="x"),
    Operator("fused-linear-cross-entropy", projected,
             lambda x, w, target: LigerFusedLinearCrossEntropyFunction.apply(x, w, target)[0],
             lambda x, w, target: functional.cross_entropy(x @ w.T, target), ((8, 32, 256), (5, 16, 100), (3, 8, 7)),
             gradients="x w"),
    Operator("kl-div", partial(probabilities, logarithms=(True, False)), LigerKLDivLossFunction.apply,
             lambda p, q: functional.kl_div(p, q, reduction="batchmean"), ROWS, gradients="p"),
    Operator("jsd", partial(probabilities, logarithms=(True, True)), LigerJSDFunction.apply, jsd, ROWS, 1e-4,
             gradients="p"),
    Operator("tvd", probabilities, LigerTVDLossFunction.apply,
             lambda p, q: (p - q).abs().sum() / 2 / p.shape[0], ROWS, gradients="p"),
)  # fmt: skip


@cases(OPERATORS)
def test_operator(operator, size):
    operator.check(size)
