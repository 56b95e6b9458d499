"""Operators of GemLite: products with quantized weights."""

from __future__ import annotations

import torch
from gemlite import set_autotune
from gemlite.helper import A16W4_HQQ_INT, A16W8_INT8, A8W8_INT8_dynamic
from tests.virtual.packages.operators import Operator, cases

set_autotune(False)

# Sizes: rows, input features, output features; GemLite has other kernels for one row, and for up to 64 rows.
SIZES = ((1, 128, 64), (3, 64, 96), (65, 64, 64))
HALF = 5e-3  # error tolerance of FP16 results
GROUP = 32  # weights that share a scale


def weighted(rows, width, count):
    return {"x": torch.randn(rows, width).half(), "w": torch.randint(-127, 128, (count, width), dtype=torch.int8),
            "scales": (torch.rand(count, 1) + 0.5).half() / 100}  # fmt: skip


def grouped(rows, width, count):
    groups = (count * width // GROUP, 1)
    return {"x": torch.randn(rows, width).half(), "w": torch.randint(0, 16, (count, width), dtype=torch.uint8),
            "scales": (torch.rand(groups) + 0.5).half() / 10,
            "zeros": torch.randint(4, 12, groups).half()}  # fmt: skip


def dequantized(x, w, scales, zeros):
    return x @ ((w.reshape(-1, GROUP) - zeros) * scales).reshape(w.shape).T


OPERATORS = (
    Operator("int8-weights", weighted, lambda x, w, scales: A16W8_INT8("cuda").from_weights(w, scales=scales)(x),
             lambda x, w, scales: x @ (w * scales).T, SIZES, HALF),
    Operator("int8-both", weighted, lambda x, w, scales: A8W8_INT8_dynamic("cuda").from_weights(w, scales=scales)(x),
             lambda x, w, scales: x @ (w * scales).T, SIZES, 2e-2),
    Operator("int4-weights", grouped,
             lambda x, w, scales, zeros: A16W4_HQQ_INT("cuda").from_weights(w, scales, zeros)(x), dequantized,
             SIZES, HALF),
)  # fmt: skip


@cases(OPERATORS)
def test_operator(operator, size):
    operator.check(size)
