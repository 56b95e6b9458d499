"""Registers: `reg.scalar(f32)`, `reg.array(f32, 8)`, and the instructions that their operators emit."""

from pyptx_dsl.reg import (
    NegPred,
    PipeRef,
    Reg,
    RegArray,
    SpecialReg,
    alloc,
    alloc_array,
    array,
    bank,
    declare,
    from_,
    pair,
    scalar,
    wgmma_frag,
)

__all__ = [
    "NegPred",
    "PipeRef",
    "Reg",
    "RegArray",
    "SpecialReg",
    "alloc",
    "alloc_array",
    "array",
    "bank",
    "declare",
    "from_",
    "pair",
    "scalar",
    "wgmma_frag",
]
