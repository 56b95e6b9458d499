"""Helpers of row kernel tests (norm, softmax, SwiGLU): arrays, error bounds, and the kernels of an example folder."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from tools.sass_loops import instructions

from pyptx.types import PtxType, bf16, f32

if TYPE_CHECKING:
    from collections.abc import Callable

DTYPES = {f32: np.dtype(np.float32), bf16: np.dtype(ml_dtypes.bfloat16)}
SCHEDULES: tuple[dict[str, Any], ...] = ({"seed": 0}, {"delay_async": True}, {"seed": 1}, {"seed": 2})
# A sum of up to 64 elements per thread, and then over a tree of lanes, has a random error below (64 + 15) / 2 units of
# 2**-24, usually a few units. `rsqrt` and `ex2` err by 2**-22. Rounding to bf16 adds half a unit of 2**-7.
F32_ERROR, BF16_ERROR = 1e-6, 2**-8


@dataclass(frozen=True)
class Norm:
    """Example for rows: kernel for any row length, builder for one length, reference, number of vector inputs."""

    kernel: Any
    make: Callable[..., Any]
    reference: Callable[..., Any]
    vectors: int


def norms_of(folder: str) -> dict[str, Norm]:
    """Return the row kernels (`rms_norm`, `layer_norm`, `softmax`) of a folder of examples."""
    found = {}
    for name, vectors in (("rms_norm", 1), ("layer_norm", 2), ("softmax", 0)):
        module = import_module(f"examples.{folder}.{name}")
        found[name] = Norm(getattr(module, name), getattr(module, f"{name}_for"), module.reference, vectors)
    return found


def normal(seed: int, dtype: PtxType, *shapes: tuple[int, ...]) -> list[Any]:
    """Draw arrays from N(1/2, 1), so that means are not zero."""
    rng = np.random.default_rng(seed)
    return [(rng.standard_normal(shape) + 0.5).astype(DTYPES[dtype]) for shape in shapes]


def check(result: Any, expected: Any, dtype: PtxType) -> None:
    """Compare results with references: bf16 with a relative bound, plus a bound relative to the largest magnitude."""
    relative = BF16_ERROR if dtype == bf16 else 0.0
    np.testing.assert_allclose(
        np.asarray(result, np.float64), expected, rtol=relative, atol=F32_ERROR * np.abs(expected).max()
    )


def opcodes(sass: str) -> Counter[str]:
    """Count the opcodes of SASS; slow instructions are counted with their modifiers."""
    slow = ("LDG", "STG", "MUFU")
    names = (each.opcode for each in instructions(sass))
    return Counter(name if name.startswith(slow) else name.partition(".")[0] for name in names)
