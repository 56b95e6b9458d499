"""Hopper's part of the simulator, as an extension."""

from __future__ import annotations

from typing import Final

from pyptx_arch_hopper.sim import setmaxnreg
from pyptx_arch_hopper.sim.mutations import MUTATIONS
from pyptx_arch_hopper.sim.rules import RULES
from pyptx_arch_hopper.sim.wgmma import rows as wgmma
from pyptx_sim.extension import VERSION, Extension

EXTENSION: Final = Extension(version=VERSION, steps=(*wgmma.STEPS, *setmaxnreg.STEPS), rules=RULES, mutations=MUTATIONS)
