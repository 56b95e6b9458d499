"""Fault injection: mutation operators for Hopper's instructions."""

from __future__ import annotations

from typing import Final

from pyptx_sim.extension import Mutation, edits

_PRODUCTS = ("wgmma.mma_async",)

MUTATIONS: Final = (
    Mutation(
        "drop a wgmma fence", ("wgmma.fence",), edits.drop, "register accesses are not ordered before wgmma.mma_async"
    ),
    Mutation("drop a setmaxnreg", ("setmaxnreg",), edits.drop, "the register count of the warps does not change"),
    Mutation(
        "add 8 to the count of a setmaxnreg",
        ("setmaxnreg",),
        edits.add(0, 8),
        "the CTA's register pool has too few registers",
    ),
    Mutation(
        "change setmaxnreg.inc to .dec",
        ("setmaxnreg",),
        edits.word("inc", "dec"),
        "the warp has fewer registers than the count of setmaxnreg",
    ),
    Mutation(
        "change setmaxnreg.dec to .inc",
        ("setmaxnreg",),
        edits.word("dec", "inc"),
        "the warp has more registers than the count of setmaxnreg",
    ),
    Mutation(
        "add 128 bytes to the address in a wgmma descriptor",
        _PRODUCTS,
        edits.each(edits.add(1, 8, bits=64), edits.add(2, 8, bits=64)),
        "the MMA reads wrong rows of A or B",
    ),
    Mutation(
        "change the swizzle of a wgmma descriptor",
        _PRODUCTS,
        edits.each(edits.flip(1, 1 << 62, bits=64), edits.flip(2, 1 << 62, bits=64)),
        "A or B was written with a different swizzle",
    ),
    Mutation(
        "add 16 to the stride byte offset of a wgmma descriptor",
        _PRODUCTS,
        edits.each(edits.add(1, 1 << 32, bits=64), edits.add(2, 1 << 32, bits=64)),
        "the MMA reads wrong rows of A or B",
    ),
)
