"""Blackwell's simulator extension."""

from __future__ import annotations

from typing import Final

from pyptx_arch_blackwell.sim import allocation, copies, fences, launch_control, moves, mutations, pipeline, rules
from pyptx_arch_blackwell.sim.mma import issue as mma
from pyptx_sim.extension import VERSION, Extension

STEPS: Final = tuple(
    step for part in (allocation, moves, copies, mma, pipeline, fences, launch_control) for step in part.STEPS
)
RULES: Final = (*rules.RULES, *launch_control.RULES)
EXTENSION: Final = Extension(version=VERSION, steps=STEPS, rules=RULES, mutations=mutations.MUTATIONS)
