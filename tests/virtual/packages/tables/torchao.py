"""Operators of torchao: quantization to FP8, and products of quantized matrices.

A quantization is compared after multiplication of its result with its scales.
"""
# ruff: noqa: E402 - an autotuner is replaced before imports

from __future__ import annotations

import math
from functools import partial

import torch
import triton

_autotune = triton.autotune


def _with_smallest(configs, key, **options):  # noqa: ARG001 - the autotuner's signature
    """Return Triton's autotuner with one configuration: the compilation of all of them takes minutes.

    The keys are omitted, since Triton 3.9 rejects one of them: no argument of its kernel has this name.
    """
    least = min(configs, key=lambda each: math.prod(int(size) or 1 for size in each.kwargs.values()))
    return _autotune([least], [], **options)


triton.autotune = _with_smallest

from tests.virtual.packages.operators import Operator, cases
from torchao.kernel import blockwise_quantization as blockwise
from torchao.prototype.blockwise_fp8_training import kernels as training
from torchao.prototype.float8nocompile.kernels import fp8_dynamic_tensorwise as tensorwise
from torchao.prototype.moe_training.kernels import jagged_float8_scales as jagged
from torchao.prototype.quantized_training.int8_mm import scaled_int8_mm

blockwise._get_triton_impls()  # defines kernels
triton.autotune = _autotune

E4M3 = 0.04  # half of the distance of the largest numbers of E4M3, relative to them, and the error of scales
BF16 = 8e-3
GROUPS = ((4, 256), (3, 384), (1, 128))
TILES = ((128, 256), (256, 128), (128, 128))
ROWS = ((4, 256), (3, 1000), (2, 7))


def matrix(*shape, dtype=torch.float32):
    return {"x": torch.randn(shape, dtype=dtype)}


def multiplied(y, scales, rows=1, columns=1):
    """Return quantized numbers times the scales of blocks of this size, as floats."""
    whole = scales.contiguous().repeat_interleave(rows, 0).repeat_interleave(columns, 1)
    return y.float() * whole[: y.shape[0], : y.shape[1]].float()


def quantization(name, function, sizes, *, rows=1, columns=1, inverse=False, dtype=torch.float32):
    """Return a row for a function that returns numbers and scales, or the inverse scales."""

    def call(x):
        y, scales = function(x)
        return multiplied(y, 1 / scales if inverse else scales, rows, columns)

    return Operator(name, partial(matrix, dtype=dtype), call, lambda x: x, sizes, E4M3)


def fp8(x):
    return (448 * x / x.abs().max()).to(torch.float8_e4m3fn)


def quantized(rows, columns):
    tiles = (math.ceil(rows / 128), math.ceil(columns / 128))
    return {"x": fp8(torch.randn(rows, columns)), "scales": torch.rand(tiles) + 0.5}


def expanded(x, scales):
    return x * scales.repeat_interleave(128, 0).repeat_interleave(128, 1)[: x.shape[0], : x.shape[1]]


def fp8_factors(m, n, k):
    return {"a": fp8(torch.randn(m, k)), "a_scales": torch.rand(m, k // 128) + 0.5,
            "b": fp8(torch.randn(n, k)), "b_scales": torch.rand(math.ceil(n / 128), k // 128) + 0.5}  # fmt: skip


def product(a, a_scales, b, b_scales):
    return (a * a_scales.repeat_interleave(128, 1)) @ expanded(b, b_scales).T


def training_product(a, a_scales, b, b_scales):
    """Call a product whose scales are column-major."""
    return training.triton_fp8_gemm_1x128_128x128(
        a, b.T, a_scales.T.contiguous().T, b_scales.contiguous().T if min(b_scales.shape) > 1 else b_scales.T
    )


def int8_factors(m, n, k):
    return {"a": torch.randint(-128, 128, (m, k), dtype=torch.int8),
            "b": torch.randint(-128, 128, (k, n), dtype=torch.int8),
            "row": torch.rand(m), "column": torch.rand(n)}  # fmt: skip


def tensorwise_row(name, function, algorithm):
    def call(x):
        y = function(x, torch.float8_e4m3fn, None, algo=algorithm)
        return y._data.float() / y._scale

    return Operator(name, matrix, call, lambda x: x, ((4, 256), (3, 1000), (2, 16)), E4M3)


def parts(rows, width, groups):
    """Return a matrix whose columns consist of groups, and the ends of the groups."""
    return {"x": torch.randn(rows, width * groups), "ends": torch.arange(1, groups + 1, dtype=torch.int32) * width}


def jagged_rows(x, ends):
    y, scales = jagged.triton_fp8_per_group_rowwise_scales(x, ends)
    width = x.shape[1] // len(ends)
    return y.float() / scales.reshape(len(ends), -1).T.repeat_interleave(width, 1)


def jagged_columns(x, ends):
    y, scales = jagged.triton_fp8_per_group_colwise_scales(x.T.contiguous(), ends)
    height = x.shape[1] // len(ends)
    return (y.float() / scales.reshape(len(ends), -1).repeat_interleave(height, 0)).T


OPERATORS = (
    quantization("activation-quantization", blockwise.fp8_blockwise_act_quant, GROUPS, columns=128),
    quantization("weight-quantization", blockwise.fp8_blockwise_weight_quant, TILES, rows=128, columns=128),
    Operator("weight-dequantization", quantized, blockwise.fp8_blockwise_weight_dequant, expanded,
             ((128, 256), (100, 200), (3, 7))),
    Operator("blockwise-product", fp8_factors,
             blockwise.blockwise_fp8_gemm, product,
             ((16, 128, 256), (33, 40, 128), (3, 7, 128)), BF16),
    quantization("training-lhs", training.triton_fp8_blockwise_act_quant_lhs, GROUPS, columns=128),
    quantization("training-rhs", training.triton_fp8_blockwise_act_quant_rhs, TILES, rows=128),
    quantization("training-weight", training.triton_fp8_blockwise_weight_quant_rhs, TILES, rows=128, columns=128),
    Operator("training-product", fp8_factors, training_product, product,
             ((16, 128, 256), (33, 128, 128), (3, 128, 128)), BF16),
    Operator("int8-product", int8_factors, scaled_int8_mm,
             lambda a, b, row, column: a.double() @ b.double() * row[:, None] * column,
             ((32, 64, 64), (33, 40, 96), (3, 5, 32))),
    tensorwise_row("tensorwise-atomic", tensorwise.hp_to_fp8_row_major, tensorwise.KernelAlgorithm.ATOMIC_MAX),
    tensorwise_row("tensorwise-reduction", tensorwise.hp_to_fp8_row_major, tensorwise.KernelAlgorithm.REDUCTION),
    tensorwise_row("tensorwise-columns", tensorwise.hp_to_fp8_col_major, tensorwise.KernelAlgorithm.ATOMIC_MAX),
    Operator("jagged-rows", parts, jagged_rows, lambda x, ends: x, ((32, 64, 2), (40, 32, 3), (3, 16, 2)), E4M3),
    Operator("jagged-columns", parts, jagged_columns, lambda x, ends: x, ((32, 64, 2), (40, 32, 3), (3, 16, 2)), E4M3),
)  # fmt: skip


@cases(OPERATORS)
def test_operator(operator, size):
    operator.check(size)
