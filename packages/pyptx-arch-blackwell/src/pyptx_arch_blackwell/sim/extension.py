"""Blackwell's part of the simulator, as an extension."""

from __future__ import annotations

from typing import Final

from pyptx_arch_blackwell.sim import allocation, fences, moves, pipeline
from pyptx_arch_blackwell.sim.mma import issue as mma
from pyptx_arch_blackwell.sim.rules import RULES
from pyptx_sim.extension import VERSION, Extension

STEPS: Final = tuple(step for part in (allocation, moves, mma, pipeline, fences) for step in part.STEPS)
EXTENSION: Final = Extension(version=VERSION, steps=STEPS, rules=RULES)
