"""Barriers, fences, atomics, votes."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^fence\.(acquire|release)\.": ("the manual: PTX 8.6 and sm_90; ptxas 13.0 takes them from the start"),
    r"^red\S* _,": ("ptxas takes the sink for red's address, and then crashes in code generation"),
    r"^atom\S* [^;]*,[^;]*,[^;]*,": ("ptxas passes over a fourth operand of atom.exch, .and, .or and .xor"),
}

LAXER: dict[str, str] = {}
