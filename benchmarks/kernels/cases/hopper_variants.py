"""Variants of Hopper's kernels, each compared with the default; the measured ratios decide between them.

The variants are launches that overlap their prerequisite grid, and attention gradients with five MMAs per step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from benchmarks.kernels.case import Case, built, late
from benchmarks.kernels.cases import attention, grouped_gemm, hopper_gemm, norms

if TYPE_CHECKING:
    from torch import Tensor

KNOWN = {case.name: case for module in (attention, grouped_gemm, hopper_gemm, norms) for case in module.CASES}
FUSED = late("examples.hopper.flash_attention_backward_fused:ATTENTION.get")


@dataclass(frozen=True, slots=True)
class Overlapping:
    """Attention kernel that starts before its prerequisite grid has completed."""

    causal: bool

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Any:  # noqa: ANN401 - whatever the kernel returns
        """Compute attention; return O and LSE."""
        kernel = late("examples.hopper.flash_attention:variant")(q.shape[3], overlaps=True)
        return kernel(q, k, v, causal=self.causal)


def overlapping_norm(x: Tensor, w: Tensor) -> Any:  # noqa: ANN401 - whatever the kernel returns
    """Normalize rows with a kernel that starts before its prerequisite grid has completed."""
    plan = late("examples.rows.plans:Plan.of")(x.shape[1])
    return late("examples.hopper.rms_norm:rms_norm_for")(x.shape[1], plan.dtype, replace(plan, overlaps=True))(x, w)


def beside(name: str, how: str, kernel: Any) -> Case:  # noqa: ANN401 - late, built, or a function
    """Return the case `name` for a variant of its kernel, with the default kernel as the baseline."""
    case: Case = KNOWN[name]
    return replace(case, name=f"{how}: {name}", kernel=kernel, baselines={"so far": case.kernel}, goal_us=None)


def attentions(shape: str, *, causal: bool) -> list[Case]:
    """Return the case of the overlapping forward kernel, and that of gradients with five MMAs per step."""
    name = f"attention {shape}{' causal' * causal}"
    found = [beside(name, "overlaps", Overlapping(causal))]
    gradients = f"attention and gradients {shape}{' causal' * causal}"
    fused = attention.Differentiate(attention.Attend(causal), FUSED)
    return [*found, beside(gradients, "five products", fused)]


HIGHPERF, GROUPED = f"{hopper_gemm.HIGHPERF}:build_gemm", f"{grouped_gemm.KERNEL}:build_grouped_gemm"
ALIKE, UNEVEN = "grouped 8 x 2048, 2048 x 2048", "grouped 16 uneven groups, 4096 x 4096"
CASES = (
    *(beside(f"hopper highperf bf16 {size}³", "overlaps", built(HIGHPERF, overlaps=True)) for size in (2048, 4096)),
    *(beside(name, "overlaps", built(GROUPED, overlaps=True)) for name in (ALIKE, UNEVEN)),
    *(
        case
        for head_dim in (64, 128)
        for causal in (False, True)
        for case in attentions(f"B2 S4096 H16 D{head_dim}", causal=causal)
    ),
    beside("rms_norm f32 2048x8192", "overlaps", overlapping_norm),
)
