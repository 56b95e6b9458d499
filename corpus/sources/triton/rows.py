# SPDX-License-Identifier: Apache-2.0
"""Kernels that process one row at a time: norms, softmax, a loss."""

from __future__ import annotations

import triton
import triton.language as tl
from cases import Case


@triton.jit
def softmax(x, y, width, stride, rows, BLOCK: tl.constexpr):
    """Whole rows in registers, one after another."""
    columns = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        values = tl.load(x + row * stride + columns, mask=columns < width, other=-float("inf")).to(tl.float32)
        raised = tl.exp(values - tl.max(values, 0))
        tl.store(y + row * stride + columns, (raised / tl.sum(raised, 0)).to(y.dtype.element_ty), mask=columns < width)


@triton.jit
def layer_norm(x, y, weight, bias, means, scales, width, epsilon, BLOCK: tl.constexpr):
    """Rows in blocks, read twice."""
    row = tl.program_id(0).to(tl.int64) * width
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = tl.load(x + row + columns, mask=columns < width, other=0.0).to(tl.float32)
        total += values
        squares += values * values
    mean = tl.sum(total) / width
    scale = tl.rsqrt(tl.sum(squares) / width - mean * mean + epsilon)
    tl.store(means + tl.program_id(0), mean)
    tl.store(scales + tl.program_id(0), scale)
    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < width
        values = tl.load(x + row + columns, mask=inside, eviction_policy="evict_first").to(tl.float32)
        factor, addend = tl.load(weight + columns, mask=inside), tl.load(bias + columns, mask=inside)
        tl.store(y + row + columns, ((values - mean) * scale * factor + addend).to(y.dtype.element_ty), mask=inside)


@triton.jit
def rms_norm_backward(dy, x, weight, scales, dx, dweight, rows, width, BLOCK: tl.constexpr):
    """Gradients of the rows, and of the weight, to which all rows add."""
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    factor = tl.load(weight + columns, mask=inside, other=0.0)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        values = tl.load(x + row * width + columns, mask=inside, other=0.0).to(tl.float32)
        slopes = tl.load(dy + row * width + columns, mask=inside, other=0.0).to(tl.float32)
        scale = tl.load(scales + row)
        normed = values * scale
        share = tl.sum(slopes * factor * normed) / width
        tl.store(dx + row * width + columns, scale * (slopes * factor - normed * share), mask=inside)
        total += slopes * normed
    tl.atomic_add(dweight + columns, total, mask=inside)


@triton.jit
def cross_entropy(logits, labels, losses, classes, ignored, smoothing, BLOCK: tl.constexpr):
    """A row in blocks, with running maximum and sum."""
    row = tl.program_id(0)
    label = tl.load(labels + row)
    if label == ignored:
        tl.store(losses + row, 0.0)
        return
    peak, total, all_of_it = -float("inf"), 0.0, 0.0
    for start in range(0, classes, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = tl.load(logits + row * classes + columns, mask=columns < classes, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(peak, tl.max(values))
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(values - higher))
        all_of_it += tl.sum(tl.where(columns < classes, values, 0.0))
        peak = higher
    logsum = peak + tl.log(total)
    chosen = tl.load(logits + row * classes + label).to(tl.float32)
    tl.store(losses + row, logsum - (1.0 - smoothing) * chosen - smoothing * all_of_it / classes)


SOFTMAX = {"x": "*fp16", "y": "*fp16", "width": "i32", "stride": "i32", "rows": "i32"}
NORM = {
    "x": "*bf16",
    "y": "*bf16",
    "weight": "*fp32",
    "bias": "*fp32",
    "means": "*fp32",
    "scales": "*fp32",
    "width": "i32",
    "epsilon": "fp32",
}
BACKWARD = dict.fromkeys(("dy", "x", "weight", "scales", "dx", "dweight"), "*fp32") | {"rows": "i32", "width": "i32"}
LOSS = {"logits": "*bf16", "labels": "*i64", "losses": "*fp32", "classes": "i32", "ignored": "i64", "smoothing": "fp32"}
CASES = {
    "softmax": Case(softmax, SOFTMAX, {"BLOCK": 1024}, {"num_warps": 4}, ("x", "y", "stride")),
    "softmax-small": Case(softmax, SOFTMAX | {"x": "*fp32", "y": "*fp32"}, {"BLOCK": 128}, {"num_warps": 1}),
    "layer-norm": Case(layer_norm, NORM, {"BLOCK": 1024}, {"num_warps": 8}, ("x", "y", "weight", "bias", "width")),
    "rms-norm-backward": Case(rms_norm_backward, BACKWARD, {"BLOCK": 512}, {"num_warps": 4}),
    "cross-entropy": Case(cross_entropy, LOSS, {"BLOCK": 2048}, {"num_warps": 8}, ("logits",)),
}
