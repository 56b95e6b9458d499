"""Sets of types that several chapters of the instruction table use, grouped as in the manual."""

from __future__ import annotations

INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
INTEGERS_16_32 = ("u16", "u32", "s16", "s32")
INTEGERS_32_64 = ("u32", "u64", "s32", "s64")
SIGNED = ("s16", "s32", "s64")
BITS = ("b16", "b32", "b64")
ROUNDINGS = ("rn", "rz", "rm", "rp")
PACKED_16X2 = ("u16x2", "s16x2")
PACKED_8X4 = ("u8x4", "s8x4")
HALVES = ("f16", "f16x2")
BRAINS = ("bf16", "bf16x2")
SCOPES = ("cta", "cluster", "gpu", "sys")
