"""st.async and red.async."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^red\.async\.(?!\S*complete_tx)\S*relaxed\S* .*\| modifier: ": (
        "in the manual a relaxed reduction signals an mbarrier; ptxas 13.0 accepts it without one"
    ),
    r"^st\.async\S*\.shared(::cta)?[. ]": (
        "the manual has .shared::cluster only, because the store writes another CTA's memory"
    ),
    r"^st\.(?=\S*async)(?!\S*complete_tx)\S* ": (
        "without .release, the manual requires the mbarrier operand; ptxas does not"
    ),
    r"^st\.async\.(?=\S*complete_tx)(\S*\.)?(cta|cluster|gpu|sys)[. ].*\| modifier: ": (
        "the manual has a scope with .release only; ptxas 13.0 ignores it otherwise"
    ),
    r"^red\.async\.(?!\S*release)\S*add\.s64": (
        "the manual's additions in shared memory are of u32, s32 and u64; ptxas also accepts s64"
    ),
    r"^(st|red)\.async\.\S* .*\| operand-count: .* has 2 operands; it takes 3: a, b, mbar": (
        "ptxas accepts .mbarrier::complete_tx::bytes without the mbarrier operand"
    ),
    r"^st\.async\.\S* .*\| (operand-kind|vector-length|operand-type): operand 2 .* must be (a vector|one operand)": (
        "ptxas accepts one value for a vector, and a vector for one value"
    ),
    r"^red\.async\.(\S*\.)?release\.\S*(min|max|and|or|xor|inc|dec)\b": (
        "the manual's reductions with .release are additions; ptxas also accepts the operations of shared memory"
    ),
}

LAXER: dict[str, str] = {}
