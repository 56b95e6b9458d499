"""mbarrier."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^mbarrier\.(init|arrive)\S* .*\| immediate-range: .* 1 to 1048575 \| $": (
        "the manual limits arrival counts to 2^20 - 1; ptxas 13.5 checks this for mbarrier.init only, ptxas 13.0 never"
    ),
    r"^mbarrier\.arrive\S* [^|]*\{%u32_1, %u32_2\}": ("ptxas accepts a vector as the arrival count"),
    r"^mbarrier\.arrive\S*\.multicast\S* %[usb]64_1,": (
        "without a state space, ptxas accepts a state instead of `_`, although a multicast arrive returns no state"
    ),
    r"^mbarrier\.t\w+_wait\S*\.phase_type::primary\S* [^,]*, 1,": (
        "ptxas accepts a constant as the destination of the wait's .b8 report"
    ),
    r"^mbarrier\.t\w+_wait\S* [^,]*, %\w+, .*\| immediate-range: .* must be 0 or 1 \| $": (
        "the manual requires a parity of 0 or 1; ptxas checks this only in the forms without a .b8 report operand"
    ),
    r"^mbarrier\.check_layout\S* ": (
        "ptxas does not check the state space of mbarrier.check_layout, and ignores a scope (not in the manual)"
    ),
}

LAXER: dict[str, str] = {}
