# SPDX-License-Identifier: Apache-2.0
"""Element by element: activations, rotations, narrow floats, random numbers, atomics, inline assembly, control flow."""

from __future__ import annotations

import triton
import triton.language as tl
from cases import Case
from triton.language.extra import libdevice


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + libdevice.erf(x * 0.7071067811865476))


@triton.jit
def gated(x, gate, out, length, BLOCK: tl.constexpr):
    """An activation and its gate."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < length).to(tl.float32)
    gates = tl.load(gate + at, mask=at < length, cache_modifier=".cg").to(tl.float32)
    tl.store(out + at, (gelu(values) * tl.sigmoid(gates)).to(out.dtype.element_ty), mask=at < length)


@triton.jit
def rotated(x, out, positions, stride, base, HALF: tl.constexpr):
    """Rotary embedding of one head."""
    at = tl.arange(0, HALF)
    angle = tl.load(positions + tl.program_id(0)).to(tl.float32) * tl.exp2(-at.to(tl.float32) / HALF * tl.log2(base))
    row = tl.program_id(0) * stride
    low, high = tl.load(x + row + at), tl.load(x + row + HALF + at)
    cosine, sine = tl.cos(angle), tl.sin(angle)
    tl.store(out + row + at, low * cosine - high * sine)
    tl.store(out + row + HALF + at, high * cosine + low * sine)


@triton.jit
def dropout(x, out, length, rate, seed, BLOCK: tl.constexpr):
    """Philox by element index."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, at) > rate
    values = tl.load(x + at, mask=at < length)
    tl.store(out + at, tl.where(kept, values / (1.0 - rate), 0.0), mask=at < length)


@triton.jit
def narrowed(x, low, high, scale, BLOCK: tl.constexpr):
    """8-bit floats and back."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at) * tl.load(scale)
    tl.store(low + at, values.to(tl.float8e4nv))
    tl.store(high + at, values.to(tl.float8e5))
    tl.store(x + at, tl.load(low + at).to(tl.float32) + tl.load(high + at).to(tl.bfloat16))


@triton.jit
def quantised(x, packed, scales, BLOCK: tl.constexpr):
    """Four bits per element, two elements per byte, one scale per row."""
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * 2 * BLOCK
    low, high = tl.split(tl.reshape(tl.load(x + row + tl.arange(0, 2 * BLOCK)), (BLOCK, 2)))
    scale = tl.maximum(tl.max(tl.abs(low)), tl.max(tl.abs(high))) / 7.0
    first = (tl.clamp(libdevice.rint(low / scale), -8.0, 7.0).to(tl.int32) + 8) & 15
    second = (tl.clamp(libdevice.rint(high / scale), -8.0, 7.0).to(tl.int32) + 8) & 15
    tl.store(packed + tl.program_id(0) * BLOCK + at, (first | (second << 4)).to(tl.uint8))
    tl.store(scales + tl.program_id(0), scale)


@triton.jit
def atomics(integers, floats, out, length, BLOCK: tl.constexpr):
    """Every kind, in several orders and scopes."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < length
    values = tl.load(integers + at, mask=inside, other=0)
    tl.atomic_max(out, tl.max(values))
    tl.atomic_and(out + 1 + at % 2, values, mask=inside, sem="acquire")
    tl.atomic_xor(out + 3 + at % 2, values, mask=inside, sem="release", scope="cta")
    old = tl.atomic_xchg(out + 5 + at, values, mask=inside, scope="sys")
    tl.atomic_add(floats + at % 8, old.to(tl.float32), mask=inside)
    tl.atomic_min(floats + 8, tl.min(old.to(tl.float32)))
    while tl.atomic_cas(out + 5, 0, 1) == 1:
        pass
    tl.store(floats + 9, tl.load(floats + 9) + 1.0)
    tl.atomic_xchg(out + 5, 0)


@triton.jit
def assembly(x, y, BLOCK: tl.constexpr):
    """Inline assembly for one element, four bytes and two results at a time."""
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at)
    mixed = tl.inline_asm_elementwise(
        "{\n .reg .b32 t;\n shl.b32 t, $1, 3;\n lop3.b32 $0, t, $1, 0x55, 0x96;\n}",
        "=r,r",
        [values],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(y + at, mixed)
    bytes_ = tl.load(x.to(tl.pointer_type(tl.int8)) + at)
    tl.store(
        y.to(tl.pointer_type(tl.int8)) + at,
        tl.inline_asm_elementwise(
            "prmt.b32 $0, $1, 0, 0x0123;", "=r,r", [bytes_], dtype=tl.int8, is_pure=True, pack=4
        ),
    )


@triton.jit(noinline=True)
def collatz(n):
    """Count the steps to one."""
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@triton.jit
def control(x, out, length, BLOCK: tl.constexpr):
    """Calls, loops of a scalar, early returns, printing, assertions."""
    if tl.program_id(0) * BLOCK >= length:
        return
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    start = tl.load(x)
    tl.device_assert(start > 0, "starts above zero")
    steps = collatz(start) + collatz(start + 1)
    if steps > 100:
        tl.device_print("many steps", steps)
    elif steps > 10:
        steps = steps * 2
    else:
        tl.debug_barrier()
    tl.store(out + at, steps + at, mask=at < length)


def arrays(element: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, f"*{element}")


LENGTH = {"length": "i32"}
CASES = {
    "gated": Case(
        gated, arrays("bf16", "x", "gate", "out") | LENGTH, {"BLOCK": 1024}, {"num_warps": 4}, ("x", "gate", "out")
    ),
    "rotated": Case(
        rotated,
        arrays("fp32", "x", "out") | {"positions": "*i64", "stride": "i32", "base": "fp32"},
        {"HALF": 64},
        {"num_warps": 1},
    ),
    "dropout": Case(
        dropout, arrays("fp16", "x", "out") | LENGTH | {"rate": "fp32", "seed": "i32"}, {"BLOCK": 512}, {"num_warps": 4}
    ),
    "narrowed": Case(
        narrowed,
        {"x": "*fp32", "low": "*fp8e4nv", "high": "*fp8e5", "scale": "*fp32"},
        {"BLOCK": 512},
        {"num_warps": 4},
        ("x", "low", "high"),
    ),
    "quantised": Case(quantised, {"x": "*fp32", "packed": "*u8", "scales": "*fp32"}, {"BLOCK": 128}, {"num_warps": 2}),
    "atomics": Case(
        atomics, {"integers": "*i32", "floats": "*fp32", "out": "*i32"} | LENGTH, {"BLOCK": 128}, {"num_warps": 4}
    ),
    "assembly": Case(assembly, arrays("i32", "x", "y"), {"BLOCK": 256}, {"num_warps": 2}, ("x", "y")),
    "control": Case(control, arrays("i32", "x", "out") | LENGTH, {"BLOCK": 128}, {"num_warps": 2, "debug": True}),
}
