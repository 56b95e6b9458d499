"""Fault injection: mutation operators for Hopper's instructions."""

from __future__ import annotations

from typing import Final

from pyptx_sim.extension import Mutation, edits

_PRODUCTS = ("wgmma.mma_async",)

MUTATIONS: Final = (
    Mutation("drop a wgmma fence", ("wgmma.fence",), edits.drop, "products may not see the registers"),
    Mutation("drop a setmaxnreg", ("setmaxnreg",), edits.drop, "a warpgroup keeps too many, or gets too few"),
    Mutation("ask for more registers", ("setmaxnreg",), edits.add(0, 8), "the pool lacks what is asked for"),
    Mutation("release registers instead", ("setmaxnreg",), edits.word("inc", "dec"), "what it has is fewer already"),
    Mutation("request registers instead", ("setmaxnreg",), edits.word("dec", "inc"), "what it has is more already"),
    Mutation(
        "shift a descriptor",
        _PRODUCTS,
        edits.each(edits.add(1, 8, bits=64), edits.add(2, 8, bits=64)),
        "the rows lie elsewhere",
    ),
    Mutation(
        "swizzle otherwise",
        _PRODUCTS,
        edits.each(edits.flip(1, 1 << 62, bits=64), edits.flip(2, 1 << 62, bits=64)),
        "the tile was written otherwise",
    ),
    Mutation(
        "stride otherwise",
        _PRODUCTS,
        edits.each(edits.add(1, 1 << 32, bits=64), edits.add(2, 1 << 32, bits=64)),
        "the rows lie elsewhere",
    ),
)
