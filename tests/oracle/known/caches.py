"""prefetch, applypriority, discard, createpolicy."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^createpolicy\.cvt\S* \d": "ptxas takes a number for the result, which is then lost",
    r"^prefetch\.L2::evict": "the manual: this hint goes with .global",
    r"^prefetch\.(?=\S*\.L2|\S*\.tensormap|L2|tensormap)\S*L1::32B": "ptxas ignores a second cache level",
    r"^(prefetch|discard|applypriority|createpolicy)\S* [^;]*\[[ls]mem\]": (
        "the manual: the address lies in global memory; ptxas holds the generic ones to nothing"
    ),
}

LAXER: dict[str, str] = {
    r"^createpolicy(?=\S*\.L2::evict_(first|unchanged)\b\S*\.L2::evict_(last|normal)\b)": (
        "the order of the two priorities tells which is which; the table lets modifiers stand in any order"
    ),
}
