"""Fabric instructions."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^fabric\.\S* .*\| operand-kind: .* must be an (address in brackets|operand without `!`) ": (
        "ptxas accepts any register without brackets as an address"
    ),
    r"^fabric\.(?!try_pullred)\S*acc::f(16|32)": (
        "only fabric.try_pullred has an accumulation precision; ptxas ignores the modifier"
    ),
    r"^fabric\.try_(get|put|red)\.async\.(?!tensor)\S*L2::cache_hint\S* .*\| version: .* needs PTX 9\.4": (
        "the manual has cache hints since PTX 9.4; ptxas 13.5 accepts them in 9.3"
    ),
    r"^fabric\.try_\w+\.async\.(?!\S*relaxed)\S*\bsys\b": (
        "the manual has .relaxed.sys; a scope without .relaxed has no meaning"
    ),
    r"^fabric\.try_atom\.\S*\.((min|max)\.s(32|64)|add\.b?f16) ": (
        "the manual does not have min and max of .s32 and .s64, or additions of .f16 and .bf16, in fabric.try_atom"
    ),
    r"^fabric\.try_pullred\.\S*acc::f32\.e\dm\d\.": (
        "fabric.try_pullred of the manual accumulates 8-bit floating-point numbers in f16; ptxas also accepts f32"
    ),
    r"^fabric\.try_pullred\.\S* .*\| target: .* needs sm_100f or sm_110f or sm_120a or sm_121a": (
        "the manual has some forms of fabric.try_pullred on sm_120a and sm_121a; ptxas also on their family"
    ),
    r"^fabric\.wait\.sync_restrict::reads [^;]": (
        "the manual's fabric.wait of PTX 9.3 has no operand; ptxas ignores an operand"
    ),
}

LAXER: dict[str, str] = {}
