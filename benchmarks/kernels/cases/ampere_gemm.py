"""Matrix products with the tensor cores of Ampere, beside cuBLAS."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.kernels.case import Case

CASES: tuple[Case, ...] = ()
