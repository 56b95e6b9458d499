"""Operators of SageAttention 1: attention with products of queries and keys in INT8."""

from __future__ import annotations

from functools import partial

import torch
from sageattention import sageattn, sageattn_varlen
from sageattention.quant_per_block import per_block_int8
from sageattention.quant_per_block_hd96 import per_block_int8_hd96
from tests.virtual.packages.operators import Operator, cases
from torch.nn import functional

# Sizes: batch, heads, steps, width. Blocks have 128 queries and 64 keys; the last size is odd and below a block.
SIZES = ((1, 2, 64, 64), (1, 1, 130, 128), (2, 1, 33, 64))
WIDE = ((1, 2, 64, 96), (1, 1, 130, 96), (2, 1, 33, 96))
INT8 = 3e-2  # error tolerance of attention with quantized queries and keys
STEP = 4e-3  # tolerance of quantization: half a step of INT8 is 1/254 of a block's largest magnitude
LOG2_E = 1.44269504


def normals(batch, heads, steps, width, *, kv_heads=None):
    kv_heads = kv_heads or heads
    return {"q": torch.randn(batch, heads, steps, width).half()} | {
        name: torch.randn(batch, kv_heads, steps, width).half() for name in "kv"
    }


def attended(q, k, v, *, causal=False):
    return functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)


def swapped(*tensors):
    """Return the tensors with heads and steps exchanged."""
    return [each.transpose(1, 2).contiguous() for each in tensors]


def packed(batch, heads, steps, width):
    """Return sequences of decreasing lengths without padding, and their offsets."""
    lengths = torch.tensor([max(steps - 5 * number, 1) for number in range(batch)])
    offsets = functional.pad(lengths.cumsum(0), (1, 0)).int()
    return {name: torch.randn(int(offsets[-1]), heads, width).half() for name in "qkv"} | {"offsets": offsets}


def varlen(q, k, v, offsets, *, causal=False):
    longest = int(offsets.diff().max())
    return sageattn_varlen(q, k, v, offsets, offsets, longest, longest, is_causal=causal)


def attended_parts(q, k, v, offsets, *, causal=False):
    parts = []
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        part = [each[start:end].transpose(0, 1)[None] for each in (q, k, v)]
        parts.append(attended(*part, causal=causal)[0].transpose(0, 1))
    return torch.cat(parts)


def dequantized(quantize, q, k):
    """Return queries and keys after quantization per block, as floats."""
    q8, q_scale, k8, k_scale = quantize(q, k)
    both = ((q8, q_scale, 128), (k8, k_scale, 64))
    return tuple(
        each.float() * scale.squeeze(-1).repeat_interleave(rows, 2)[:, :, : each.shape[2], None]
        for each, scale, rows in both
    )


def scaled(q, k, v):  # noqa: ARG001 - an input of the operators
    return q * q.shape[-1] ** -0.5 * LOG2_E, k


OPERATORS = (
    Operator("attention", normals, sageattn, attended, SIZES, INT8),
    Operator("attention-causal", normals, partial(sageattn, is_causal=True), partial(attended, causal=True), SIZES,
             INT8),
    Operator("attention-96", normals, sageattn, attended, WIDE, INT8),
    Operator("attention-96-causal", normals, partial(sageattn, is_causal=True), partial(attended, causal=True), WIDE,
             INT8),
    Operator("attention-nhd", normals,
             lambda q, k, v: sageattn(*swapped(q, k, v), tensor_layout="NHD").transpose(1, 2), attended, SIZES, INT8),
    Operator("attention-grouped", partial(normals, kv_heads=1), sageattn, attended,
             ((1, 2, 64, 64), (1, 2, 128, 64), (1, 3, 33, 64)), INT8),
    Operator("attention-varlen", packed, varlen, attended_parts,
             ((2, 1, 69, 64), (2, 2, 64, 64), (3, 1, 33, 64)), INT8),
    Operator("attention-varlen-causal", packed, partial(varlen, causal=True), partial(attended_parts, causal=True),
             ((2, 1, 69, 64), (2, 2, 64, 64), (3, 1, 33, 64)), INT8),
    Operator("quantization", normals, lambda q, k, v: dequantized(per_block_int8, q, k), scaled, SIZES, STEP),
    Operator("quantization-96", normals, lambda q, k, v: dequantized(per_block_int8_hd96, q, k), scaled, WIDE, STEP),
)  # fmt: skip


@cases(OPERATORS)
def test_operator(operator, size):
    operator.check(size)
