"""Simulator extension of acme_1."""

from __future__ import annotations

from acme_arch.sim import blender, recipes, slices, vault
from pyptx_sim.extension import Extension, Mutation, edits

EXTENSION = Extension(
    version=1,
    steps=(*vault.STEPS, *blender.STEPS, *recipes.STEPS),
    rules=(*vault.RULES, *blender.RULES, *recipes.RULES),
    mutations=(
        Mutation("drop an acme fence", ("acme.fence",), edits.drop, "the write may not be visible to the blender"),
    ),
    descriptors=slices.DESCRIPTORS,
)
