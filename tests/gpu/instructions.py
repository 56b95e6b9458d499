"""Instructions whose results are recorded on hardware, and their operands.

A row is an instruction with one result and register operands. It runs once for every combination of edge values of its
operand types, or for a seeded sample if there are more than `SAMPLE` combinations.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

SAMPLE = 4096  # maximum number of operand combinations of each tested instruction


def patterns(kind: str, words: str) -> np.ndarray:
    """Return bit patterns, written in hexadecimal, as unsigned integers."""
    return np.array([int(word, 16) for word in words.split()], dtype=kind)


def integers(width: int) -> np.ndarray:
    """Return edge values of an integer type: small values, shift amounts, ends of the signed and unsigned ranges."""
    small = (0, 1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 255, 0x01234567, 0x5A5A5A5A)
    ends = ((1 << (width - 1)) - 1, 1 << (width - 1), (1 << width) - 2, (1 << width) - 1)
    return np.unique(np.array([value % (1 << width) for value in (*small, *ends)], dtype=f"u{width // 8}"))


# f32 edges: zeros, ones, subnormals, smallest and largest normals, infinities, NaNs, values that roundings distinguish.
INTEGERS = {width: integers(width) for width in (16, 32, 64)}
F32 = patterns(
    "u4",
    """
    00000000 80000000 3f800000 bf800000 00000001 80000001 007fffff 00800000 7f7fffff ff7fffff 7f800000 ff800000 7fc00000
    7f800001 3f800001 3f7fffff 33800000 4b000001 4effffff cf000000 4f7fffff 40490fdb 3eaaaaab 3fc00000 c0200000 5f000000
    """,
)
F64 = patterns(
    "u8",
    """
    0000000000000000 8000000000000000 3ff0000000000000 bff0000000000000 0000000000000001 000fffffffffffff
    0010000000000000 7fefffffffffffff 7ff0000000000000 fff0000000000000 7ff8000000000000 3ff0000000000001
    3fefffffffffffff 3ca0000000000000 41dfffffffc00000 41e0000000000000 400921fb54442d18 3fd5555555555555
    47efffffe0000000 36a0000000000000
    """,
)
HALF = patterns(  # 16-bit patterns: edge values of f16, then edge values of bf16
    "u2",
    """
    0000 8000 3c00 bc00 0001 03ff 0400 7bff 7c00 fc00 7e00 3c01 3555 4248
    3f80 bf80 7f7f 7f80 ff80 7fc0 3f81 4049
    """,
)


def edges(kind: str) -> np.ndarray:
    """Return the edge values of a PTX type, as unsigned integers of its width."""
    if kind in {"f16", "bf16"}:
        return HALF
    if kind in {"f16x2", "bf16x2"}:
        low, high = np.meshgrid(HALF, HALF[::3])
        return (low.ravel().astype(np.uint32) | (high.ravel().astype(np.uint32) << 16)).astype(np.uint32)
    if kind == "f32":
        return F32
    return F64 if kind == "f64" else INTEGERS[int(kind[1:])]


@dataclass(frozen=True, slots=True)
class Recorded:
    """An instruction: opcode, types of result and operands, and error bound in ulp (0: exact)."""

    opcode: str
    result: str
    operands: tuple[str, ...]
    ulps: int = 0

    def inputs(self) -> list[np.ndarray]:
        """Return one array per operand: every combination of edge values, or a seeded sample."""
        columns = [edges(kind) for kind in self.operands]
        total = int(np.prod([len(column) for column in columns]))
        if total <= SAMPLE:
            rows = list(itertools.product(*columns))
            return [
                np.array(column, dtype=like.dtype)
                for column, like in zip(zip(*rows, strict=True), columns, strict=True)
            ]
        generator = np.random.default_rng(0)
        return [generator.choice(column, SAMPLE) for column in columns]


def same(opcode: str, kind: str, count: int, ulps: int = 0) -> Recorded:
    """Return a `Recorded` instruction whose result and operands have one type, the opcode's last modifier."""
    return Recorded(f"{opcode}.{kind}", kind, (kind,) * count, ulps)


