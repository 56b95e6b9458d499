"""Hopper's part of the simulator, as an extension."""

from __future__ import annotations

from typing import Final

from pyptx_arch_hopper.sim.rules import RULES
from pyptx_arch_hopper.sim.wgmma.rows import STEPS
from pyptx_sim.extension import VERSION, Extension

EXTENSION: Final = Extension(version=VERSION, steps=STEPS, rules=RULES)
