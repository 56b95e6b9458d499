"""prefetch, applypriority, discard, createpolicy."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^createpolicy\.cvt\S* \d": "ptxas accepts a number as the destination of createpolicy, and drops the result",
    r"^prefetch\.L2::evict": ("the manual has the .L2::evict hints of prefetch with .global only"),
    r"^prefetch\.(?=\S*\.L2|\S*\.tensormap|L2|tensormap)\S*L1::32B": "ptxas ignores a second cache level in prefetch",
    r"^(prefetch|discard|applypriority|createpolicy)\S* [^;]*\[[ls]mem\]": (
        "the manual requires an address in global memory; ptxas does not check generic addresses"
    ),
}

LAXER: dict[str, str] = {
    r"^createpolicy(?=\S*\.L2::evict_(first|unchanged)\b\S*\.L2::evict_(last|normal)\b)": (
        "the primary priority of createpolicy precedes the secondary; the table accepts modifiers in any order"
    ),
}