INTEGER_TYPES = ("u16", "s16", "u32", "s32", "u64", "s64")
ROUNDINGS = ("rn", "rz", "rm", "rp")

RECORDED: tuple[Recorded, ...] = (
    *(same(op, kind, 2) for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max") for kind in INTEGER_TYPES),
    *(same(op, kind, 1) for op in ("abs", "neg") for kind in ("s16", "s32", "s64")),
    *(same(op, kind, 2) for op in ("and", "or", "xor") for kind in ("b16", "b32", "b64")),
    *(same(op, kind, 1) for op in ("not",) for kind in ("b16", "b32", "b64")),
    *(same("mad.lo", kind, 3) for kind in INTEGER_TYPES),
    *(
        Recorded(f"mul.wide.{a}", b, (a, a))
        for a, b in (("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64"))
    ),
    *(Recorded(f"{op}.{kind}", kind, (kind, "u32")) for op in ("shr",) for kind in INTEGER_TYPES),
    *(Recorded(f"shl.{kind}", kind, (kind, "u32")) for kind in ("b16", "b32", "b64")),
    *(Recorded(f"{op}.{kind}", "u32", (kind,)) for op in ("popc", "clz") for kind in ("b32", "b64")),
    *(same("brev", kind, 1) for kind in ("b32", "b64")),
    *(Recorded(f"bfind.{kind}", "u32", (kind,)) for kind in ("u32", "s32", "u64", "s64")),
    *(Recorded(f"bfe.{kind}", kind, (kind, "u32", "u32")) for kind in ("u32", "s32", "u64", "s64")),
    *(Recorded(f"bfi.{kind}", kind, (kind, kind, "u32", "u32")) for kind in ("b32", "b64")),
    Recorded("prmt.b32", "b32", ("b32", "b32", "b32")),
    *(same(f"{op}.{r}", kind, 2) for op in ("add", "sub", "mul") for r in ROUNDINGS for kind in ("f32", "f64")),
    *(same(f"{op}.{r}.ftz", "f32", 2) for op in ("add", "mul") for r in ROUNDINGS),
    *(same(f"fma.{r}", kind, 3) for r in ROUNDINGS for kind in ("f32", "f64")),
    *(same(f"div.{r}", kind, 2) for r in ROUNDINGS for kind in ("f32", "f64")),
    *(same(f"{op}.{r}", kind, 1) for op in ("sqrt", "rcp") for r in ROUNDINGS for kind in ("f32", "f64")),
    *(same(op, kind, 2) for op in ("min", "max") for kind in ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2")),
    *(same(op, "f32", 2) for op in ("min.NaN", "max.NaN", "min.ftz", "max.ftz", "copysign")),
    *(same(f"{op}.rn", kind, 2) for op in ("add", "sub", "mul") for kind in ("f16", "f16x2")),
    *(same("fma.rn", kind, 3) for kind in ("f16", "bf16")),
    *(same(f"{op}.approx", "f32", 1, ulps) for op, ulps in (("ex2", 2), ("rcp", 1), ("rsqrt", 2), ("sqrt", 2))),
    *(Recorded(f"cvt.{a}.{b}", a, (b,)) for a in ("u16", "s32", "u64") for b in ("s16", "u32", "s64") if a != b),
    *(Recorded(f"cvt.rn.{f}.{i}", f, (i,)) for f in ("f32", "f64") for i in ("u32", "s32", "u64", "s64")),
    *(Recorded(f"cvt.r{r}i.{i}.{f}", i, (f,)) for r in "nzmp" for i in ("u32", "s32", "s64") for f in ("f32", "f64")),
    *(Recorded(f"cvt.{r}.f32.f64", "f32", ("f64",)) for r in ROUNDINGS),
    *(Recorded(f"cvt.rn.{half}.f32", half, ("f32",)) for half in ("f16", "bf16")),
    Recorded("cvt.f64.f32", "f64", ("f32",)),
    Recorded("cvt.f32.f16", "f32", ("f16",)),
)
