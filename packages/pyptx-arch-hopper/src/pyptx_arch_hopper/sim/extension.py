"""Hopper's simulator extension."""

from __future__ import annotations

from typing import Final

from pyptx_arch_hopper.sim import async_stores, cluster_barriers, fences, multimem, setmaxnreg
from pyptx_arch_hopper.sim.mutations import MUTATIONS
from pyptx_arch_hopper.sim.rules import RULES
from pyptx_arch_hopper.sim.tensor_map import TensorMap
from pyptx_arch_hopper.sim.tma import bulk_copy, map_edits, maps
from pyptx_arch_hopper.sim.wgmma import rows as wgmma
from pyptx_ir.plugins.rows import TensorMap as Row
from pyptx_sim.extension import VERSION, Descriptor, Extension

DESCRIPTORS: Final = (
    Descriptor(
        name="tensor map",
        described=Row,
        encode=maps.encode,
        alignment=maps.ALIGNMENT,
        offered=TensorMap,
        example="TensorMap(box=16x32,swizzle=128B)",
    ),
)
STEPS: Final = tuple(
    step
    for part in (wgmma, bulk_copy, map_edits, async_stores, multimem, fences, cluster_barriers, setmaxnreg)
    for step in part.STEPS
)
EXTENSION: Final = Extension(version=VERSION, steps=STEPS, rules=RULES, mutations=MUTATIONS, descriptors=DESCRIPTORS)
