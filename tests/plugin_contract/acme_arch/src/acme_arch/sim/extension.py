"""acme_1's part of the simulator."""

from __future__ import annotations

from acme_arch.sim import blender, slices, vault
from pyptx_sim.extension import Extension, Mutation
from pyptx_sim.mutations import edits

EXTENSION = Extension(
    version=1,
    steps=(*vault.STEPS, *blender.STEPS),
    rules=(*vault.RULES, *blender.RULES),
    mutations=(Mutation("drop an acme fence", ("acme.fence",), edits.drop, "the blender may not see what was put"),),
    descriptors=slices.DESCRIPTORS,
)
