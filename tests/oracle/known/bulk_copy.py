"""Bulk and tensor copies and reductions."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(multimem\.)?cp\.async\.bulk\.\S*(weak|relaxed)\S* .*\| target: .* needs sm_90a or sm_100f or sm_110f;": (
        "the manual has .weak and .relaxed on sm_90a, sm_100f and sm_110f only; ptxas checks only some directions"
    ),
    r"^(multimem\.)?cp\.async\.bulk\.(?!\S*relaxed)\S*\.b128": (
        "the manual allows .b128 in bulk copies with .relaxed only"
    ),
    r"^(multimem\.)?cp\.\S*\.bulk\.\S* .*\| operand-kind: .* must be an (address in|operand without)": (
        "ptxas accepts any register without brackets as an address"
    ),
    r"^cp\.\S*\.bulk\.(?!\S*relaxed)\S*\.(cta|cluster|gpu|sys)[. ].*\| modifier: ": (
        "the manual has a scope with .relaxed only, and none for tensor copies; elsewhere ptxas ignores the scope"
    ),
    r"\.multicast::cluster\S* .*, %[bsu]64_\d+(, %\w+)?; \| operand-type: .* must be a \.b16 or": (
        "a multicast mask has 16 bits; ptxas 13.0 accepts 64-bit registers"
    ),
}

LAXER: dict[str, str] = {}
