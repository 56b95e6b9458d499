"""Bulk copies and reductions, of tensors too."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(multimem\.)?cp\.async\.bulk\.\S*(weak|relaxed)\S* .*\| target: .* needs sm_90a or sm_100f or sm_110f;": (
        "the manual has .weak and .relaxed on sm_90a, sm_100f and sm_110f only; ptxas minds for some directions"
    ),
    r"^(multimem\.)?cp\.async\.bulk\.(?!\S*relaxed)\S*\.b128": "the manual has the type with .relaxed only",
    r"^(multimem\.)?cp\.\S*\.bulk\.\S* .*\| operand-kind: .* must be an (address in|operand without)": (
        "ptxas takes any register without brackets for an address"
    ),
    r"^cp\.\S*\.bulk\.(?!\S*relaxed)\S*\.(cta|cluster|gpu|sys)[. ].*\| modifier: ": (
        "the manual has a scope with .relaxed alone, and none for tensors; ptxas reads it and does nothing with it"
    ),
    r"\.multicast::cluster\S* .*, %[bsu]64_\d+(, %\w+)?; \| operand-type: .* must be a \.b16 or": (
        "a mask has 16 bits; ptxas 13.0 takes registers of 64"
    ),
}

LAXER: dict[str, str] = {}
