"""Bulk and tensor reductions: every operation on every type, compared with Python's own arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tools.shares import share

from pyptx_ir.plugins.rows import TensorMap
from pyptx_sim import WithDescriptor

from .ptx_text import execute
from .test_bulk_copy import BEFORE, cluster

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.scaled, pytest.mark.hopper]

# Legal operations and types for global memory, shared memory and tensors. Manual: "cp.reduce.async.bulk", table.
GLOBAL = (
    *((op, kind) for op in ("and", "or", "xor") for kind in ("b32", "b64")),
    *(("add", kind) for kind in ("u32", "s32", "u64", "f32", "f64", "noftz.f16", "noftz.bf16", "noftz.f32")),
    *((op, kind) for op in ("min", "max") for kind in ("u32", "s32", "u64", "s64", "f16", "bf16")),
    *((op, "u32") for op in ("inc", "dec")),
)
SHARED = (
    *((op, "b32") for op in ("and", "or", "xor")),
    *(("add", kind) for kind in ("u32", "s32", "u64")),
    *((op, kind) for op in ("min", "max") for kind in ("u32", "s32")),
    *((op, "u32") for op in ("inc", "dec")),
)
TENSORS = tuple((op, kind) for op, kind in GLOBAL if kind not in {"f64", "noftz.f32"})
# For shared memory and tensors, a third is tested: arithmetic equals that of reductions into global memory.
SHARED, TENSORS = share(SHARED, 3), share(TENSORS, 3)
DTYPES = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64}

INTEGERS: dict[str, Callable[[int, int], int]] = {
    "add": lambda old, value: old + value,
    "min": min,
    "max": max,
    "and": lambda old, value: old & value,
    "or": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "inc": lambda old, bound: 0 if old >= bound else old + 1,
    "dec": lambda old, bound: bound if old == 0 or old > bound else old - 1,
}


def dtype_of(kind: str) -> Any:
    name = kind.rpartition(".")[2]
    found = DTYPES.get(name) or {"b": "u", "u": "u", "s": "i"}[name[0]] + str(int(name[1:]) // 8)
    return np.dtype(found)


def values_of(kind: str, count: int, seed: int) -> np.ndarray[Any, Any]:
    """Return an array of random values; floats include subnormals, and values whose sum needs rounding."""
    random, dtype = np.random.default_rng(seed), dtype_of(kind)
    if kind.rpartition(".")[2] not in DTYPES:
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, count, dtype, endpoint=True)
    values = random.standard_normal(count) * 2.0 ** random.integers(-8, 8, count)
    if kind.endswith("bf16"):
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    found = values.astype(dtype)
    found[:4] = np.array([1, -3, 2, 5]) * np.finfo(dtype).smallest_subnormal
    return found


def exact(kind: str, bits: Any) -> Fraction:
    if kind.endswith("bf16"):
        return Fraction(float(np.array([int(bits) << 16], np.uint32).view(np.float32)[0]))
    return Fraction(float(bits))


def nearest(kind: str, value: Fraction) -> float:
    """Return `value` rounded to nearest even in a floating-point type, in exact arithmetic."""
    digits, lowest = {"f16": (11, -24), "bf16": (8, -133), "f32": (24, -149), "f64": (53, -1074)}[
        kind.rpartition(".")[2]
    ]
    if not value:
        return 0.0
    top = abs(value.numerator).bit_length() - value.denominator.bit_length()
    top -= abs(value) < Fraction(2) ** top
    unit = Fraction(2) ** max(top - digits + 1, lowest)
    return float(round(value / unit) * unit)


def flushed(value: Fraction) -> Fraction:
    return Fraction(0) if abs(value) < Fraction(2) ** -126 else value


def expected(op: str, kind: str, old: np.ndarray[Any, Any], new: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if kind.rpartition(".")[2] not in DTYPES:
        bits = 8 * old.itemsize
        found = [INTEGERS[op](int(a), int(b)) % (1 << bits) for a, b in zip(old, new, strict=True)]
        return np.array(found, f"u{old.itemsize}").view(old.dtype)
    pairs = [(exact(kind, a), exact(kind, b)) for a, b in zip(old, new, strict=True)]
    if op == "add":
        flush = flushed if kind == "f32" else (lambda value: value)
        sums = [flush(Fraction(nearest(kind, flush(a) + flush(b)))) for a, b in pairs]
    else:
        sums = [{"min": min, "max": max}[op](pair) for pair in pairs]
    if kind.endswith("bf16"):
        return (np.array([float(each) for each in sums], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.array([float(each) for each in sums]).astype(old.dtype)


def same(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> bool:
    """Return whether two values are equal; zeros of both signs are."""
    return bool((found == wanted).all()) or bool(((found == wanted) | (found | wanted == 0x8000)).all())


FILL = """
ld.param.u64 %rd2, [x];
mov.u32 %r2, s;
setp.eq.u32 %p0, %r0, 0;
mad.wide.u32 %rd3, %r0, 4, %rd2;
ld.global.u32 %r3, [%rd3];
mad.lo.u32 %r1, %r0, 4, %r2;
st.shared.u32 [%r1], %r3;
fence.proxy.async.shared::cta;
bar.sync 0;
"""
BOX = """
mov.b64 %rd4, m;
cvta.param.u64 %rd4, %rd4;
@%p0 cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.tile.bulk_group [%rd4, {{{corner}}}], [%r2];
"""
WAIT = "@%p0 cp.async.bulk.commit_group;\n@%p0 cp.async.bulk.wait_group 0;\n"


@pytest.mark.parametrize(("op", "kind"), GLOBAL, ids=[f"{op}.{kind}" for op, kind in GLOBAL])
def test_a_reduction_into_global_memory(op: str, kind: str) -> None:
    count = 256 // dtype_of(kind).itemsize
    old, new = (values_of(kind, count, seed) for seed in (1, 2))
    out = old.copy()
    copy = f"@%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{kind} [%rd0], [%r2], 256;\n"
    result = execute(FILL + copy + WAIT, out, new, block=64, parameters=".param .u64 out, .param .u64 x", before=BEFORE)
    assert result.findings == ()
    assert same(out, expected(op, kind, old, new))


@pytest.mark.parametrize(("op", "kind"), TENSORS, ids=[f"{op}.{kind}" for op, kind in TENSORS])
def test_a_reduction_into_a_tensor(op: str, kind: str) -> None:
    """The box has two rows, and its last columns are out of bounds."""
    dtype = dtype_of(kind)
    columns = 128 // dtype.itemsize
    old, new = values_of(kind, 4 * columns, 1).reshape(4, columns), values_of(kind, 2 * columns, 2)
    tensor, shift = old.copy(), columns // 4
    described = TensorMap(kind.rpartition(".")[2], tensor.shape, tensor.strides, (2, columns), (1, 1))
    body = FILL + BOX.format(op=op, corner=f"{shift}, 1") + WAIT
    parameters = ".param .u64 out, .param .u64 x, .param .align 64 .b8 m[128]"
    result = execute(
        body, np.zeros(1), new, WithDescriptor(tensor, described), block=64, parameters=parameters, before=BEFORE
    )
    assert [str(finding) for finding in result.findings] == []
    wanted = old.copy()
    inside = (slice(1, 3), slice(shift, None))
    source = new.reshape(2, columns)[:, : columns - shift]
    wanted[inside] = expected(op, kind, old[inside].reshape(-1), source.reshape(-1)).reshape(source.shape)
    assert same(tensor, wanted)


@pytest.mark.parametrize(("op", "kind"), SHARED, ids=[f"{op}.{kind}" for op, kind in SHARED])
def test_a_reduction_into_another_block(op: str, kind: str) -> None:
    """Each CTA adds 0, 1, 2, … to the words that the threads of the next CTA wrote."""
    send = f"""
    st.shared.u32 [%r1], %r11;
    fence.proxy.async.shared::cta;
    add.u32 %r12, %r1, 1024;
    st.shared.u32 [%r12], %r0;
    fence.proxy.async.shared::cta;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    add.u32 %r13, %r10, 1;
    and.b32 %r13, %r13, 3;
    mapa.shared::cluster.u32 %r14, %r2, %r13;
    mapa.shared::cluster.u32 %r15, %r3, %r13;
    add.u32 %r16, %r2, 1024;
    @%p0 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op}.{kind}
        [%r14], [%r16], 512, [%r15];
    """
    found = cluster(send, 0)
    dtype = dtype_of(kind)
    old = np.arange(512, dtype=np.uint32).reshape(4, 128)
    new = np.arange(128, dtype=np.uint32).view(dtype)
    for block in range(4):
        assert (found[block].view(dtype) == expected(op, kind, old[block].view(dtype), new)).all()


@pytest.mark.parametrize(
    ("op", "kind"), [("add", "f64"), ("min", "f32"), ("inc", "u64"), ("add", "s64"), ("xor", "u8")]
)
def test_a_reduction_that_tensors_have_not_is_a_finding(op: str, kind: str) -> None:
    tensor = np.zeros((4, 128 // dtype_of(kind).itemsize), dtype_of(kind))
    described = TensorMap(kind, tensor.shape, tensor.strides, (2, tensor.shape[1]), (1, 1))
    body = FILL + BOX.format(op=op, corner="0, 1")
    parameters = ".param .u64 out, .param .u64 x, .param .align 64 .b8 m[128]"
    result = execute(body, np.zeros(1), np.zeros(256, np.uint8), WithDescriptor(tensor, described), block=64,
                     parameters=parameters, before=BEFORE)  # fmt: skip
    assert [finding.rule for finding in result.findings] == ["tensor-map"]
