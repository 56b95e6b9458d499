"""Fabric instructions."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^fabric\.\S* .*\| operand-kind: .* must be an (address in brackets|operand without `!`) ": (
        "ptxas takes any register without brackets for an address"
    ),
    r"^fabric\.(?!try_pullred)\S*acc::f(16|32)": "only pulled sums have a precision; ptxas drops the word",
    r"^fabric\.try_(get|put|red)\.async\.(?!tensor)\S*L2::cache_hint\S* .*\| version: .* needs PTX 9\.4": (
        "the manual: cache hints arrived with PTX 9.4; ptxas 13.5 takes them in 9.3"
    ),
    r"^fabric\.try_\w+\.async\.(?!\S*relaxed)\S*\bsys\b": "a scope alone orders nothing; the manual has .relaxed.sys",
    r"^fabric\.try_atom\.\S*\.((min|max)\.s(32|64)|add\.b?f16) ": ("the manual has no such type in fabric.try_atom"),
    r"^fabric\.try_pullred\.\S*acc::f32\.e\dm\d\.": "the manual sums 8-bit numbers in f16",
    r"^fabric\.try_pullred\.\S* .*\| target: .* needs sm_100f or sm_110f or sm_120a or sm_121a": (
        "the manual has these on sm_120a and sm_121a; ptxas also in their family"
    ),
    r"^fabric\.wait\.sync_restrict::reads [^;]": "the manual's form of PTX 9.3 has no operand, and ptxas no use for it",
}

LAXER: dict[str, str] = {}
