"""Norms, softmax and SwiGLU with 32-byte accesses, for sm_100a: other GPUs skip these cases."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.kernels.case import BLACKWELL
from benchmarks.kernels.cases import norms

RMS, LAYER, SOFTMAX, SWIGLU, SWIGLU_BF16 = (
    replace(subject, folder="blackwell", capability=BLACKWELL)
    for subject in (norms.RMS, norms.LAYER, norms.SOFTMAX, norms.SWIGLU, norms.SWIGLU_BF16)
)

# Matrices larger than those of the Hopper cases: a B200 has 126 MB of L2, and moves 8 TB/s.
# Then matrices with short rows, and with rows split over CTAs.
CASES = (
    RMS.case(32768, 8192),
    LAYER.case(32768, 8192),
    SOFTMAX.case(32768, 8192),
    SWIGLU.case(16384, 8192),
    RMS.case(65536, 8192, "bfloat16"),
    SOFTMAX.case(65536, 8192, "bfloat16"),
    SWIGLU_BF16.case(32768, 8192, "bfloat16"),
    RMS.case(262144, 512, "bfloat16"),
    SOFTMAX.case(4096, 65536),
)
