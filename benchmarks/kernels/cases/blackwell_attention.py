"""Flash attention for Blackwell and its gradients, compared with torch's backends, at the sizes of Hopper's cases."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.kernels.case import BLACKWELL, late
from benchmarks.kernels.cases.attention import Attend, Differentiate, attention, training

if TYPE_CHECKING:
    from benchmarks.kernels.case import Case

FORWARD = late("examples.blackwell.flash_attention_blackwell:flash_attention")
KERNELS = late("examples.blackwell.flash_attention_backward_blackwell:ATTENTION.get")


def _on_blackwell(case: Case) -> Case:
    """Return a Hopper case with the Blackwell kernel in place of Hopper's."""
    kernel = case.kernel
    if isinstance(kernel, Differentiate):
        kernel = replace(kernel, kernels=KERNELS)
    elif isinstance(kernel, Attend):
        kernel = replace(kernel, forward=FORWARD)
    return replace(case, name=f"blackwell {case.name}", kernel=kernel, capability=BLACKWELL)


CASES = tuple(
    _on_blackwell(case)
    for case in (
        *(attention((2, 4096, 16, size), None, causal=causal) for size in (64, 128) for causal in (False, True)),
        attention((2, 4096, 32, 128), None, causal=True, heads_of_keys=8),
        *(training((2, 4096, 16, size), causal=causal) for size in (64, 128) for causal in (False, True)),
    )
)
