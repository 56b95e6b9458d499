"""Fault injection: mutation operators for Hopper's instructions."""

from __future__ import annotations

from typing import Final

from pyptx_sim.extension import Mutation, edits

_PRODUCTS = ("wgmma.mma_async",)

MUTATIONS: Final = (
    Mutation("drop a wgmma fence", ("wgmma.fence",), edits.drop, "register accesses are not ordered before the MMA"),
    Mutation("drop a setmaxnreg", ("setmaxnreg",), edits.drop, "a warpgroup keeps too many registers, or has too few"),
    Mutation("request more registers", ("setmaxnreg",), edits.add(0, 8), "the CTA pool has too few registers"),
    Mutation(
        "release registers instead",
        ("setmaxnreg",),
        edits.word("inc", "dec"),
        "the warp has fewer registers than the count",
    ),
    Mutation(
        "request registers instead",
        ("setmaxnreg",),
        edits.word("dec", "inc"),
        "the warp has more registers than the count",
    ),
    Mutation(
        "shift a descriptor",
        _PRODUCTS,
        edits.each(edits.add(1, 8, bits=64), edits.add(2, 8, bits=64)),
        "the MMA reads other rows",
    ),
    Mutation(
        "change a swizzle",
        _PRODUCTS,
        edits.each(edits.flip(1, 1 << 62, bits=64), edits.flip(2, 1 << 62, bits=64)),
        "the tile was written with another swizzle",
    ),
    Mutation(
        "stride otherwise",
        _PRODUCTS,
        edits.each(edits.add(1, 1 << 32, bits=64), edits.add(2, 1 << 32, bits=64)),
        "the MMA reads other rows",
    ),
)
